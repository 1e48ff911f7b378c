// The inner loop of bf16 products on Arm: 8 rows by 12 columns in 24 registers of 2 × 2 sums, and the
// interleaving of panels. The instruction is written as a number, so that the file needs no compiler that
// knows it.
#pragma once
#include "tidemark/kernel/bf16_neon.h"
#if TM_BF16_NEON
#include <arm_neon.h>

#include <cstdint>

namespace tidemark::gemm::neon {

inline constexpr std::int64_t rows = 8, columns = 12;

// sums[4 * j + i] holds rows 2i, 2i + 1 of columns 2j, 2j + 1, row by row.
struct Sums {
  alignas(64) float blocks[24][4];
};

// clang-format off
// bfmmla v{d}.4s, v{n}.8h, v{m}.8h
#define TM_BFMMLA(d, n, m) ".inst 0x6e40ec00 + (" #m " << 16) + (" #n " << 5) + " #d "\n"
#define TM_COLUMNS(d0, d1, d2, d3, m) TM_BFMMLA(d0, 0, m) TM_BFMMLA(d1, 1, m) TM_BFMMLA(d2, 2, m) TM_BFMMLA(d3, 3, m)
#define TM_CLEAR(d0, d1, d2, d3) \
  "movi v" #d0 ".4s, #0\n movi v" #d1 ".4s, #0\n movi v" #d2 ".4s, #0\n movi v" #d3 ".4s, #0\n"
#define TM_STORE(d0, d1, d2, d3) "stp q" #d0 ", q" #d1 ", [%[to]], #32\n stp q" #d2 ", q" #d3 ", [%[to]], #32\n"

// `fours` times four steps of panels: for each, a has 4 vectors, b 6.
inline void multiply_panels(std::int64_t fours, const float* a, const float* b, Sums& sums) {
  float* to = &sums.blocks[0][0];
  asm volatile(
      TM_CLEAR(8, 9, 10, 11) TM_CLEAR(12, 13, 14, 15) TM_CLEAR(16, 17, 18, 19)
      TM_CLEAR(20, 21, 22, 23) TM_CLEAR(24, 25, 26, 27) TM_CLEAR(28, 29, 30, 31)
      "cbz %[fours], 2f\n"
      "1:\n"
      "ldp q0, q1, [%[a]], #64\n ldp q4, q5, [%[b]], #96\n ldp q2, q3, [%[a], #-32]\n"
      TM_COLUMNS(8, 9, 10, 11, 4)
      "ldp q6, q7, [%[b], #-64]\n"
      TM_COLUMNS(12, 13, 14, 15, 5)
      "ldp q4, q5, [%[b], #-32]\n"
      TM_COLUMNS(16, 17, 18, 19, 6)
      "subs %[fours], %[fours], #1\n"
      TM_COLUMNS(20, 21, 22, 23, 7)
      TM_COLUMNS(24, 25, 26, 27, 4)
      TM_COLUMNS(28, 29, 30, 31, 5)
      "b.ne 1b\n"
      "2:\n"
      TM_STORE(8, 9, 10, 11) TM_STORE(12, 13, 14, 15) TM_STORE(16, 17, 18, 19)
      TM_STORE(20, 21, 22, 23) TM_STORE(24, 25, 26, 27) TM_STORE(28, 29, 30, 31)
      : [fours] "+r"(fours), [a] "+r"(a), [b] "+r"(b), [to] "+r"(to)
      :
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
// clang-format on
#undef TM_BFMMLA
#undef TM_COLUMNS
#undef TM_CLEAR
#undef TM_STORE

struct Scale {
  float alpha;
  bool add;
  float32x4_t operator()(float32x4_t sum, const float* c) const {
    const float32x4_t scaled = vmulq_n_f32(sum, alpha);
    return add ? vaddq_f32(vld1q_f32(c), scaled) : scaled;
  }
  float operator()(float sum, const float* c) const { return add ? *c + alpha * sum : alpha * sum; }
};

inline void store(const Sums& sums, const Scale& scale, std::int64_t high, std::int64_t wide, float* c,
                  std::int64_t ld) {
  for (std::int64_t i = 0; i < high; ++i) {
    float* out = c + i * ld;
    const auto half = [&](std::int64_t j) { return vld1_f32(sums.blocks[4 * j + i / 2] + i % 2 * 2); };
    std::int64_t j = 0;
    for (; j + 4 <= wide; j += 4) {
      vst1q_f32(out + j, scale(vcombine_f32(half(j / 2), half(j / 2 + 1)), out + j));
    }
    for (; j < wide; ++j) out[j] = scale(sums.blocks[4 * (j / 2) + i / 2][i % 2 * 2 + j % 2], out + j);
  }
}

// Packing. `high` rows (even) and `steps` (a multiple of 4), into a panel of `width` rows from its row and
// step on.

// The steps of a row are contiguous.
inline void interleave_rows(const std::uint16_t* from, std::int64_t row, std::int64_t high,
                            std::int64_t steps, std::uint16_t* to, std::int64_t width) {
  for (std::int64_t i = 0; i < high; i += 2, to += 8) {
    const std::uint16_t *x = from + i * row, *y = x + row;
    std::uint16_t* out = to;
    std::int64_t l = 0;
    for (; l + 8 <= steps; l += 8, out += 8 * width) {
      const uint64x2_t u = vreinterpretq_u64_u16(vld1q_u16(x + l)),
                       v = vreinterpretq_u64_u16(vld1q_u16(y + l));
      vst1q_u16(out, vreinterpretq_u16_u64(vzip1q_u64(u, v)));
      vst1q_u16(out + 4 * width, vreinterpretq_u16_u64(vzip2q_u64(u, v)));
    }
    if (l < steps) vst1q_u16(out, vcombine_u16(vld1_u16(x + l), vld1_u16(y + l)));
  }
}

// The rows of a step are contiguous; `high` is a multiple of 4.
inline void interleave_steps(const std::uint16_t* from, std::int64_t step, std::int64_t high,
                             std::int64_t steps, std::uint16_t* to, std::int64_t width) {
  for (std::int64_t l = 0; l < steps; l += 4, to += 4 * width) {
    const std::uint16_t* x = from + l * step;
    for (std::int64_t i = 0; i < high; i += 4) {
      const auto line = [&](std::int64_t s) {
        const uint16x4_t values = vld1_u16(x + s * step + i);
        return vcombine_u16(values, values);
      };
      const uint32x4_t front = vreinterpretq_u32_u16(vzip1q_u16(line(0), line(1))),
                       back = vreinterpretq_u32_u16(vzip1q_u16(line(2), line(3)));
      vst1q_u16(to + 4 * i, vreinterpretq_u16_u32(vzip1q_u32(front, back)));
      vst1q_u16(to + 4 * i + 8, vreinterpretq_u16_u32(vzip2q_u32(front, back)));
    }
  }
}

}  // namespace tidemark::gemm::neon
#endif
