#include "tidemark/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// The type sums are carried in.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

template <class T>
Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return static_cast<double>(static_cast<float>(x));
  } else {
    return static_cast<Wide<T>>(x);
  }
}
template <class T>
T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return T(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

// The operand's dimensions in two groups: those of the results and those that are reduced.
struct Geometry {
  Shape kept, reduced;
  Strides kept_strides, reduced_strides;

  Geometry(const TensorRef& x, const Dims& axes) {
    for (int i = 0; i < x.shape.rank(); ++i) {
      const bool is_reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
      (is_reduced ? reduced : kept).push_back(x.shape[i]);
      (is_reduced ? reduced_strides : kept_strides).push_back(x.strides[i]);
    }
  }
  static std::int64_t offset(const Shape& shape, const Strides& strides, std::int64_t index) {
    std::int64_t at = 0;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      at += index % shape[i] * strides[i];
      index /= shape[i];
    }
    return at;
  }
};

struct Sum {
  template <class A, class F>
  static A of(std::int64_t n, const F& x) {
    A total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += x(i);
    return total;
  }
};
struct Mean {
  template <class A, class F>
  static A of(std::int64_t n, const F& x) {
    return Sum::of<A>(n, x) / static_cast<A>(n);
  }
};
template <bool largest>
struct Extremum {
  template <class A, class F>
  static A of(std::int64_t n, const F& x) {
    A best = x(0);
    for (std::int64_t i = 1; i < n; ++i) {
      const A value = x(i);
      if (value != value) return value;
      if (largest ? value > best : value < best) best = value;
    }
    return best;
  }
};
struct Prod {
  template <class A, class F>
  static A of(std::int64_t n, const F& x) {
    A total = 1;
    for (std::int64_t i = 0; i < n; ++i) total *= x(i);
    return total;
  }
};
struct LogSumExp {
  template <class A, class F>
  static A of(std::int64_t n, const F& x) {
    if (n == 0) return -std::numeric_limits<A>::infinity();
    const A top = Extremum<true>::of<A>(n, x);
    if (std::isinf(top)) return top;
    return top + std::log(Sum::of<A>(n, [&](std::int64_t i) { return std::exp(x(i) - top); }));
  }
};
struct Variance {
  template <class A, class F>
  static A of(std::int64_t n, const F& x) {
    const A mean = Mean::of<A>(n, x);
    return Mean::of<A>(n, [&](std::int64_t i) { return (x(i) - mean) * (x(i) - mean); });
  }
};

template <class T, class Reduce>
void run_typed(const KernelArgs& args) {
  const TensorRef &x = args.in[0], &y = args.out[0];
  const Geometry geometry(x, args.attrs<ReduceAttrs>().axes);
  const std::int64_t n = element_count(geometry.reduced);
  const std::int64_t grain =
      std::max<std::int64_t>(1, (std::int64_t{1} << 14) / std::max<std::int64_t>(n, 1));
  parallel_for(*args.pool, y.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* base = x.as<T>() + Geometry::offset(geometry.kept, geometry.kept_strides, i);
      y.as<T>()[i] = narrow<T>(Reduce::template of<Wide<T>>(n, [&](std::int64_t k) {
        return widen(base[Geometry::offset(geometry.reduced, geometry.reduced_strides, k)]);
      }));
    }
  });
}

template <class Reduce>
void run(const KernelArgs& args) {
  dispatch(args.in[0].dtype, [&]<class T>() {
    if constexpr (!std::is_integral_v<T> || !(std::is_same_v<Reduce, LogSumExp>)) run_typed<T, Reduce>(args);
  });
}

}  // namespace

const CpuKernel cpu::reduce_sum = cpu_kernel<ReduceAttrs>(run<Sum>);
const CpuKernel cpu::reduce_mean = cpu_kernel<ReduceAttrs>(run<Mean>);
const CpuKernel cpu::reduce_max = cpu_kernel<ReduceAttrs>(run<Extremum<true>>);
const CpuKernel cpu::reduce_min = cpu_kernel<ReduceAttrs>(run<Extremum<false>>);
const CpuKernel cpu::reduce_prod = cpu_kernel<ReduceAttrs>(run<Prod>);
const CpuKernel cpu::reduce_logsumexp = cpu_kernel<ReduceAttrs>(run<LogSumExp>);
const CpuKernel cpu::reduce_var = cpu_kernel<ReduceAttrs>(run<Variance>);

}  // namespace tidemark
