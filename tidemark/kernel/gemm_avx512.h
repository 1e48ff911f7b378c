// The inner loop of f32 products with AVX-512, 8 rows by 48 columns, in assembly: 24 sums stay in their
// registers, where g++ moves some of them about, to the stack too. Lines of the panels are fetched some steps
// ahead.
#pragma once
#if defined(__x86_64__)
#include <cstdint>

namespace tidemark::gemm {

// clang-format off
#define TM_SUMS_OF_ROW(a, b0, b1, b2, s0, s1, s2)                                                       \
  "vfmadd231ps %%zmm" #b0 ", %%zmm" #a ", %%zmm" #s0 "\n vfmadd231ps %%zmm" #b1 ", %%zmm" #a ", %%zmm" #s1 "\n" \
  "vfmadd231ps %%zmm" #b2 ", %%zmm" #a ", %%zmm" #s2 "\n"
#define TM_ROW(at, a, b0, b1, b2, s0, s1, s2) \
  "vbroadcastss " #at "(%[a]), %%zmm" #a "\n" TM_SUMS_OF_ROW(a, b0, b1, b2, s0, s1, s2)
// One step: eight values at a + `a0`…, three vectors at b + `at0`….
#define TM_STEP(a0, a1, a2, a3, a4, a5, a6, a7, at0, at1, at2, ahead0, ahead1, ahead2, b0, b1, b2)      \
  "vmovups " #at0 "(%[b]), %%zmm" #b0 "\n vmovups " #at1 "(%[b]), %%zmm" #b1 "\n vmovups " #at2 "(%[b]), %%zmm" #b2 "\n" \
  "prefetcht0 " #ahead0 "(%[b])\n" TM_ROW(a0, 6, b0, b1, b2, 8, 9, 10) TM_ROW(a1, 7, b0, b1, b2, 11, 12, 13)    \
  "prefetcht0 " #ahead1 "(%[b])\n" TM_ROW(a2, 6, b0, b1, b2, 14, 15, 16) TM_ROW(a3, 7, b0, b1, b2, 17, 18, 19)  \
  "prefetcht0 " #ahead2 "(%[b])\n" TM_ROW(a4, 6, b0, b1, b2, 20, 21, 22) TM_ROW(a5, 7, b0, b1, b2, 23, 24, 25)  \
  TM_ROW(a6, 6, b0, b1, b2, 26, 27, 28) TM_ROW(a7, 7, b0, b1, b2, 29, 30, 31)
#define TM_LOAD(at0, at1, at2, s0, s1, s2) "vmovups " #at0 "(%[sums]), %%zmm" #s0 "\n" \
  "vmovups " #at1 "(%[sums]), %%zmm" #s1 "\n vmovups " #at2 "(%[sums]), %%zmm" #s2 "\n"
#define TM_STORE(at0, at1, at2, s0, s1, s2) "vmovups %%zmm" #s0 ", " #at0 "(%[sums])\n" \
  "vmovups %%zmm" #s1 ", " #at1 "(%[sums])\n vmovups %%zmm" #s2 ", " #at2 "(%[sums])\n"

// 4 · fours ≥ 4 steps of packed panels: a has 8 values per step, b 48. Adds to the sums, 8 rows of 48.
__attribute__((target("avx512f"))) inline void panels_8x48(std::int64_t fours, const float* a, const float* b,
                                                             float* sums) {
  asm volatile(
      TM_LOAD(0, 64, 128, 8, 9, 10) TM_LOAD(192, 256, 320, 11, 12, 13) TM_LOAD(384, 448, 512, 14, 15, 16)
      TM_LOAD(576, 640, 704, 17, 18, 19) TM_LOAD(768, 832, 896, 20, 21, 22) TM_LOAD(960, 1024, 1088, 23, 24, 25)
      TM_LOAD(1152, 1216, 1280, 26, 27, 28) TM_LOAD(1344, 1408, 1472, 29, 30, 31)
      ".p2align 5\n"
      "1:\n"
      "prefetcht0 512(%[a])\n prefetcht0 576(%[a])\n"
      TM_STEP(0, 4, 8, 12, 16, 20, 24, 28, 0, 64, 128, 1536, 1600, 1664, 0, 1, 2)
      TM_STEP(32, 36, 40, 44, 48, 52, 56, 60, 192, 256, 320, 1728, 1792, 1856, 3, 4, 5)
      TM_STEP(64, 68, 72, 76, 80, 84, 88, 92, 384, 448, 512, 1920, 1984, 2048, 0, 1, 2)
      TM_STEP(96, 100, 104, 108, 112, 116, 120, 124, 576, 640, 704, 2112, 2176, 2240, 3, 4, 5)
      "subq $-128, %[a]\n addq $768, %[b]\n decq %[fours]\n jne 1b\n"
      TM_STORE(0, 64, 128, 8, 9, 10) TM_STORE(192, 256, 320, 11, 12, 13) TM_STORE(384, 448, 512, 14, 15, 16)
      TM_STORE(576, 640, 704, 17, 18, 19) TM_STORE(768, 832, 896, 20, 21, 22) TM_STORE(960, 1024, 1088, 23, 24, 25)
      TM_STORE(1152, 1216, 1280, 26, 27, 28) TM_STORE(1344, 1408, 1472, 29, 30, 31)
      : [fours] "+r"(fours), [a] "+r"(a), [b] "+r"(b)
      : [sums] "r"(sums)
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
        "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
}
// clang-format on

#undef TM_SUMS_OF_ROW
#undef TM_ROW
#undef TM_STEP
#undef TM_LOAD
#undef TM_STORE

}  // namespace tidemark::gemm
#endif
