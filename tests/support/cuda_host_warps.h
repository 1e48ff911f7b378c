// tidemark/cuda/device/warp.h for a compiler of the host: what the threads of a warp do together, by putting
// down what each has, waiting for the others and reading what they put down. Asynchronous copies are made at
// once or when the thread waits for them, so that a kernel that does not wait for them, or that overwrites
// what is still read, is seen.
#pragma once
#include <cmath>
#include <cstring>

#include "tests/support/cuda_host.h"
#include "tidemark/base/dtype.h"

namespace tidemark::cuda {

using SharedPlace = std::uintptr_t;

inline unsigned char* block_memory() {
  alignas(16) static unsigned char memory[227 << 10];
  return memory;
}
inline SharedPlace place_of(const void* p) { return reinterpret_cast<SharedPlace>(p); }

inline void store_quad(SharedPlace to, const unsigned (&x)[4]) {
  std::memcpy(reinterpret_cast<void*>(to), x, 16);
}
inline void load_quad(unsigned (&x)[4], SharedPlace from) {
  std::memcpy(x, reinterpret_cast<const void*>(from), 16);
}
inline void store_word(SharedPlace to, unsigned x) { std::memcpy(reinterpret_cast<void*>(to), &x, 4); }
inline float load_number(SharedPlace from) {
  float x;
  std::memcpy(&x, reinterpret_cast<const void*>(from), 4);
  return x;
}
inline void load_pair(float& x, float& y, SharedPlace from) {
  std::memcpy(&x, reinterpret_cast<const void*>(from), 4);
  std::memcpy(&y, reinterpret_cast<const void*>(from + 4), 4);
}

namespace host_warps {

struct Copy {
  SharedPlace to;
  const void* from;
  std::size_t bytes;
  bool inside;
  unsigned group = 0;
};
inline std::vector<Copy>& copies() {
  static std::vector<Copy> of_thread[1024];
  return of_thread[threadIdx.x];
}
inline unsigned& groups() {  // that were ended
  static unsigned of_thread[1024];
  return of_thread[threadIdx.x];
}
inline void make(const Copy& copy) {
  if (copy.inside) {
    std::memcpy(reinterpret_cast<void*>(copy.to), copy.from, copy.bytes);
  } else {
    std::memset(reinterpret_cast<void*>(copy.to), 0, copy.bytes);
  }
}
inline void begin(Copy copy) {
  copy.group = groups();
  const auto from = copy.inside ? reinterpret_cast<std::uintptr_t>(copy.from) : 0;
  if (copy.to % copy.bytes != 0 || from % copy.bytes != 0) __builtin_trap();
  host::copies_at_once ? make(copy) : copies().push_back(copy);
}

// What each lane of each warp puts down, in turns of two: a lane is never two meetings ahead of another.
template <class T>
struct Board {
  static inline T values[32][2][host::warp_size];
  static inline unsigned turns[1024];

  // What all lanes of the warp put down; valid until the next meeting but one.
  static const T* exchange(const T& mine) {
    const unsigned thread = threadIdx.x, warp = thread / host::warp_size, turn = turns[thread]++ % 2;
    values[warp][turn][thread % host::warp_size] = mine;
    host::Block::wait_for_warp();
    return values[warp][turn];
  }
};

struct Address {
  SharedPlace place;
};
struct Factors {
  float a[8], b[4];
};

template <class T>
float half_of(unsigned word, int which) {
  T x;
  x.bits = static_cast<std::uint16_t>(word >> which * 16);
  return static_cast<float>(x);
}

inline void load(unsigned (&x)[4], SharedPlace row, bool transposed) {
  const Address* rows = Board<Address>::exchange({row});
  const unsigned lane = threadIdx.x % host::warp_size, g = lane / 4, t = lane % 4 * 2;
  for (unsigned m = 0; m < 4; ++m) {
    std::uint16_t pair[2];
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned r = transposed ? t + e : g, c = transposed ? g : t + e;
      std::memcpy(pair + e, reinterpret_cast<const void*>(rows[m * 8 + r].place + c * 2), 2);
    }
    x[m] = pair[0] | static_cast<unsigned>(pair[1]) << 16;
  }
}

}  // namespace host_warps

inline void copy_quad(SharedPlace to, const void* from, bool inside) {
  host_warps::begin({to, from, 16, inside});
}
inline void copy_word(SharedPlace to, const void* from, bool inside) {
  host_warps::begin({to, from, 4, inside});
}
inline void wait_for_copies() {
  for (const host_warps::Copy& copy : host_warps::copies()) host_warps::make(copy);
  host_warps::copies().clear();
}
inline void end_copy_group() { ++host_warps::groups(); }
template <int most>
void wait_for_copy_groups() {
  std::erase_if(host_warps::copies(), [](const host_warps::Copy& copy) {
    const bool waited_for = host_warps::groups() - copy.group > most;
    if (waited_for) host_warps::make(copy);
    return waited_for;
  });
}

inline void load_matrices(unsigned (&x)[4], SharedPlace row) { host_warps::load(x, row, false); }
inline void load_transposed(unsigned (&x)[4], SharedPlace row) { host_warps::load(x, row, true); }

template <class T>
void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  using host_warps::half_of;
  host_warps::Factors mine;
  for (int e = 0; e < 8; ++e) mine.a[e] = half_of<T>(a[e / 2], e % 2);
  for (int e = 0; e < 4; ++e) mine.b[e] = half_of<T>(e < 2 ? b0 : b1, e % 2);
  const host_warps::Factors* all = host_warps::Board<host_warps::Factors>::exchange(mine);
  const unsigned lane = threadIdx.x % host::warp_size, g = lane / 4, t = lane % 4;
  for (unsigned k = 0; k < 16; ++k) {
    // Column k of a lies in lanes of number k % 8 / 2, row k of b likewise.
    const unsigned from = k % 8 / 2, upper = k / 8;
    const float low = all[g * 4 + from].a[upper * 4 + k % 2],
                high = all[g * 4 + from].a[upper * 4 + 2 + k % 2];
    for (unsigned e = 0; e < 2; ++e) {
      const float right = all[(2 * t + e) * 4 + from].b[upper * 2 + k % 2];
      c[e] += low * right;
      c[2 + e] += high * right;
    }
  }
}

template <class T>
unsigned packed(float low, float high) {
  return T(low).bits | static_cast<unsigned>(T(high).bits) << 16;
}
inline float fast_exp2(float x) { return std::exp2(x); }

template <class T>
T from_lane(T x, int from) {
  return host_warps::Board<T>::exchange(x)[from];
}
template <class T>
T across(T x, int mask) {
  const auto lane = static_cast<int>(threadIdx.x % host::warp_size);
  return host_warps::Board<T>::exchange(x)[lane ^ mask];
}
inline void sync_warp() { host::Block::wait_for_warp(); }
inline int opaque(int x) { return x; }

}  // namespace tidemark::cuda
