#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalization/softmax.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One contiguous row. `log`: the logarithm instead.
template <class T, bool log>
void forward_row(const T* x, T* y, std::size_t n) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const auto at = [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, x + i, count); };
  const auto top = hn::Set(d, rows::max(d, n, at));
  const auto term = [&](std::size_t i, std::size_t count) HWY_ATTR {
    return rows::exp_of_negative(d, hn::Sub(rows::load(d, x + i, count), top));
  };
  if constexpr (log) {
    const auto shift = hn::Set(d, std::log(rows::sum(d, n, term)));
    rows::map(d, n, y, [&](std::size_t i, std::size_t count) HWY_ATTR {
      return hn::Sub(hn::Sub(rows::load(d, x + i, count), top), shift);
    });
  } else if constexpr (std::is_same_v<T, W>) {
    rows::map(d, n, y, term);  // the terms wait in the result: each exponential is taken once
    const auto done = [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, y + i, count); };
    const auto scale = hn::Set(d, W{1} / rows::sum(d, n, done));
    rows::map(d, n, y,
              [&](std::size_t i, std::size_t count) HWY_ATTR { return hn::Mul(done(i, count), scale); });
  } else {
    const auto scale = hn::Set(d, W{1} / rows::sum(d, n, term));
    rows::map(d, n, y,
              [&](std::size_t i, std::size_t count) HWY_ATTR { return hn::Mul(term(i, count), scale); });
  }
}

// `width` neighbouring columns of n elements each, `stride` apart.
template <class T, bool log>
void forward_columns(const T* x, T* y, std::size_t n, std::size_t stride, std::size_t width) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < width; j += lanes) {
    const std::size_t count = std::min(lanes, width - j);
    auto top = hn::Set(d, -std::numeric_limits<W>::infinity());
    for (std::size_t k = 0; k < n; ++k) top = hn::Max(top, rows::load(d, x + k * stride + j, count));
    auto total = hn::Zero(d);
    for (std::size_t k = 0; k < n; ++k) {
      total =
          hn::Add(total, rows::exp_of_negative(d, hn::Sub(rows::load(d, x + k * stride + j, count), top)));
    }
    if constexpr (log) {
      HWY_ALIGN W sums[hn::MaxLanes(d)];
      hn::Store(total, d, sums);
      for (std::size_t i = 0; i < count; ++i) sums[i] = std::log(sums[i]);
      total = hn::Load(d, sums);
    } else {
      total = hn::Div(hn::Set(d, W{1}), total);
    }
    for (std::size_t k = 0; k < n; ++k) {
      const auto shifted = hn::Sub(rows::load(d, x + k * stride + j, count), top);
      const auto result = log ? hn::Sub(shifted, total) : hn::Mul(rows::exp_of_negative(d, shifted), total);
      rows::store(d, y + k * stride + j, count, result);
    }
  }
}

template <class T, bool log>
void backward_row(const T* y, const T* g, T* dx, std::size_t n) {
  const rows::Tag<T> d;
  const auto total = hn::Set(d, rows::sum(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR {
                               const auto gi = rows::load(d, g + i, count);
                               return log ? gi : hn::Mul(gi, rows::load(d, y + i, count));
                             }));
  rows::map(d, n, dx, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto yi = rows::load(d, y + i, count), gi = rows::load(d, g + i, count);
    return log ? hn::Sub(gi, hn::Mul(rows::exp(d, yi), total)) : hn::Mul(yi, hn::Sub(gi, total));
  });
}

template <class T, bool log>
void backward_columns(const T* y, const T* g, T* dx, std::size_t n, std::size_t stride, std::size_t width) {
  const rows::Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < width; j += lanes) {
    const std::size_t count = std::min(lanes, width - j);
    auto total = hn::Zero(d);
    for (std::size_t k = 0; k < n; ++k) {
      const auto gi = rows::load(d, g + k * stride + j, count);
      total = hn::Add(total, log ? gi : hn::Mul(gi, rows::load(d, y + k * stride + j, count)));
    }
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t at = k * stride + j;
      const auto yi = rows::load(d, y + at, count), gi = rows::load(d, g + at, count);
      rows::store(d, dx + at, count,
                  log ? hn::Sub(gi, hn::Mul(rows::exp(d, yi), total)) : hn::Mul(yi, hn::Sub(gi, total)));
    }
  }
}

constexpr std::int64_t column_block = 64;

// Calls row(offset, n) for rows along the last axis, columns(offset, n, inner, width) for blocks of others.
template <class Row, class Columns>
void for_each_line(const KernelArgs& args, const Row& row, const Columns& columns) {
  const AxisCut cut = cut_at(args.in[0].shape, args.attrs<AxisAttrs>().axis);
  if (cut.size == 0) return;
  if (cut.inner == 1) {
    parallel_for(*args.pool, cut.outer, row_grain(cut.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) row(r * cut.size, cut.size);
    });
    return;
  }
  const std::int64_t blocks = (cut.inner + column_block - 1) / column_block;
  const std::int64_t grain = row_grain(cut.size * std::min(cut.inner, column_block));
  parallel_for(*args.pool, cut.outer * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % blocks * column_block;
      columns(i / blocks * cut.size * cut.inner + first, cut.size, cut.inner,
              std::min(column_block, cut.inner - first));
    }
  });
}

template <bool log>
void forward(const KernelArgs& args) {
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* x = args.in[0].as<T>();
    T* y = args.out[0].as<T>();
    for_each_line(
        args, [&](std::int64_t at, std::int64_t n) { forward_row<T, log>(x + at, y + at, n); },
        [&](std::int64_t at, std::int64_t n, std::int64_t stride, std::int64_t width) {
          forward_columns<T, log>(x + at, y + at, n, stride, width);
        });
  });
}

template <bool log>
void backward(const KernelArgs& args) {
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T *y = args.in[0].as<T>(), *g = args.in[1].as<T>();
    T* dx = args.out[0].as<T>();
    for_each_line(
        args, [&](std::int64_t at, std::int64_t n) { backward_row<T, log>(y + at, g + at, dx + at, n); },
        [&](std::int64_t at, std::int64_t n, std::int64_t stride, std::int64_t width) {
          backward_columns<T, log>(y + at, g + at, dx + at, n, stride, width);
        });
  });
}

void run_softmax(const KernelArgs& args) { forward<false>(args); }
void run_log_softmax(const KernelArgs& args) { forward<true>(args); }
void run_softmax_grad(const KernelArgs& args) { backward<false>(args); }
void run_log_softmax_grad(const KernelArgs& args) { backward<true>(args); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

constexpr int with_exp = 38, without_exp = 5;  // flops per element

template <int flops>
Cost cost(const Call& call) {
  constexpr double per_row = 300;
  const double n = static_cast<double>(call.in[0].count());
  const double length =
      static_cast<double>(call.in[0].shape[static_cast<int>(call.attrs_as<AxisAttrs>().axis)]);
  return {.flops = flops * n + per_row * n / std::max(length, 1.0), .bytes = bytes_moved(call)};
}

// Each element is written after the last read of it.
bool in_place(const Call&, int, int) { return true; }

}  // namespace

TM_DISPATCHED_KERNEL(softmax, AxisAttrs, run_softmax, .cost = cost<with_exp>, .in_place = in_place);
TM_DISPATCHED_KERNEL(log_softmax, AxisAttrs, run_log_softmax, .cost = cost<with_exp>, .in_place = in_place);
TM_DISPATCHED_KERNEL(softmax_grad, AxisAttrs, run_softmax_grad, .cost = cost<without_exp>,
                     .in_place = in_place);
TM_DISPATCHED_KERNEL(log_softmax_grad, AxisAttrs, run_log_softmax_grad, .cost = cost<with_exp>,
                     .in_place = in_place);

}  // namespace tidemark
#endif  // HWY_ONCE
