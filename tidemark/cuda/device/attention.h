// What the kernels of attention and of its gradient share (ops/attention/attention.h says what they compute):
// who sees whom, what dropout keeps, where heads lie.
//
// F is what is generated for a call: sizes, steps in memory in elements and options as constants.
#pragma once
#include "tidemark/base/philox.h"
#include "tidemark/cuda/device/elements.h"
#ifdef __CUDACC_RTC__
#include "tidemark/cuda/device/warp.h"
#endif

namespace tidemark::cuda {

// In terms of log 2, which saves the exponential a product.
template <class W>
inline constexpr W log2_e = static_cast<W>(std::numbers::log2e);
template <class W>
inline constexpr W lowest = -std::numeric_limits<W>::infinity();

// How many keys query i sees, but for the mask.
template <class F>
int visible(int i) {
  if constexpr (!F::causal) return F::keys;
  const int seen = i + F::keys - F::queries + 1;
  return seen < 0 ? 0 : seen > F::keys ? F::keys : seen;
}
// The first query that sees key j.
template <class F>
int first_seeing(int j) {
  if constexpr (!F::causal) return 0;
  const int first = j - (F::keys - F::queries);
  return first < 0 ? 0 : first;
}

// How many keys the queries [first, first + count) see, those that there are.
template <class F, int count>
int seen_by_rows(int first) {
  if constexpr (!F::causal) return F::keys;
  if (first >= F::queries) return 0;
  return visible<F>(first + count < F::queries ? first + count - 1 : F::queries - 1);
}

// One query head of a batch, and what its queries may see.
template <class F>
struct Head {
  int number;  // batch × heads + head
  const bool* mask = nullptr;

  Head(const typename F::Pointers& at, int n) : number(n) {
    if constexpr (F::mask >= 0) {
      mask = static_cast<const bool*>(at.in[F::mask]) + n / F::heads * F::mask_batch +
             n % F::heads * F::mask_head;
    }
  }
  // Only for a query and a key that there are.
  bool hides(int i, int j) const {
    if constexpr (F::mask >= 0) return !mask[i * F::mask_query + j * F::mask_key];
    return false;
  }
  bool sees(int i, int j) const { return i < F::queries && j < visible<F>(i) && !hides(i, j); }
  int kv() const { return number / F::group; }  // batch × key heads + key head

  template <class T>
  T* rows(T* x) const {  // of one number per query
    return x + static_cast<long long>(number) * F::queries;
  }
};

// One head of an operand: rows of `width` elements, with steps between rows and elements.
template <class T>
struct HeadRows {
  const T* first;
  long long row_step, column_step;

  const T* row(int r) const { return first + r * row_step; }
  const T& at(int r, int c) const { return first[r * row_step + c * column_step]; }
};
// Of query head `number`, or of key head `number`.
template <class F>
HeadRows<typename F::Element> q_rows(const typename F::Pointers& at, int number) {
  return {static_cast<const typename F::Element*>(at.in[0]) + number / F::heads * F::q_batch +
              number % F::heads * F::q_head,
          F::q_row, F::q_column};
}
template <class F>
HeadRows<typename F::Element> g_rows(const typename F::Pointers& at, int number) {
  return {static_cast<const typename F::Element*>(at.in[5]) + number / F::heads * F::g_batch +
              number % F::heads * F::g_head,
          F::g_row, F::g_column};
}
template <class F>
HeadRows<typename F::Element> k_rows(const typename F::Pointers& at, int number) {
  return {static_cast<const typename F::Element*>(at.in[1]) + number / F::kv_heads * F::k_batch +
              number % F::kv_heads * F::k_head,
          F::k_row, F::k_column};
}
template <class F>
HeadRows<typename F::Element> v_rows(const typename F::Pointers& at, int number) {
  return {static_cast<const typename F::Element*>(at.in[2]) + number / F::kv_heads * F::v_batch +
              number % F::kv_heads * F::v_head,
          F::v_row, F::v_column};
}
// Results are dense.
template <class F>
typename F::Element* result_rows(void* result, int head, int rows, int row) {
  return static_cast<typename F::Element*>(result) + (static_cast<long long>(head) * rows + row) * F::width;
}
template <class F>
const typename F::Compute* logsumexp_rows(const typename F::Pointers& at, const Head<F>& head) {
  return head.rows(static_cast<const typename F::Compute*>(at.in[3]));
}
template <class F>
const typename F::Compute* delta_rows(const typename F::Pointers& at, const Head<F>& head) {
  return head.rows(static_cast<const typename F::Compute*>(at.in[4]));
}

// What to subtract from scores in units of log 2, so that their exponentials are probabilities: all 0 where
// nothing is seen.
template <class W>
W exponent_shift(W logsumexp) {
  return logsumexp == lowest<W> ? -lowest<W> : logsumexp * log2_e<W>;
}

// What dropout makes of probabilities: the bits of random_bernoulli over (B, Hq, Tq, Tk).
template <class F>
struct Keeper {
  Philox philox{0};

  explicit Keeper(const typename F::Pointers& at) {
    if constexpr (F::key >= 0) philox.key = *static_cast<const unsigned long long*>(at.in[F::key]);
  }
  static unsigned long long place(int head, int i, int j) {
    return (static_cast<unsigned long long>(head) * F::queries + static_cast<unsigned>(i)) * F::keys +
           static_cast<unsigned>(j);
  }
  bool keeps(int head, int i, int j) const {
    const unsigned long long at = place(head, i, j);
    const auto words = philox(at / 4, F::stream);
    const unsigned word = at % 4 == 0 ? words[0] : at % 4 == 1 ? words[1] : at % 4 == 2 ? words[2] : words[3];
    return word < F::threshold;
  }
  // 0 or 1 / (1 - rate).
  typename F::Compute factor(int head, int i, int j) const {
    if constexpr (F::key < 0) {
      return 1;
    } else {
      return keeps(head, i, j) ? F::kept : typename F::Compute{0};
    }
  }
  // Bit c: is key j + c of query i kept? j and the number of keys are multiples of 4.
  unsigned four_bits(int head, int i, int j) const {
    const auto words = philox(place(head, i, j) / 4, F::stream);
    unsigned bits = 0;
    for (int c = 0; c < 4; ++c) bits |= static_cast<unsigned>(words[c] < F::threshold) << c;
    return bits;
  }
};

}  // namespace tidemark::cuda
