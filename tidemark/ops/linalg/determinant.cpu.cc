#include <cmath>

#include "tidemark/kernel/blas_factor.h"
#include "tidemark/ops/linalg/batch_slots.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// A matrix is factorised in a copy, with its pivots behind it.
BatchSlots slots_of(const Type& a) {
  const std::int64_t n = a.shape.back();
  std::int64_t matrices = 1;
  for (int i = 0; i < a.rank() - 2; ++i) matrices *= a.shape[i];
  return {matrices, aligned_bytes(n * n * size_of(a.dtype)) + aligned_bytes(n * 4)};
}

// body(index, factors, exchanges of rows) for every matrix.
template <class T, class Body>
void for_each_lu(const KernelArgs& args, const Body& body) {
  const std::int64_t n = args.in[0].shape.back();
  const blas::OneThread one;
  slots_of({args.in[0].dtype, args.in[0].shape}).run(args, [&](std::int64_t index, std::byte* workspace) {
    T* factors = take_part<T>(workspace, n * n);
    auto* exchanges = take_part<std::int32_t>(workspace, n);
    std::copy_n(args.in[0].as<T>() + index * n * n, n * n, factors);
    blas::lu_factor(n, factors, n, exchanges);
    body(index, factors, exchanges);
  });
}

// A product as fraction · 2^exponent, so that only what does not fit in the end overflows or vanishes.
struct Scaled {
  double fraction = 1;
  std::int64_t exponent = 0;

  void multiply(double factor) {
    int more = 0;
    fraction = std::frexp(fraction * factor, &more);
    exponent += more;
  }
  double times(double factor) const {
    int more = 0;
    const double product = std::frexp(fraction * factor, &more);
    constexpr std::int64_t far = 1 << 20;  // beyond every exponent
    return std::ldexp(product, static_cast<int>(std::clamp(exponent + more, -far, far)));
  }
};

bool is_odd(std::int64_t n, const std::int32_t* exchanges) {
  bool odd = false;
  for (std::int64_t i = 0; i < n; ++i) odd ^= exchanges[i] != i + 1;
  return odd;
}

template <class T>
Scaled product_of_pivots(std::int64_t n, const T* factors, const std::int32_t* exchanges) {
  Scaled product{is_odd(n, exchanges) ? -1.0 : 1.0};
  for (std::int64_t i = 0; i < n; ++i) product.multiply(static_cast<double>(factors[i * (n + 1)]));
  return product;
}

template <class T>
void run_det(const KernelArgs& args) {
  const std::int64_t n = args.in[0].shape.back();
  for_each_lu<T>(args, [&](std::int64_t index, const T* factors, const std::int32_t* exchanges) {
    const double value = product_of_pivots(n, factors, exchanges).times(1);
    args.out[0].as<T>()[index] = static_cast<T>(value == 0 ? 0 : value);  // no -0
  });
}

// det(A) A⁻ᵀ. A zero pivot has nothing but zeros below it, so another number in its place gives the factors
// of a matrix that differs in that one element: by as little as A is rounded.
template <class T>
void run_cofactors(const KernelArgs& args) {
  const std::int64_t n = args.in[0].shape.back();
  for_each_lu<T>(args, [&](std::int64_t index, T* factors, const std::int32_t* exchanges) {
    T* result = args.out[0].as<T>() + index * n * n;
    T largest = 0;
    for (std::int64_t i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(factors[i]));
    const T least = std::max(largest * std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::min());
    for (std::int64_t i = 0; i < n; ++i) {
      if (factors[i * (n + 1)] == T(0)) factors[i * (n + 1)] = least;
    }
    for (std::int64_t i = 0; i < n * n; ++i) result[i] = i % (n + 1) == 0 ? T(1) : T(0);
    blas::lu_solve(true, n, n, factors, n, exchanges, result, n);
    const Scaled product = product_of_pivots(n, factors, exchanges);
    for (std::int64_t i = 0; i < n * n; ++i)
      result[i] = static_cast<T>(product.times(static_cast<double>(result[i])));
  });
}

template <class T>
void run_slogdet(const KernelArgs& args) {
  const std::int64_t n = args.in[0].shape.back();
  for_each_lu<T>(args, [&](std::int64_t index, const T* factors, const std::int32_t* exchanges) {
    double sign = is_odd(n, exchanges) ? -1 : 1, log_magnitude = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto pivot = static_cast<double>(factors[i * (n + 1)]);
      sign *= pivot > 0 ? 1 : pivot < 0 ? -1 : pivot;  // 0 and NaN stay
      log_magnitude += std::log(std::abs(pivot));
    }
    args.out[0].as<T>()[index] = static_cast<T>(sign == 0 ? 0 : sign);  // no -0
    args.out[1].as<T>()[index] = static_cast<T>(log_magnitude);
  });
}

template <void (*in_f64)(const KernelArgs&), void (*in_f32)(const KernelArgs&)>
void run(const KernelArgs& args) {
  args.in[0].dtype == DType::f64 ? in_f64(args) : in_f32(args);
}

// `solves`: the right-hand sides solved for, as many as the matrix has rows, or none.
template <int solves>
Cost cost(const Call& call) {
  const double n = static_cast<double>(call.in[0].shape.back());
  constexpr double per_matrix = 2000;  // its start, in flops
  const auto matrices = static_cast<double>(slots_of(call.in[0]).matrices);
  return {.flops = matrices * (per_matrix + n * n * n * (2.0 / 3 + 2 * solves)),
          .bytes = bytes_moved(call),
          .work = WorkKind::factorization};
}

std::int64_t scratch(const Call& call) { return slots_of(call.in[0]).bytes(); }
bool in_place(const Call&, int, int) { return true; }

}  // namespace

const CpuKernel cpu::det =
    cpu_kernel<NoAttrs>(run<run_det<double>, run_det<float>>, {.cost = cost<0>, .scratch = scratch});
const CpuKernel cpu::cofactors =
    cpu_kernel<NoAttrs>(run<run_cofactors<double>, run_cofactors<float>>,
                        {.cost = cost<1>, .scratch = scratch, .in_place = in_place});
const CpuKernel cpu::slogdet =
    cpu_kernel<NoAttrs>(run<run_slogdet<double>, run_slogdet<float>>, {.cost = cost<0>, .scratch = scratch});

}  // namespace tidemark
