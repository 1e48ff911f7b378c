// What the 32 threads of a warp do together, as instructions of the GPU (8.0 and above): products of small
// matrices on tensor cores, loads of their parts, copies into the block's memory that go on behind the
// thread's back, shuffles. Only NVRTC sees this text; tests have the same names for the host
// (tests/support/cuda_host_warps.h).
#pragma once
#include "tidemark/cuda/device/float16.h"

namespace tidemark::cuda {

// An address in the memory that a block's threads share.
using SharedPlace = unsigned;

// The memory that the launch asks for, aligned to 16 bytes.
inline unsigned char* block_memory() {
  extern __shared__ __align__(16) unsigned char tidemark_block_memory[];
  return tidemark_block_memory;
}
inline SharedPlace place_of(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

inline void store_quad(SharedPlace to, const unsigned (&x)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]),
               "r"(x[3])
               : "memory");
}
inline void load_quad(unsigned (&x)[4], SharedPlace from) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from)
               : "memory");
}
inline void store_word(SharedPlace to, unsigned x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
inline float load_number(SharedPlace from) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
  return x;
}
inline void load_pair(float& x, float& y, SharedPlace from) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(from) : "memory");
}

// Copies 16 or 4 bytes from global memory; writes zeros, and reads nothing, where not `inside`. Done when
// wait_for_copies says so to the thread that asked for it, and a barrier to the others.
inline void copy_quad(SharedPlace to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0)
               : "memory");
}
inline void copy_word(SharedPlace to, const void* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(inside ? 4 : 0)
               : "memory");
}
inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
// The copies since the last group are one; a thread may wait for all groups but its `most` latest.
inline void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int most>
void wait_for_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(most) : "memory");
}

// Four matrices of 8 rows by 8 16-bit elements: lane l gives the address of row l % 8 of matrix l / 8, and
// gets of each matrix the elements 2 (l % 4) and the next of row l / 4; of the transposed matrix in
// load_transposed.
inline void load_matrices(unsigned (&x)[4], SharedPlace row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(row)
               : "memory");
}
inline void load_transposed(unsigned (&x)[4], SharedPlace row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(row)
               : "memory");
}

// c += a b: a of 16 × 16 and b of 16 × 8 elements T, c of 16 × 8 f32. Lane l holds of c the elements
// 2 (l % 4) and the next of rows l / 4 and 8 more.
template <class T>
void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Two numbers rounded to T, the first in the low half.
template <class T>
unsigned packed(float low, float high) {
  unsigned both;
  if constexpr (std::is_same_v<T, BFloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  }
  return both;
}

// 2^x to two units or so, subnormal results as 0.
inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The value of the lane whose number differs in the bits of `mask`; of lane `from`.
template <class T>
T across(T x, int mask) {
  return __shfl_xor_sync(0xffffffffu, x, mask);
}
template <class T>
T from_lane(T x, int from) {
  return __shfl_sync(0xffffffffu, x, from);
}
inline bool any_lane(bool x) { return __any_sync(0xffffffffu, x); }
inline void sync_warp() { __syncwarp(); }

// The same number, of which the compiler knows nothing: what depends on it stays a branch. It schedules
// between branches, and without any it moves so much ahead that registers do not suffice.
inline int opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

}  // namespace tidemark::cuda
