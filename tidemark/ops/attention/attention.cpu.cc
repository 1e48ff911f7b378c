#include "tidemark/ops/attention/attention.h"

#include "tidemark/ops/attention/attention_cost.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/attention/attention.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/attention/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

using namespace attention_blocks;

// row = 2^(row - shift) in place for the `seen` first of n scores, 0 for the others; returns the sum. A shift
// of -inf means that nothing is visible: all zeros. Rows end at whole vectors.
template <class W>
W exponentiate(W* row, std::int64_t seen, std::int64_t n, W shift) {
  const rows::Tag<W> d;
  if (shift == -std::numeric_limits<W>::infinity()) seen = 0;
  const auto s = hn::Set(d, shift);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d);
  const auto term = [&](std::int64_t i)
                        HWY_ATTR { return rows::exp2_of_negative(d, hn::Sub(hn::LoadU(d, row + i), s)); };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= seen; i += 4 * lanes) {
    const auto p = term(i), q = term(i + lanes), u = term(i + 2 * lanes), v = term(i + 3 * lanes);
    hn::StoreU(p, d, row + i);
    hn::StoreU(q, d, row + i + lanes);
    hn::StoreU(u, d, row + i + 2 * lanes);
    hn::StoreU(v, d, row + i + 3 * lanes);
    a = hn::Add(a, hn::Add(p, q)), b = hn::Add(b, hn::Add(u, v));
  }
  for (; i < seen; i += lanes) {
    const auto p =
        hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, seen - i))), term(i));
    hn::StoreU(p, d, row + i);
    a = hn::Add(a, p);
  }
  for (; i < n; i += lanes) hn::StoreU(hn::Zero(d), d, row + i);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
}

// row *= factor(i), vector by vector; rows end at whole vectors.
template <class W, class F>
void multiply_row(W* row, std::int64_t n, const F& factor) {
  const rows::Tag<W> d;
  rows::map(d, static_cast<std::size_t>(n), row, [&](std::size_t i, std::size_t count) HWY_ATTR {
    return hn::Mul(rows::load(d, row + i, count), factor(i, count));
  });
}

// The running maximum and sum of a query's terms.
template <class W>
struct Running {
  W top = -std::numeric_limits<W>::infinity(), total = 0;
};

// The largest score of each of four whole rows.
template <class W>
HWY_INLINE void four_maxima(const W* scores, std::int64_t n, W* top) {
  const rows::Tag<W> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto lowest = hn::Set(d, -std::numeric_limits<W>::infinity());
  auto a = lowest, b = lowest, c = lowest, e = lowest;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    a = hn::Max(a, hn::LoadU(d, scores + i));
    b = hn::Max(b, hn::LoadU(d, scores + most_keys + i));
    c = hn::Max(c, hn::LoadU(d, scores + 2 * most_keys + i));
    e = hn::Max(e, hn::LoadU(d, scores + 3 * most_keys + i));
  }
  top[0] = hn::GetLane(hn::MaxOfLanes(d, a)), top[1] = hn::GetLane(hn::MaxOfLanes(d, b));
  top[2] = hn::GetLane(hn::MaxOfLanes(d, c)), top[3] = hn::GetLane(hn::MaxOfLanes(d, e));
  for (; i < n; ++i) {
    for (std::int64_t r = 0; r < 4; ++r) top[r] = std::max(top[r], scores[r * most_keys + i]);
  }
}

// Of a row without a largest score: NaN if there is one, which a maximum may pass over; else nothing is
// visible.
template <class W>
W nan_or_lowest(const W* row, std::int64_t seen) {
  for (std::int64_t i = 0; i < seen; ++i) {
    if (row[i] != row[i]) return row[i];
  }
  return -std::numeric_limits<W>::infinity();
}

// A block of scores becomes terms relative to the running maximum; what was summed before fades where that
// rises.
template <class W>
void take_in(const AttentionForm& form, const Block& at, W* scores, Running<W>* running, W* y,
             std::int64_t y_row) {
  const rows::Tag<W> d;
  W tops[most_queries];
  std::int64_t found = 0;
  if (at.whole) {
    for (; found + 4 <= at.m; found += 4) four_maxima(scores + found * most_keys, at.n, tops + found);
  }
  for (; found < at.m; ++found) {
    const W* row = scores + found * most_keys;
    tops[found] =
        rows::max(d, static_cast<std::size_t>(at.visible(form, found)),
                  [&](std::size_t c, std::size_t count) HWY_ATTR { return rows::load(d, row + c, count); });
  }
  for (std::int64_t r = 0; r < at.m; ++r) {
    if (tops[r] == -std::numeric_limits<W>::infinity())
      tops[r] = nan_or_lowest(scores + r * most_keys, at.visible(form, r));
    const W before = running[r].top, here = tops[r];
    const W top = here > before || here != here ? here : before;
    const W fade = before == top ? W{1} : std::exp2(before - top);  // 0 for the first block
    running[r] = {top, running[r].total * fade};
    if (fade != W{1}) {
      multiply_row(y + r * y_row, form.width,
                   [&](std::size_t, std::size_t) HWY_ATTR { return hn::Set(d, fade); });
    }
  }
  for (std::int64_t r = 0; r < at.m; ++r) {
    running[r].total += exponentiate(scores + r * most_keys, at.visible(form, r), at.n, running[r].top);
  }
}

// Drops terms that were summed already: the sum is that of all.
template <class W>
void drop(const AttentionForm& form, const Block& at, Keeper<W>& keeper, W* terms) {
  const rows::Tag<W> d;
  for (std::int64_t r = 0; r < at.m; ++r) {
    const std::int64_t seen = at.visible(form, r);
    const W* kept = keeper.row(form, at, r, seen);
    multiply_row(terms + r * most_keys, seen,
                 [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, kept + i, count); });
  }
}

// Queries [first, first + count) of head (b, h) against all keys. A block of keys is packed once for all of
// them.
template <class T>
void forward_span(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t h,
                  std::int64_t first, std::int64_t count, std::byte* memory) {
  using W = compute_t<T>;
  const std::int64_t kv = h / form.group(), width = form.width, block = form.query_block();
  const attention_lanes::Forward<W> lane(form, memory);
  Running<W> running[AttentionForm::blocks_in_span * most_queries];
  Keeper<W> keeper(form, args);
  W* y = lane.y;
  if constexpr (std::is_same_v<T, W>) y = args.out[0].as<W>() + offset(args.out[0], b, h, first);
  std::fill_n(y, count * width, W{0});
  const Factor<W> q =
      left_factor(rows_of<T>(args.in[0], b, h, first, count, lane.q), count, width, lane.q_panels);
  const W scale = static_cast<W>(form.scale * std::numbers::log2e);
  const std::int64_t end = form.visible(first + count - 1);
  for (std::int64_t j = 0; j < end; j += form.key_block()) {
    const std::int64_t n = std::min(form.key_block(), form.keys - j);
    const Factor<W> k_turned = right_factor(
        transposed(scaled_rows<T>(args.in[1], b, kv, j, n, scale, lane.k)), width, n, lane.k_panels);
    const Factor<W> v = right_factor(rows_of<T>(args.in[2], b, kv, j, n, lane.v), n, width, lane.v_panels);
    for (std::int64_t i = 0; i < count; i += block) {
      const Block at(form, b, h, first + i, j, std::min(block, count - i), n);
      if (form.visible(at.i + at.m - 1) <= j) continue;
      score(form, at, i, q, k_turned, lane.scores);
      hide(form, args, at, lane.scores);
      take_in(form, at, lane.scores, running + i, y + i * width, width);
      if (form.key >= 0) drop(form, at, keeper, lane.scores);
      add_product(form, at, lane.scores, v, lane.p_panels, y + i * width, width);
    }
  }
  write_rows<T>(y, args.out[0], b, h, first, count,
                [&](std::int64_t r) { return running[r].total == 0 ? W{0} : 1 / running[r].total; });
  W* logsumexp = args.out[1].as<W>() + (b * form.heads + h) * form.queries + first;
  for (std::int64_t r = 0; r < count; ++r)
    logsumexp[r] = running[r].top * static_cast<W>(std::numbers::ln2) + std::log(running[r].total);
}

void run_attention(const KernelArgs& args) {
  const auto& form = args.attrs<AttentionForm>();
  const std::int64_t span = form.query_span(), spans = form.query_spans();
  const attention_lanes::Lanes lanes = attention_lanes::forward_lanes(form, args.in[0].dtype);
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const std::int64_t tasks = form.batch * form.heads * spans;
    run_in_lanes(*args.pool, tasks, lanes.count, [&](std::int64_t task, std::int64_t lane) {
      const std::int64_t first = (spans - 1 - task % spans) * span,  // what sees most keys comes first
          head = task / spans;
      forward_span<T>(form, args, head / form.heads, head % form.heads, first,
                      std::min(span, form.queries - first), args.scratch + lane * lanes.bytes);
    });
  });
}

void run_attention_delta(const KernelArgs& args) {
  const std::int64_t width = args.in[0].shape[3], heads = args.in[0].shape[1], queries = args.in[0].shape[2];
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    using W = compute_t<T>;
    const rows::Tag<T> d;
    // What lies apart is gathered: the same sum.
    const auto load = [&](const T* row, std::int64_t step, std::size_t i, std::size_t count) HWY_ATTR {
      HWY_ALIGN W lanes[hn::MaxLanes(d)] = {};
      for (std::size_t k = 0; k < count; ++k)
        lanes[k] = static_cast<W>(row[static_cast<std::int64_t>(i + k) * step]);
      return hn::Load(d, lanes);
    };
    const TensorRef &y = args.in[0], &g = args.in[1];
    auto* out = args.out[0].as<W>();
    parallel_for(
        *args.pool, args.out[0].count(), row_grain(width),
        [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t head = r / queries, b = head / heads, h = head % heads;
            const T *y_row = y.as<T>() + offset(y, b, h, r % queries),
                    *g_row = g.as<T>() + offset(g, b, h, r % queries);
            if (y.strides[3] == 1 && g.strides[3] == 1) {
              out[r] = rows::sum(
                  d, static_cast<std::size_t>(width), [&](std::size_t i, std::size_t count) HWY_ATTR {
                    return hn::Mul(rows::load(d, y_row + i, count), rows::load(d, g_row + i, count));
                  });
            } else {
              out[r] = rows::sum(
                  d, static_cast<std::size_t>(width), [&](std::size_t i, std::size_t count) HWY_ATTR {
                    return hn::Mul(load(y_row, y.strides[3], i, count), load(g_row, g.strides[3], i, count));
                  });
            }
          }
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

std::int64_t scratch(const Call& call) {
  const auto lanes = attention_lanes::forward_lanes(attention_form(call), call.in[0].dtype);
  return lanes.count * lanes.bytes;
}

// Blocks are packed before they are multiplied where their strides ask for it.
bool strided(const Call&, int operand) { return operand < 3; }

Cost cost_delta(const Call& call) {
  return {.flops = 2 * static_cast<double>(call.in[0].count()), .bytes = bytes_moved(call)};
}

TM_DISPATCHED(run, run_attention)

}  // namespace

const CpuKernel cpu::attention =
    formed_kernel<attention_form>(run, {.cost = attention_cost<2>, .scratch = scratch, .strided = strided});
TM_DISPATCHED_KERNEL(attention_delta, NoAttrs, run_attention_delta, .cost = cost_delta,
                     .strided = takes_any_strides);

}  // namespace tidemark
#endif  // HWY_ONCE
