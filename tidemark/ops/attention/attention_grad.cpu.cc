#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/attention/attention_cost.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/attention/attention_grad.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/attention/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

using namespace attention_blocks;

// A block's probabilities or slopes with keys along the rows, in panels of left factors: `depth` queries
// each.
template <class W>
struct Turned {
  W* panels;
  std::int64_t depth, width;

  // The vector at query r, keys [c, c + lanes).
  HWY_INLINE void store(std::int64_t r, std::int64_t c, hn::Vec<rows::Tag<W>> v) const {
    const rows::Tag<W> d;
    constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
    if constexpr (lanes <= 4) {                  // no machine's panels are narrower
      const std::int64_t low = c & (width - 1);  // widths are powers of two
      hn::StoreU(v, d, panels + (c - low) * depth + r * width + low);
    } else {
      alignas(64) W values[lanes];
      hn::Store(v, d, values);
      for (std::int64_t k = 0; k < lanes; k += width) {
        std::copy_n(values + k, width, panels + (c + k) * depth + r * width);
      }
    }
  }
  Factor<W> factor() const { return {{}, panels, depth}; }
};

// p = 2^scores / e^logsumexp and ds = p (dp - delta), both 0 where nothing is seen; ds in place of dp, too.
// What dropout keeps of p and dp takes their place.
template <class W, bool dropped>
void block_slopes(const AttentionForm& form, const KernelArgs& args, const Block& at, Keeper<W>& keeper,
                  const W* scores, W* ds, const Turned<W>& p_turned, const Turned<W>& ds_turned) {
  const rows::Tag<W> d;
  const std::int64_t start = (at.b * form.heads + at.h) * form.queries + at.i;
  const W *logsumexp = args.in[3].as<W>() + start, *delta = args.in[4].as<W>() + start;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < at.m; ++r) {
    const W* row = scores + r * most_keys;
    W* ds_row = ds + r * most_keys;
    std::int64_t seen = at.visible(form, r);
    if (logsumexp[r] == -std::numeric_limits<W>::infinity()) seen = 0;
    const auto shift = hn::Set(d, logsumexp[r] * log2_e<W>), base = hn::Set(d, delta[r]);
    const W* kept = nullptr;
    if constexpr (dropped) kept = keeper.row(form, at, r, seen);
    const auto probability = [&](std::int64_t i) HWY_ATTR {
      return rows::exp2_of_negative(d, hn::Sub(hn::LoadU(d, row + i), shift));
    };
    const auto finish = [&](std::int64_t i, hn::Vec<rows::Tag<W>> p, auto some) HWY_ATTR {
      auto dp = hn::LoadU(d, ds_row + i), share = p;
      if constexpr (dropped) {
        const auto factor = hn::LoadU(d, kept + i);
        dp = hn::Mul(dp, factor), share = hn::Mul(p, factor);
      }
      const auto slope = some(hn::Mul(p, hn::Sub(dp, base)));
      hn::StoreU(slope, d, ds_row + i);
      ds_turned.store(r, i, slope);
      p_turned.store(r, i, some(share));
    };
    const auto all = [](auto v) HWY_ATTR { return v; };
    std::int64_t i = 0;
    for (; i + 4 * lanes <= seen; i += 4 * lanes) {
      const auto a = probability(i), b = probability(i + lanes), c = probability(i + 2 * lanes),
                 e = probability(i + 3 * lanes);
      finish(i, a, all);
      finish(i + lanes, b, all);
      finish(i + 2 * lanes, c, all);
      finish(i + 3 * lanes, e, all);
    }
    for (; i + lanes <= seen; i += lanes) finish(i, probability(i), all);
    if (i < seen) {
      const auto first = hn::FirstN(d, static_cast<std::size_t>(seen - i));
      finish(i, probability(i), [&](auto v) HWY_ATTR { return hn::IfThenElseZero(first, v); });
      i += lanes;
    }
    for (; i < at.n; i += lanes) {
      hn::StoreU(hn::Zero(d), d, ds_row + i);
      ds_turned.store(r, i, hn::Zero(d));
      p_turned.store(r, i, hn::Zero(d));
    }
  }
}

// A block of keys with its factors, packed once for all queries, and its gradients.
template <class T>
struct KeyBlock {
  using W = compute_t<T>;
  std::int64_t j, n;
  Factor<W> k_turned, v_turned, k_right;  // k in units of log 2, v, k; the k times the scale
  W *dk, *dv;

  explicit KeyBlock(const attention_lanes::GradientKeys<W>& memory)
      : dk(memory.dk), dv(memory.dv), memory_(memory) {}
  void load(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t kv,
            std::int64_t begin, std::int64_t count) {
    j = begin, n = count;
    const std::int64_t width = form.width;
    const auto k_log = scaled_rows<T>(args.in[1], b, kv, j, n,
                                      static_cast<W>(form.scale * std::numbers::log2e), memory_.k_log),
               k = scaled_rows<T>(args.in[1], b, kv, j, n, static_cast<W>(form.scale), memory_.k),
               v = rows_of<T>(args.in[2], b, kv, j, n, memory_.v);
    k_turned = right_factor(transposed(k_log), width, n, memory_.k_turned);
    v_turned = right_factor(transposed(v), width, n, memory_.v_turned);
    k_right = right_factor(k, n, width, memory_.k_right);
    std::fill_n(dk, n * width, W{0});
    std::fill_n(dv, n * width, W{0});
  }

 private:
  const attention_lanes::GradientKeys<W>& memory_;
};

// A block of queries and of the gradients of their results.
template <class T>
struct QueryBlock {
  using W = compute_t<T>;
  Factor<W> q_left, g_left, q_right, g_right;

  explicit QueryBlock(const attention_lanes::GradientQueries<W>& memory) : memory_(memory) {}
  void load(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t h, std::int64_t i,
            std::int64_t m) {
    const auto q = rows_of<T>(args.in[0], b, h, i, m, memory_.q),
               g = rows_of<T>(args.in[5], b, h, i, m, memory_.g);
    q_left = left_factor(q, m, form.width, memory_.q_left);
    g_left = left_factor(g, m, form.width, memory_.g_left);
    q_right = right_factor(q, m, form.width, memory_.q_right);
    g_right = right_factor(g, m, form.width, memory_.g_right);
  }

 private:
  const attention_lanes::GradientQueries<W>& memory_;
};

// Adds what a block of scores gives: to the gradients of its keys, and to those of its queries, the rows at
// `dq`.
template <class T>
void add_block(const AttentionForm& form, const KernelArgs& args, const Block& at,
               const QueryBlock<T>& queries, KeyBlock<T>& keys, Keeper<compute_t<T>>& keeper,
               const attention_lanes::GradientScores<compute_t<T>>& slopes, compute_t<T>* dq) {
  using W = compute_t<T>;
  score(form, at, 0, queries.q_left, keys.k_turned, slopes.scores);
  hide(form, args, at, slopes.scores);
  score(form, at, 0, queries.g_left, keys.v_turned, slopes.ds);
  const std::int64_t panel = gemm::widths<W>().a, width = form.width;
  const Turned<W> p{slopes.p_panels, at.m, panel}, ds{slopes.ds_panels, at.m, panel};
  (form.key < 0 ? block_slopes<W, false> : block_slopes<W, true>)(form, args, at, keeper, slopes.scores,
                                                                  slopes.ds, p, ds);
  for_each_key_strip(form, at, [&](std::int64_t c, std::int64_t n, std::int64_t from) {
    multiply(c, n, width, from, at.m, p.factor(), queries.g_right, true, keys.dv + c * width, width);
    multiply(c, n, width, from, at.m, ds.factor(), queries.q_right, true, keys.dk + c * width, width);
  });
  add_product(form, at, slopes.ds, keys.k_right, slopes.ds_left, dq, width);
}

// All that keys [begin, end) of key head (b, kv) give: their own gradients, and their part of the gradients
// of the queries that share them, which is added up in `dq` (rows of `width`, from query head 0 of batch 0
// on). A block of queries is packed once for a few blocks of keys.
template <class T>
void gradient_of_keys(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t kv,
                      std::int64_t begin, std::int64_t end, compute_t<T>* dq, std::byte* memory) {
  using W = compute_t<T>;
  const std::int64_t width = form.width, head = kv * form.group();
  const attention_lanes::Gradient<W> lane(form, memory);
  constexpr std::int64_t few = attention_lanes::Gradient<W>::few;
  KeyBlock<T> keys[few] = {KeyBlock<T>(lane.keys[0]), KeyBlock<T>(lane.keys[1])};
  QueryBlock<T> queries(lane.queries);
  Keeper<W> keeper(form, args);
  dq += (b * form.heads + head) * form.queries * width;
  std::fill_n(dq, form.group() * form.queries * width, W{0});
  for (std::int64_t j = begin; j < end; j += few * form.key_block()) {
    std::int64_t blocks = 0;
    for (std::int64_t at = j; at < end && blocks < few; at += form.key_block()) {
      keys[blocks++].load(form, args, b, kv, at, std::min(form.key_block(), end - at));
    }
    for (std::int64_t h = head; h < head + form.group(); ++h) {
      for (std::int64_t i = 0; i < form.queries; i += form.query_block()) {
        const std::int64_t m = std::min(form.query_block(), form.queries - i), seen = form.visible(i + m - 1);
        if (seen <= j) continue;  // no query of the block sees these keys
        queries.load(form, args, b, h, i, m);
        for (std::int64_t k = 0; k < blocks && keys[k].j < seen; ++k) {
          add_block(form, args, Block(form, b, h, i, keys[k].j, m, keys[k].n), queries, keys[k], keeper,
                    lane.scores, dq + ((h - head) * form.queries + i) * width);
        }
      }
    }
    for (std::int64_t k = 0; k < blocks; ++k) {
      write_rows<T>(keys[k].dk, args.out[1], b, kv, keys[k].j, keys[k].n,
                    [&](std::int64_t) { return static_cast<W>(form.scale); });
      write_rows<T>(keys[k].dv, args.out[2], b, kv, keys[k].j, keys[k].n, [](std::int64_t) { return 1; });
    }
  }
}

void run_attention_grad(const KernelArgs& args) {
  const auto& form = args.attrs<AttentionForm>();
  const std::int64_t parts = form.key_parts(), part = form.key_part(), count = args.out[0].count();
  const attention_lanes::Lanes lanes = attention_lanes::gradient_lanes(form, args.in[0].dtype);
  std::byte* const memory = args.scratch + form.query_sums_bytes(args.out[0].dtype);
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    using W = compute_t<T>;
    W* sums =
        form.sums_queries_apart(args.out[0].dtype) ? reinterpret_cast<W*>(args.scratch) : args.out[0].as<W>();
    const std::int64_t tasks = form.batch * form.kv_heads * parts;
    run_in_lanes(*args.pool, tasks, lanes.count, [&](std::int64_t task, std::int64_t lane) {
      const std::int64_t begin = task % parts * part, head = task / parts;
      gradient_of_keys<T>(form, args, head / form.kv_heads, head % form.kv_heads, begin,
                          std::min(form.keys, begin + part), sums + task % parts * count,
                          memory + lane * lanes.bytes);
    });
    if (sums == reinterpret_cast<W*>(args.out[0].data)) return;
    const rows::Tag<T> d;
    T* out = args.out[0].as<T>();
    parallel_for(*args.pool, count, 16384, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      rows::map(d, static_cast<std::size_t>(end - begin), out + begin,
                [&](std::size_t i, std::size_t some) HWY_ATTR {
                  auto sum = rows::load(d, sums + begin + static_cast<std::int64_t>(i), some);
                  for (std::int64_t k = 1; k < parts; ++k) {
                    sum = hn::Add(
                        sum, rows::load(d, sums + k * count + begin + static_cast<std::int64_t>(i), some));
                  }
                  return sum;
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

std::int64_t scratch(const Call& call) {
  const AttentionForm f = attention_form(call);
  const auto lanes = attention_lanes::gradient_lanes(f, call.in[0].dtype);
  return f.query_sums_bytes(call.in[0].dtype) + lanes.count * lanes.bytes;
}

bool strided(const Call&, int operand) { return operand < 3 || operand == 5; }

TM_DISPATCHED(run, run_attention_grad)

}  // namespace

const CpuKernel cpu::attention_grad =
    formed_kernel<attention_form>(run, {.cost = attention_cost<5>, .scratch = scratch, .strided = strided});

}  // namespace tidemark
#endif  // HWY_ONCE
