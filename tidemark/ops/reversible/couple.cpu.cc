#include "tidemark/ops/reversible/couple.h"

#include <fmt/format.h>

#include <cmath>
#include <mutex>

#include "tidemark/base/error.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise_facts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/reversible/couple.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef TIDEMARK_OPS_REVERSIBLE_COUPLE_ONCE
#define TIDEMARK_OPS_REVERSIBLE_COUPLE_ONCE
namespace tidemark {
namespace {

// The first sum, by element, that cannot be undone.
class BrokenSum {
 public:
  void report(std::int64_t element, double x, double t) {
    const std::lock_guard lock(mutex_);
    if (element_ >= 0 && element_ < element) return;
    element_ = element, x_ = x, t_ = t;
  }
  void fail_if_any(const KernelArgs& args, double range) const {
    if (element_ < 0) return;
    const Shape& shape = args.out[0].shape;
    Dims position = shape;
    std::int64_t rest = element_;
    for (int d = position.rank() - 1; d >= 0; --d) position[d] = rest % shape[d], rest /= shape[d];
    fail(ErrorCode::numeric,
         {.what = fmt::format("couple: {} + {} at {}, in a reversible block, cannot be undone: the sum is {}",
                              x_, t_, to_string(position), std::isfinite(x_ + t_) ? "rounded" : "no number"),
          .expected = fmt::format("numbers whose sum is within ±{}", range),
          .where = args.where,
          .help = "normalise what enters and leaves f and g, or give reversible a larger range"});
  }

 private:
  std::mutex mutex_;
  std::int64_t element_ = -1;
  double x_ = 0, t_ = 0;
};

}  // namespace
}  // namespace tidemark
#endif

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t elements_per_task = 16384;

// Calls f(tag, first element) for whole vectors and then for each of the last elements.
template <class T, class F>
HWY_INLINE void for_lanes(std::int64_t begin, std::int64_t end, const F& f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) f(d, i);
  for (; i < end; ++i) f(hn::CappedTag<T, 1>(), i);
}

// 1/step and step, powers of two: scaling is exact. Adding 0 turns −0 into 0.
template <class T>
struct Grid {
  T up, step;
  template <class D, class V>
  HWY_INLINE V round(D d, V x) const {
    const V scaled = hn::Mul(x, hn::Set(d, up));
    return hn::Add(hn::Mul(hn::Round(scaled), hn::Set(d, step)), hn::Zero(d));
  }
};
template <class T>
Grid<T> grid_of(const KernelArgs& args) {
  const double step = grid_step(dtype_of<T>, args.attrs<GridAttrs>().range);
  return {static_cast<T>(1 / step), static_cast<T>(step)};
}

template <class F>
void for_type(const KernelArgs& args, const F& f) {
  args.out[0].dtype == DType::f64 ? f(double()) : f(float());
}

void to_grid_all(const KernelArgs& args) {
  for_type(args, [&]<class T>(T) {
    const Grid<T> grid = grid_of<T>(args);
    const T* x = args.in[0].as<T>();
    T* y = args.out[0].as<T>();
    parallel_for(*args.pool, args.out[0].count(), elements_per_task,
                 [&](std::int64_t begin, std::int64_t end) {
                   for_lanes<T>(begin, end, [&](auto d, std::int64_t i) HWY_ATTR {
                     hn::StoreU(grid.round(d, hn::LoadU(d, x + i)), d, y + i);
                   });
                 });
  });
}

void couple_all(const KernelArgs& args) {
  BrokenSum broken;
  for_type(args, [&]<class T>(T) {
    const Grid<T> grid = grid_of<T>(args);
    const T *x = args.in[0].as<T>(), *t = args.in[1].as<T>();
    T* y = args.out[0].as<T>();
    parallel_for(
        *args.pool, args.out[0].count(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
          bool found = false;
          for_lanes<T>(begin, end, [&](auto d, std::int64_t i) HWY_ATTR {
            const auto a = grid.round(d, hn::LoadU(d, x + i)), b = grid.round(d, hn::LoadU(d, t + i));
            const auto sum = hn::Add(a, b);
            // Neither is −0, so that equal numbers have equal bits; and a NaN equals nothing.
            const auto undone = hn::Eq(hn::Sub(sum, b), a);
            if (HWY_UNLIKELY(!hn::AllTrue(d, undone)) && !found) {
              found = true;
              for (std::int64_t k = i;; ++k) {
                const hn::CappedTag<T, 1> one;
                const T p = hn::GetLane(grid.round(one, hn::LoadU(one, x + k)));
                const T q = hn::GetLane(grid.round(one, hn::LoadU(one, t + k)));
                if (T(p + q) - q == p) continue;
                broken.report(k, static_cast<double>(x[k]), static_cast<double>(t[k]));
                break;
              }
            }
            hn::StoreU(sum, d, y + i);
          });
        });
  });
  broken.fail_if_any(args, args.attrs<GridAttrs>().range);
}

void uncouple_all(const KernelArgs& args) {
  for_type(args, [&]<class T>(T) {
    const Grid<T> grid = grid_of<T>(args);
    const T *y = args.in[0].as<T>(), *t = args.in[1].as<T>();
    T* x = args.out[0].as<T>();
    parallel_for(*args.pool, args.out[0].count(), elements_per_task,
                 [&](std::int64_t begin, std::int64_t end) {
                   for_lanes<T>(begin, end, [&](auto d, std::int64_t i) HWY_ATTR {
                     const auto b = grid.round(d, hn::LoadU(d, t + i));
                     hn::StoreU(hn::Sub(hn::LoadU(d, y + i), b), d, x + i);
                   });
                 });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {

namespace {

template <int flops>
Cost grid_cost(const Call& call) {
  Cost cost = elementwise_cost(call, flops);
  cost.work = WorkKind::elementwise;
  return cost;
}

}  // namespace

TM_DISPATCHED_KERNEL(to_grid, GridAttrs, to_grid_all, .cost = grid_cost<3>, .in_place = elementwise_in_place);
TM_DISPATCHED_KERNEL(couple, GridAttrs, couple_all, .cost = grid_cost<10>, .in_place = elementwise_in_place);
TM_DISPATCHED_KERNEL(uncouple, GridAttrs, uncouple_all, .cost = grid_cost<4>,
                     .in_place = elementwise_in_place);

}  // namespace tidemark
#endif  // HWY_ONCE
