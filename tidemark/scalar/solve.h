// Systems of linear equations whose matrix or right-hand side are scalars. The values are solved for by a
// factorisation, which is kept, and the adjoints by one transposed solve with it: n² numbers on the tape in
// place of n³ statements.
//
//   std::vector<td::Real> x = td::solve(a, b);   // a: n x n by rows; b: n, or n x m by rows
//
// Either may be plain numbers.
#pragma once
#include <cmath>
#include <memory>
#include <ranges>
#include <source_location>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

// L·U with partial pivoting.
template <class T>
class LuFactors {
 public:
  // Returns 0, or the order of the first pivot that is zero.
  std::int64_t factor(std::size_t n, std::vector<T> a) {
    n_ = n;
    a_ = std::move(a);
    rows_.resize(n);
    for (std::size_t i = 0; i < n; ++i) rows_[i] = i;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (magnitude(a_[i * n + k]) > magnitude(a_[pivot * n + k])) pivot = i;
      if (a_[pivot * n + k] == T(0)) return static_cast<std::int64_t>(k + 1);
      if (pivot != k) {
        std::swap_ranges(a_.begin() + offset(k * n), a_.begin() + offset(k * n + n),
                         a_.begin() + offset(pivot * n));
        std::swap(rows_[k], rows_[pivot]);
      }
      for (std::size_t i = k + 1; i < n; ++i) {
        const T factor = a_[i * n + k] /= a_[k * n + k];
        for (std::size_t j = k + 1; j < n; ++j) a_[i * n + j] -= factor * a_[k * n + j];
      }
    }
    return 0;
  }
  // b (n x m) becomes x.
  void solve(bool transposed, std::size_t m, std::span<T> b) const {
    std::vector<T> x(n_);
    for (std::size_t c = 0; c < m; ++c) {
      for (std::size_t i = 0; i < n_; ++i) x[i] = b[(transposed ? i : rows_[i]) * m + c];
      const auto at = [&](std::size_t i, std::size_t j) { return a_[transposed ? j * n_ + i : i * n_ + j]; };
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = 0; j < i; ++j) x[i] -= at(i, j) * x[j];
        if (transposed) x[i] /= at(i, i);
      }
      for (std::size_t i = n_; i-- > 0;) {
        for (std::size_t j = i + 1; j < n_; ++j) x[i] -= at(i, j) * x[j];
        if (!transposed) x[i] /= at(i, i);
      }
      for (std::size_t i = 0; i < n_; ++i) b[(transposed ? rows_[i] : i) * m + c] = x[i];
    }
  }
  std::size_t bytes() const { return a_.capacity() * sizeof(T) + rows_.capacity() * sizeof(rows_[0]); }

 private:
  static double magnitude(const T& x) {
    using tidemark::scalars::value;
    return std::abs(static_cast<double>(value(x)));
  }
  static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

  std::size_t n_ = 0;
  std::vector<T> a_;
  std::vector<std::size_t> rows_;
};

// By LAPACK, on the calling thread.
template <>
class LuFactors<double> {
 public:
  std::int64_t factor(std::size_t n, std::vector<double> a);
  void solve(bool transposed, std::size_t m, std::span<double> b) const;
  std::size_t bytes() const {
    return a_.capacity() * sizeof(double) + pivots_.capacity() * sizeof(std::int32_t);
  }

 private:
  std::size_t n_ = 0;
  std::vector<double> a_;
  std::vector<std::int32_t> pivots_;
};

template <class T>
class SolveEvent final : public Event<T> {
 public:
  std::size_t n = 0, m = 0;
  LuFactors<T> factors;
  std::vector<T> x;
  std::vector<Id> a, b;  // ids; none where it is plain numbers

  // For A X = B: the adjoint of B is A⁻ᵀ times that of X, and the adjoint of A is minus that times Xᵀ.
  void reverse(std::span<const T> results, AdjointSink<T>& operands) override {
    std::vector<T> by_b(results.begin(), results.end());
    factors.solve(true, m, by_b);
    for (std::size_t i = 0; i < b.size(); ++i)
      if (b[i] != 0) operands.add(b[i], by_b[i]);
    for (std::size_t i = 0; i < n && !a.empty(); ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (a[i * n + j] == 0) continue;
        T amount(0);
        for (std::size_t c = 0; c < m; ++c) amount -= by_b[i * m + c] * x[j * m + c];
        operands.add(a[i * n + j], amount);
      }
  }
  std::size_t bytes() const override {
    return sizeof *this + factors.bytes() + x.capacity() * sizeof(T) +
           (a.capacity() + b.capacity()) * sizeof(Id);
  }
};

template <class T, class C>
std::vector<T> values_and_ids(std::span<const C> numbers, std::vector<Id>& ids) {
  std::vector<T> values(numbers.size());
  bool active = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    values[i] = value(numbers[i]);
    if constexpr (is_real<C>) active |= numbers[i].id() != 0;
  }
  if constexpr (is_real<C>)
    if (active)
      for (const C& number : numbers) ids.push_back(number.id());
  return values;
}

template <class T, class A, class B>
std::vector<BasicReal<T>> solve_spans(std::span<const A> a, std::span<const B> b, const SourceLine& where) {
  const auto n = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(a.size()))));
  if (n * n != a.size() || (n == 0 ? !b.empty() : b.size() % n != 0))
    fail(
        ErrorCode::shape_mismatch,
        {.what = fmt::format("solve: a matrix of {} numbers and a right-hand side of {}", a.size(), b.size()),
         .expected = "a square matrix, and a multiple of its rows",
         .where = where});
  auto event = std::make_unique<SolveEvent<T>>();
  event->n = n;
  event->m = n == 0 ? 0 : b.size() / n;
  const std::int64_t bad = event->factors.factor(n, values_and_ids<T>(a, event->a));
  if (bad != 0)
    fail(ErrorCode::numeric,
         {.what = fmt::format("solve: the matrix is singular: pivot {} of {} is zero", bad, n),
          .where = where});
  event->x = values_and_ids<T>(b, event->b);
  event->factors.solve(false, event->m, event->x);
  BasicTape<T>* const tape = BasicTape<T>::active();
  const bool active = !event->a.empty() || !event->b.empty();
  if (!tape || !active) return unrecorded<T>(event->x, active);
  std::vector<BasicReal<T>> operands;
  if constexpr (is_real<A>) operands.insert(operands.end(), a.begin(), a.end());
  if constexpr (is_real<B>) operands.insert(operands.end(), b.begin(), b.end());
  const std::vector<T> x = event->x;
  return tape->record_event(std::move(event), operands, x, where);
}

// Reals and numbers in memory, one behind the other.
template <class R>
concept ContiguousReals = std::ranges::contiguous_range<R> && is_real<std::ranges::range_value_t<R>>;
template <class R>
concept ContiguousNumbers = ContiguousReals<R> ||
    (std::ranges::contiguous_range<R>&& std::is_arithmetic_v<std::ranges::range_value_t<R>>);

template <ContiguousNumbers A, ContiguousNumbers B>
requires ContiguousReals<A> || ContiguousReals<B>
auto solve(const A& a, const B& b, SourceLine where = std::source_location::current()) {
  using Ca = std::ranges::range_value_t<A>;
  using Cb = std::ranges::range_value_t<B>;
  using T = typename std::conditional_t<is_real<Ca>, Ca, Cb>::Number;
  return solve_spans<T>(std::span<const Ca>(a), std::span<const Cb>(b), where);
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::solve;
}  // namespace tidemark
