// Random numbers as pure functions of a key (ops/random/random.h): the CPU's bits. A thread draws a block of
// Philox and makes all elements of it.
#pragma once
#include "tidemark/base/philox.h"
#include "tidemark/cuda/device/chunks.h"
#include "tidemark/ops/scalar/normal_quantile_number.h"

namespace tidemark::cuda {

using PhiloxWords = std::array<std::uint32_t, 4>;

template <class G>
Philox key_of(const typename G::Pointers& at) {
  return {static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(at.in[0]))};
}

// Element `number` of a block's.
template <class W>
double word_as_double(const PhiloxWords& words, int number) {
  if constexpr (sizeof(W) == 8) {
    const std::uint64_t bits = std::uint64_t{words[2 * number]} << 32 | words[2 * number + 1];
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  } else {
    return (static_cast<double>(words[number]) + 0.5) * 0x1p-32;
  }
}

template <class G>
struct UniformDraw {
  using T = typename G::T;
  using W = compute_t<T>;
  static constexpr int per_block = 16 / sizeof(W);
  static T element(const PhiloxWords& words, int number) {
    W unit;
    if constexpr (sizeof(W) == 8) {
      unit = unit_double(words[2 * number], words[2 * number + 1]);
    } else {
      unit = unit_float(words[number]);
    }
    const W low = static_cast<W>(G::low), high = static_cast<W>(G::high), span = high - low;
    const T value = stored<T>(low + span * unit);
    return static_cast<W>(widened(value)) < high ? value : stored<T>(static_cast<W>(G::last));
  }
};
template <class G>
struct NormalDraw {
  using T = typename G::T;
  using W = compute_t<T>;
  static constexpr int per_block = 16 / sizeof(W);
  static T element(const PhiloxWords& words, int number) {
    return stored<T>(
        static_cast<W>(G::mean + G::deviation * as241::quantile(word_as_double<W>(words, number))));
  }
};
template <class G>
struct BernoulliDrawn {
  using T = bool;
  static constexpr int per_block = 4;
  static bool element(const PhiloxWords& words, int number) { return words[number] < G::threshold; }
};
template <class G>
struct BitsDraw {
  using T = typename G::T;
  static constexpr int per_block = 16 / sizeof(T);
  static T element(const PhiloxWords& words, int number) {
    if constexpr (sizeof(T) == 8) {
      return static_cast<T>(std::uint64_t{words[2 * number + 1]} << 32 | words[2 * number]);
    } else if constexpr (sizeof(T) == 4) {
      return static_cast<T>(words[number]);
    } else {
      return static_cast<T>(words[number / 4] >> (number % 4 * 8));
    }
  }
};

// Elements from the number on that the second operand says, if there is one.
template <class G, class Draw>
void draw_elements(const typename G::Pointers& at) {
  using T = typename Draw::T;
  using Index = typename G::Index;
  constexpr int per_block = Draw::per_block;
  const Philox philox = key_of<G>(at);
  std::uint64_t start = 0;
  if constexpr (G::starts) start = static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(at.in[1]));
  const std::uint64_t first_block = start / per_block;
  const Index ahead = static_cast<Index>(start % per_block);  // in the first block, which belong to nobody
  T* const to = static_cast<T*>(at.out[0]);
  const bool aligned = is_aligned<per_block>(to) && ahead == 0;
  const Turns<G> turns;
  for (Index b = turns.first; b < (ahead + G::count + per_block - 1) / per_block; b += turns.step) {
    const PhiloxWords words = philox(first_block + static_cast<std::uint64_t>(b), G::stream);
    T elements[per_block];
#pragma unroll
    for (int e = 0; e < per_block; ++e) elements[e] = Draw::element(words, e);
    const Index i = b * per_block - ahead;
    if (i >= 0 && i + per_block <= G::count) {
      store(to + i, elements, aligned);
    } else {
#pragma unroll
      for (int e = 0; e < per_block; ++e) {
        if (i + e >= 0 && i + e < G::count) to[i + e] = elements[e];
      }
    }
  }
}
template <class G>
void draw_uniform(const typename G::Pointers& at) {
  draw_elements<G, UniformDraw<G>>(at);
}
template <class G>
void draw_normal(const typename G::Pointers& at) {
  draw_elements<G, NormalDraw<G>>(at);
}
template <class G>
void draw_bernoulli(const typename G::Pointers& at) {
  draw_elements<G, BernoulliDrawn<G>>(at);
}
template <class G>
void draw_bits(const typename G::Pointers& at) {
  draw_elements<G, BitsDraw<G>>(at);
}

// Keys from a key: those of blocks 0, 1, …, or that of the block which the second operand says.
template <class G>
void draw_keys(const typename G::Pointers& at) {
  const Turns<G> turns;
  for (typename G::Index i = turns.first; i < G::count; i += turns.step) {
    std::uint64_t block = static_cast<std::uint64_t>(i);
    if constexpr (G::starts) block = static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(at.in[1]));
    const PhiloxWords words = key_of<G>(at)(block, G::stream);
    static_cast<std::int64_t*>(at.out[0])[i] =
        static_cast<std::int64_t>(std::uint64_t{words[0]} << 32 | words[1]);
  }
}

}  // namespace tidemark::cuda
