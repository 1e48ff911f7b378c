// Compiled once per SIMD target. The first of equals; the first NaN beats every number, as in NumPy.
// Along an axis whose elements are neighbours: the extreme value of a piece first, then where it stands in
// the piece that has it. Across rows: the best so far and its row for every column of a block.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/reduction/arg_extremum.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t piece = 2048;            // elements of a row that are searched at once
constexpr std::int64_t block = 512;             // columns that go together
constexpr std::int64_t work_at_once = 1 << 14;  // elements per task

template <class C>
using Tag = hn::ScalableTag<C>;
template <class C>
constexpr std::int64_t lanes_of = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));

template <bool largest, class C>
bool better(C x, C best) {
  return largest ? x > best : x < best;
}
template <bool largest, class V>
HWY_INLINE V better_of(V x, V y) {
  if constexpr (largest) {
    return hn::Max(x, y);
  } else {
    return hn::Min(x, y);
  }
}

// Are there NaNs among n values? If not, `best` becomes the extreme one.
template <bool largest, class C>
bool extreme_of(const C* x, std::int64_t n, C& best) {
  const Tag<C> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto m0 = hn::Set(d, x[0]), m1 = m0, m2 = m0, m3 = m0;
  auto numbers = hn::Eq(m0, m0);  // the lanes that have seen no NaN
  const auto take = [&](auto v, auto& m) HWY_ATTR {
    if constexpr (std::is_floating_point_v<C>) numbers = hn::And(numbers, hn::Eq(v, v));
    m = better_of<largest>(m, v);
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    take(hn::LoadU(d, x + i), m0);
    take(hn::LoadU(d, x + i + lanes), m1);
    take(hn::LoadU(d, x + i + 2 * lanes), m2);
    take(hn::LoadU(d, x + i + 3 * lanes), m3);
  }
  for (; i + lanes <= n; i += lanes) take(hn::LoadU(d, x + i), m0);
  HWY_ALIGN C values[hn::MaxLanes(d)];
  hn::Store(better_of<largest>(better_of<largest>(m0, m1), better_of<largest>(m2, m3)), d, values);
  best = values[0];
  for (std::int64_t j = 1; j < lanes; ++j) best = better<largest>(values[j], best) ? values[j] : best;
  bool found = false;
  for (; i < n; ++i) {
    found = found || x[i] != x[i];
    best = better<largest>(x[i], best) ? x[i] : best;
  }
  if constexpr (std::is_floating_point_v<C>) found = found || !hn::AllTrue(d, numbers);
  return found;
}

template <class C>
std::int64_t first_equal(const C* x, std::int64_t n, C value) {
  const Tag<C> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, value);
  const auto equal = [&](std::int64_t at) HWY_ATTR { return hn::Eq(hn::LoadU(d, x + at), wanted); };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto any =
        hn::Or(hn::Or(equal(i), equal(i + lanes)), hn::Or(equal(i + 2 * lanes), equal(i + 3 * lanes)));
    if (!hn::AllFalse(d, any)) break;
  }
  for (; i + lanes <= n; i += lanes) {
    const auto found = hn::FindFirstTrue(d, equal(i));
    if (found >= 0) return i + static_cast<std::int64_t>(found);
  }
  while (i < n && x[i] != value) ++i;
  return i;
}

// n elements `step` apart, as values of C: in place where they are that already.
template <class T, class C>
const C* load(const T* from, std::int64_t step, std::int64_t n, C* buffer) {
  if constexpr (std::is_same_v<T, C>) {
    if (step == 1) return from;
    for (std::int64_t i = 0; i < n; ++i) buffer[i] = from[i * step];
  } else if constexpr (std::is_same_v<C, float>) {
    tile_load(dtype_of<T>, true)(reinterpret_cast<const std::byte*>(from), step, n,
                                 reinterpret_cast<std::byte*>(buffer));
  } else {
    for (std::int64_t i = 0; i < n; ++i) buffer[i] = static_cast<C>(from[i * step]);
  }
  return buffer;
}

template <bool largest, class T, class C>
std::int64_t along(const T* row, std::int64_t step, std::int64_t n) {
  HWY_ALIGN C buffer[piece];
  std::int64_t from = -1;
  C best{};
  for (std::int64_t i = 0; i < n; i += piece) {
    const std::int64_t some = std::min(piece, n - i);
    const C* x = load<T, C>(row + i * step, step, some, buffer);
    C extreme;
    if (extreme_of<largest>(x, some, extreme)) {
      std::int64_t at = 0;
      while (x[at] == x[at]) ++at;
      return i + at;
    }
    if (from < 0 || better<largest>(extreme, best)) best = extreme, from = i;
  }
  const std::int64_t some = std::min(piece, n - from);
  return from + first_equal(load<T, C>(row + from * step, step, some, buffer), some, best);
}

// Rows k … k + rows - 1 of a block of columns against the best so far.
template <bool largest, int rows, class C, class I>
void against(const C* const (&x)[rows], std::int64_t n, I k, C* best, I* at) {
  const Tag<C> d;
  const Tag<I> di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto most = hn::LoadU(d, best + i);
    auto where = hn::LoadU(di, at + i);
    for (int r = 0; r < rows; ++r) {
      const auto value = hn::LoadU(d, x[r] + i);
      auto wins = largest ? hn::Gt(value, most) : hn::Lt(value, most);
      if constexpr (std::is_floating_point_v<C>) {
        wins = hn::AndNot(hn::IsNaN(most), hn::Or(wins, hn::IsNaN(value)));
      }
      most = hn::IfThenElse(wins, value, most);
      where = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, k + static_cast<I>(r)), where);
    }
    hn::StoreU(most, d, best + i);
    hn::StoreU(where, di, at + i);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < rows; ++r) {
      const C value = x[r][i];
      if (best[i] == best[i] && (better<largest>(value, best[i]) || value != value)) {
        best[i] = value, at[i] = k + static_cast<I>(r);
      }
    }
  }
}

// `wide` ≤ block neighbouring columns, whose rows are `step` apart.
template <bool largest, class T, class C>
void across(const T* from, std::int64_t step, std::int64_t n, std::int64_t wide, std::int64_t* out) {
  using I = std::conditional_t<sizeof(C) == 8, std::int64_t, std::int32_t>;
  constexpr int together = 4;
  HWY_ALIGN C best[block], buffer[together][block];
  HWY_ALIGN I at[block];
  const C* first = load<T, C>(from, 1, wide, buffer[0]);
  std::copy(first, first + wide, best);
  std::fill_n(at, wide, I(0));
  std::int64_t k = 1;
  for (; k + together <= n; k += together) {
    const C* rows[together];
    for (int r = 0; r < together; ++r) rows[r] = load<T, C>(from + (k + r) * step, 1, wide, buffer[r]);
    against<largest>(rows, wide, static_cast<I>(k), best, at);
  }
  for (; k < n; ++k) {
    const C* rows[1] = {load<T, C>(from + k * step, 1, wide, buffer[0])};
    against<largest>(rows, wide, static_cast<I>(k), best, at);
  }
  std::copy(at, at + wide, out);
}

template <class T>
using compared_t =
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>,
                       compute_t<T>>;

template <bool largest>
void run(const KernelArgs& args) {
  const auto axis = static_cast<int>(args.attrs<AxisAttrs>().axis);
  const TensorRef &x = args.in[0], &y = args.out[0];
  const std::int64_t n = x.shape[axis], step = x.strides[axis];
  Shape kept = x.shape;
  Strides strides = x.strides;
  kept.erase(axis);
  strides.erase(axis);
  // The columns that lie next to each other, if the dimensions after the axis are one run.
  std::int64_t inner = 1;
  for (int i = kept.rank() - 1; i >= axis; --i)
    inner = strides[i] == inner || kept[i] == 1 ? inner * kept[i] : 0;
  std::int64_t* out = y.as<std::int64_t>();
  dispatch(x.dtype, [&]<class T>() {
    using C = compared_t<T>;
    if (inner >= 2 * lanes_of<C>) {
      const std::int64_t blocks = (inner + block - 1) / block;
      const std::int64_t grain = std::max<std::int64_t>(1, work_at_once / (n * std::min(block, inner)));
      parallel_for(*args.pool, y.count() / inner * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t first = i / blocks * inner + i % blocks * block;
          across<largest, T, C>(x.as<T>() + offset_at(kept, strides, first), step, n,
                                std::min(block, inner - i % blocks * block), out + first);
        }
      });
      return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, work_at_once / n);
    parallel_for(*args.pool, y.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        out[i] = along<largest, T, C>(x.as<T>() + offset_at(kept, strides, i), step, n);
      }
    });
  });
}

void run_argmax(const KernelArgs& args) { run<true>(args); }
void run_argmin(const KernelArgs& args) { run<false>(args); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {

TM_DISPATCHED_KERNEL(argmax, AxisAttrs, run_argmax, .strided = takes_any_strides);
TM_DISPATCHED_KERNEL(argmin, AxisAttrs, run_argmin, .strided = takes_any_strides);

}  // namespace tidemark
#endif  // HWY_ONCE
