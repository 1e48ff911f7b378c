// The bf16 instructions of Arm: has this machine got them, and rounding by them. They are written as numbers,
// so that no compiler needs to know them. TM_BF16_NEON: may the machine that is compiled for have them?
#pragma once
#if defined(__aarch64__) && defined(__linux__)
#define TM_BF16_NEON 1
#include <sys/auxv.h>

#include <cstdint>

namespace tidemark::neon {

inline bool has_bf16() {
  constexpr unsigned long bf16 = 1ul << 14;  // HWCAP2_BF16, which older headers lack
  static const bool found = (getauxval(AT_HWCAP2) & bf16) != 0;
  return found;
}

// clang-format off
// bfcvtn v{d}.4h, v{n}.4s; `upper` 1: bfcvtn2, into the upper half
#define TM_BFCVTN(d, n, upper) ".inst 0x0ea16800 + (" #upper " << 30) + (" #n " << 5) + " #d "\n"
// Rounds as many of n values as make whole vectors, as the constructor of BFloat16; returns how many.
inline std::int64_t round_to_bf16(const float* from, std::int64_t n, std::uint16_t* to) {
  std::int64_t sixteens = n / 16;
  if (sixteens == 0) return 0;
  asm volatile(
      "1:\n"
      "ldp q0, q1, [%[from]], #64\n ldp q2, q3, [%[from], #-32]\n"
      TM_BFCVTN(4, 0, 0) TM_BFCVTN(5, 2, 0) TM_BFCVTN(4, 1, 1) TM_BFCVTN(5, 3, 1)
      "subs %[sixteens], %[sixteens], #1\n"
      "stp q4, q5, [%[to]], #32\n"
      "b.ne 1b\n"
      : [sixteens] "+r"(sixteens), [from] "+r"(from), [to] "+r"(to)
      :
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5");
  return n / 16 * 16;
}
// clang-format on
#undef TM_BFCVTN

}  // namespace tidemark::neon
#else
#define TM_BF16_NEON 0
#endif
