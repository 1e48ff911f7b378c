// The inner loops of f32 products on Arm, 4 rows by 16 columns, in assembly: the sums of one step (four lanes
// of a by four vectors of b) hide the loads of the next. A Neoverse V1 sustains about 4.75 instructions per
// cycle, 4 of them multiply-adds, so that every further instruction shows: this is 98% of its peak, what g++
// makes of intrinsics 90%.
#pragma once
#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstdint>

namespace tidemark::gemm {

using Block4x16 = float32x4_t[4][4];

// clang-format off
#define TM_COLUMN(v, b, a0, l0, a1, l1, a2, l2, a3, l3)                 \
  "fmla %[s0" #v "].4s, v" #b ".4s, v" #a0 ".s[" #l0 "]\n"              \
  "fmla %[s1" #v "].4s, v" #b ".4s, v" #a1 ".s[" #l1 "]\n"              \
  "fmla %[s2" #v "].4s, v" #b ".4s, v" #a2 ".s[" #l2 "]\n"              \
  "fmla %[s3" #v "].4s, v" #b ".4s, v" #a3 ".s[" #l3 "]\n"
// One step: the rows are the lanes of register a; b in registers b0 to b3; loads for the step after between
// the columns.
#define TM_PANEL_STEP(a, b0, b1, b2, b3, load0, load1, load2)                                   \
  TM_COLUMN(0, b0, a, 0, a, 1, a, 2, a, 3) load0 TM_COLUMN(1, b1, a, 0, a, 1, a, 2, a, 3) load1 \
  TM_COLUMN(2, b2, a, 0, a, 1, a, 2, a, 3) load2 TM_COLUMN(3, b3, a, 0, a, 1, a, 2, a, 3)
// The same with four steps of row r in the lanes of register r.
#define TM_ROWS_STEP(lane, b0, b1, b2, b3, load0, load1, load2)                                                         \
  TM_COLUMN(0, b0, 0, lane, 1, lane, 2, lane, 3, lane) load0 TM_COLUMN(1, b1, 0, lane, 1, lane, 2, lane, 3, lane) load1 \
  TM_COLUMN(2, b2, 0, lane, 1, lane, 2, lane, 3, lane) load2 TM_COLUMN(3, b3, 0, lane, 1, lane, 2, lane, 3, lane)
#define TM_CLEAR_ROW(r)                                                         \
  "movi %[s" #r "0].4s, #0\n movi %[s" #r "1].4s, #0\n"                         \
  "movi %[s" #r "2].4s, #0\n movi %[s" #r "3].4s, #0\n"
#define TM_CLEAR TM_CLEAR_ROW(0) TM_CLEAR_ROW(1) TM_CLEAR_ROW(2) TM_CLEAR_ROW(3)
// Or from where another piece of the depth left off.
#define TM_LOAD_ROW(r, at0, at1)                                                \
  "ldp %q[s" #r "0], %q[s" #r "1], [%[begun], #" #at0 "]\n"                     \
  "ldp %q[s" #r "2], %q[s" #r "3], [%[begun], #" #at1 "]\n"
#define TM_BEGIN                                                                \
  "cbz %[begun], 3f\n"                                                          \
  TM_LOAD_ROW(0, 0, 32) TM_LOAD_ROW(1, 64, 96) TM_LOAD_ROW(2, 128, 160) TM_LOAD_ROW(3, 192, 224) \
  "b 4f\n"                                                                      \
  "3:\n" TM_CLEAR "4:\n"
#define TM_SUM(r, v) [s##r##v] "=&w"(sums[r][v])
#define TM_SUMS                                                                 \
  TM_SUM(0, 0), TM_SUM(0, 1), TM_SUM(0, 2), TM_SUM(0, 3), TM_SUM(1, 0), TM_SUM(1, 1), TM_SUM(1, 2), TM_SUM(1, 3), \
  TM_SUM(2, 0), TM_SUM(2, 1), TM_SUM(2, 2), TM_SUM(2, 3), TM_SUM(3, 0), TM_SUM(3, 1), TM_SUM(3, 2), TM_SUM(3, 3)

// 4 · fours ≥ 4 steps of packed panels: a has 4 values per step, b 16. The sums go on from `begun`, or from
// zero.
__attribute__((always_inline)) inline void panels_4x16(std::int64_t fours, const float* a, const float* b,
                                                       const float* begun, Block4x16& sums) {
  std::int64_t more = fours - 1;
  asm volatile(
      TM_BEGIN
      "ldp q0, q1, [%[a]], #32\n ldp q4, q5, [%[b]]\n ldp q6, q7, [%[b], #32]\n"
      "cbz %[more], 2f\n"
      "1:\n"
      TM_PANEL_STEP(0, 4, 5, 6, 7, "ldp q8, q9, [%[b], #64]\n", "ldp q10, q11, [%[b], #96]\n", "ldp q2, q3, [%[a]], #32\n")
      TM_PANEL_STEP(1, 8, 9, 10, 11, "ldp q4, q5, [%[b], #128]\n", "ldp q6, q7, [%[b], #160]\n", "subs %[more], %[more], #1\n")
      TM_PANEL_STEP(2, 4, 5, 6, 7, "ldp q8, q9, [%[b], #192]\n", "ldp q10, q11, [%[b], #224]\n", "add %[b], %[b], #256\n")
      TM_PANEL_STEP(3, 8, 9, 10, 11, "ldp q0, q1, [%[a]], #32\n", "ldp q4, q5, [%[b]]\n", "ldp q6, q7, [%[b], #32]\n")
      "b.ne 1b\n"
      "2:\n"
      TM_PANEL_STEP(0, 4, 5, 6, 7, "ldp q8, q9, [%[b], #64]\n", "ldp q10, q11, [%[b], #96]\n", "ldp q2, q3, [%[a]], #32\n")
      TM_PANEL_STEP(1, 8, 9, 10, 11, "ldp q4, q5, [%[b], #128]\n", "ldp q6, q7, [%[b], #160]\n", "")
      TM_PANEL_STEP(2, 4, 5, 6, 7, "ldp q8, q9, [%[b], #192]\n", "ldp q10, q11, [%[b], #224]\n", "")
      TM_PANEL_STEP(3, 8, 9, 10, 11, "", "", "")
      : [more] "+r"(more), [a] "+r"(a), [b] "+r"(b), TM_SUMS
      : [begun] "r"(begun)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11");
}

// 4 · fours ≥ 4 steps of rows that are contiguous along the depth, a_row apart; b's steps are b_step apart.
__attribute__((always_inline)) inline void rows_4x16(std::int64_t fours, const float* a, std::int64_t a_row, const float* b,
                                                     std::int64_t b_step, Block4x16& sums) {
  std::int64_t more = fours - 1;
  const float *a1 = a + a_row, *a2 = a1 + a_row, *a3 = a2 + a_row;
  const std::int64_t step = b_step * static_cast<std::int64_t>(sizeof(float));
#define TM_LOAD_A(r) "ldr q" #r ", [%[a" #r "]], #16\n"
#define TM_NEXT "add %[b], %[b], %[step]\n"
#define TM_LOAD_EVEN "ldp q4, q5, [%[b]]\n", "ldp q6, q7, [%[b], #32]\n"
#define TM_LOAD_ODD "ldp q8, q9, [%[b]]\n", "ldp q10, q11, [%[b], #32]\n"
#define TM_SPREAD(...) TM_ROWS_STEP(__VA_ARGS__)
  asm volatile(
      TM_CLEAR
      TM_LOAD_A(0) TM_LOAD_A(1) TM_LOAD_A(2) TM_LOAD_A(3)
      "ldp q4, q5, [%[b]]\n ldp q6, q7, [%[b], #32]\n" TM_NEXT
      "cbz %[more], 2f\n"
      "1:\n"
      TM_SPREAD(0, 4, 5, 6, 7, TM_LOAD_ODD, TM_NEXT)
      TM_SPREAD(1, 8, 9, 10, 11, TM_LOAD_EVEN, TM_NEXT)
      TM_SPREAD(2, 4, 5, 6, 7, TM_LOAD_ODD, TM_NEXT)
      TM_SPREAD(3, 8, 9, 10, 11, TM_LOAD_EVEN, TM_NEXT)
      TM_LOAD_A(0) TM_LOAD_A(1) TM_LOAD_A(2) TM_LOAD_A(3)
      "subs %[more], %[more], #1\n"
      "b.ne 1b\n"
      "2:\n"
      TM_SPREAD(0, 4, 5, 6, 7, TM_LOAD_ODD, TM_NEXT)
      TM_SPREAD(1, 8, 9, 10, 11, TM_LOAD_EVEN, TM_NEXT)
      TM_SPREAD(2, 4, 5, 6, 7, TM_LOAD_ODD, "")
      TM_ROWS_STEP(3, 8, 9, 10, 11, "", "", "")
      : [more] "+r"(more), [a0] "+r"(a), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b] "+r"(b), TM_SUMS
      : [step] "r"(step)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11");
#undef TM_LOAD_A
#undef TM_NEXT
#undef TM_LOAD_EVEN
#undef TM_LOAD_ODD
#undef TM_SPREAD
}
// clang-format on
#undef TM_COLUMN
#undef TM_PANEL_STEP
#undef TM_ROWS_STEP
#undef TM_CLEAR_ROW
#undef TM_CLEAR
#undef TM_LOAD_ROW
#undef TM_BEGIN
#undef TM_SUM
#undef TM_SUMS

}  // namespace tidemark::gemm
#endif
