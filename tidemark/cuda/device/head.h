// The rows of logits of one chunk of a language model's head (cuda/head.h): their losses, and in their place
// the gradient of Σ weights · loss. A block of threads for each row, which is read from memory once: the
// second reading finds it in the cache.
#pragma once
#include "tidemark/cuda/device/teams.h"
#ifdef __CUDACC_RTC__
#include "tidemark/cuda/device/warp.h"
#endif

namespace tidemark::cuda {

// Powers of two are what the GPU computes fast; f64 takes the exact function.
inline float exp_of(float x) { return fast_exp2(x * 1.44269504088896341f); }
inline double exp_of(double x) { return std::exp(x); }

// Σ e^(x - top), with the largest x.
template <class W>
struct ExpTotal {
  W top = -std::numeric_limits<W>::infinity(), sum = 0;

  template <int n>
  void add(const W (&x)[n]) {
    W highest = x[0];
    for (int e = 1; e < n; ++e) highest = x[e] > highest ? x[e] : highest;
    if (highest > top) {
      sum *= exp_of(top - highest);
      top = highest;
    }
    for (int e = 0; e < n; ++e) sum += exp_of(x[e] - top);
  }
  ExpTotal exchanged(int distance) const {
    return {static_cast<W>(__shfl_xor_sync(0xffffffffu, top, distance)),
            static_cast<W>(__shfl_xor_sync(0xffffffffu, sum, distance))};
  }
};
template <class W>
ExpTotal<W> both(const ExpTotal<W>& a, const ExpTotal<W>& b) {
  const W top = a.top > b.top ? a.top : b.top;
  if (!(top > -std::numeric_limits<W>::infinity())) return {top, a.sum + b.sum};
  return {top, a.sum * exp_of(a.top - top) + b.sum * exp_of(b.top - top)};
}

// H has the number of classes, the distance of rows, both in elements, and the dtypes. Rows begin at
// multiples of 16 bytes; what lies behind the classes is nobody's.
template <class H>
void head_rows(const typename H::Pointers& at) {
  using T = typename H::Element;
  using W = typename H::Wide;
  constexpr int width = 16 / static_cast<int>(sizeof(T)), packs = H::classes / width;
  const Team<H> team;
  const long long number = static_cast<long long>(blockIdx.x);
  T* const row = static_cast<T*>(at.out[0]) + number * H::leading;
  const typename H::Label said = static_cast<const typename H::Label*>(at.in[0])[number];
  const bool ignored = H::ignores && said == static_cast<typename H::Label>(H::ignored);
  const bool bad = !ignored && (said < 0 || said >= H::classes);
  if (bad && threadIdx.x == 0 && at.failed) *at.failed = 1;
  const int label = ignored || bad ? 0 : static_cast<int>(said);
  const W chosen = static_cast<W>(widened(row[label]));

  ExpTotal<W> total;
  for (int p = team.lane; p < packs; p += H::team) {
    T x[width];
    load(x, row + p * width, true);
    W wide[width];
    for (int e = 0; e < width; ++e) wide[e] = static_cast<W>(widened(x[e]));
    total.add(wide);
  }
  for (int i = packs * width + team.lane; i < H::classes; i += H::team) {
    const W wide[1] = {static_cast<W>(widened(row[i]))};
    total.add(wide);
  }
  total = team.fold(total, both<W>);  // also a barrier: `chosen` has been read by all
  const W logsumexp = total.top + std::log(total.sum);
  if (threadIdx.x == 0) static_cast<W*>(at.out[1])[number] = ignored || bad ? W(0) : logsumexp - chosen;
  if constexpr (H::gradient) {
    const W weight = ignored || bad ? W(0) : static_cast<const W*>(at.in[1])[number];
    const auto slope = [&](T x, int i) {
      const W p = exp_of(static_cast<W>(widened(x)) - logsumexp);
      return stored<T>(weight * (i == label ? p - W(1) : p));
    };
    for (int p = team.lane; p < packs; p += H::team) {
      T x[width];
      load(x, row + p * width, true);
      for (int e = 0; e < width; ++e) x[e] = slope(x[e], p * width + e);
      store(row + p * width, x, true);
    }
    for (int i = packs * width + team.lane; i < H::classes; i += H::team) row[i] = slope(row[i], i);
  }
}

// Σ weights · loss, by one block.
template <class H>
void head_total(const typename H::Pointers& at) {
  using W = typename H::Wide;
  const Team<H> team;
  double sum = 0;
  for (long long i = team.lane; i < H::examples; i += H::team) {
    sum += static_cast<double>(static_cast<const W*>(at.in[1])[i]) *
           static_cast<double>(static_cast<const W*>(at.out[1])[i]);
  }
  sum = team.sum(sum);
  if (threadIdx.x == 0) *static_cast<W*>(at.out[0]) = static_cast<W>(sum);
}

}  // namespace tidemark::cuda
