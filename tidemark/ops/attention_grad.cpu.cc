#include "tidemark/ops/attention.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/attention_grad.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/attention_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

using namespace attention_blocks;

// A block's probabilities or slopes with keys along the rows, in panels of left factors: `depth` queries each.
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

// p = 2^scores / e^logsumexp and ds = p (dp - delta), both 0 where nothing is seen; ds in place of dp, too. What dropout
// keeps of p and dp takes their place.
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

// All that blocks of keys [begin, end) of key head (b, kv) give: their own gradients, and their part of the gradients of the
// queries that share them, which is added up in `dq` (rows of `width`, from query head 0 of batch 0 on).
template <class T>
void gradient_of_keys(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t kv,
                      std::int64_t begin, std::int64_t end, compute_t<T>* dq) {
  using W = compute_t<T>;
  const std::int64_t width = form.width, head = kv * form.group();
  const W scale = static_cast<W>(form.scale), log_scale = static_cast<W>(form.scale * std::numbers::log2e);
  Tile<W> q_tile, g_tile, k_log_tile, k_tile, v_tile, dk, dv;
  PanelTile<W> q_left_tile, g_left_tile, q_right_tile, g_right_tile, k_turned_tile, v_turned_tile,
      k_right_tile;
  Scores<W> scores, ds;
  TurnedScores<W> p_panels, ds_panels, ds_left_tile;
  Keeper<W> keeper(form, args);
  dq += (b * form.heads + head) * form.queries * width;
  std::fill_n(dq, form.group() * form.queries * width, W{0});
  for (std::int64_t j = begin; j < end; j += form.key_block()) {
    const std::int64_t n = std::min(form.key_block(), end - j);
    const Matrix<const W> k_log = scaled_rows<T>(args.in[1], b, kv, j, n, log_scale, k_log_tile.data),
                          k = scaled_rows<T>(args.in[1], b, kv, j, n, scale, k_tile.data),
                          v = rows_of<T>(args.in[2], b, kv, j, n, v_tile.data);
    const Factor<W> k_turned = right_factor(transposed(k_log), width, n, k_turned_tile.data),
                    v_turned = right_factor(transposed(v), width, n, v_turned_tile.data),
                    k_right = right_factor(k, n, width, k_right_tile.data);
    std::fill_n(dk.data, n * width, W{0});
    std::fill_n(dv.data, n * width, W{0});
    for (std::int64_t h = head; h < head + form.group(); ++h) {
      for (std::int64_t i = 0; i < form.queries; i += form.query_block()) {
        const Block at(form, b, h, i, j, std::min(form.query_block(), form.queries - i), n);
        if (form.visible(i + at.m - 1) <= j) continue;  // no query of the block sees these keys
        const Matrix<const W> q = rows_of<T>(args.in[0], b, h, i, at.m, q_tile.data),
                              g = rows_of<T>(args.in[5], b, h, i, at.m, g_tile.data);
        const Factor<W> q_right = right_factor(q, at.m, width, q_right_tile.data),
                        g_right = right_factor(g, at.m, width, g_right_tile.data);
        score(form, at, 0, left_factor(q, at.m, width, q_left_tile.data), k_turned, scores.data);
        hide(form, args, at, scores.data);
        score(form, at, 0, left_factor(g, at.m, width, g_left_tile.data), v_turned, ds.data);
        const Turned<W> p_turned{p_panels.data, at.m, gemm::widths<W>().a},
            ds_turned{ds_panels.data, at.m, gemm::widths<W>().a};
        (form.key < 0 ? block_slopes<W, false> : block_slopes<W, true>)(form, args, at, keeper, scores.data,
                                                                        ds.data, p_turned, ds_turned);
        for_each_key_strip(form, at, [&](std::int64_t c, std::int64_t keys, std::int64_t from) {
          multiply(c, keys, width, from, at.m, p_turned.factor(), g_right, true, dv.data + c * width, width);
          multiply(c, keys, width, from, at.m, ds_turned.factor(), q_right, true, dk.data + c * width, width);
        });
        add_product(form, at, ds.data, k_right, ds_left_tile, dq + ((h - head) * form.queries + i) * width,
                    width);
      }
    }
    write_rows<T>(dk.data, args.out[1], b, kv, j, n, [&](std::int64_t) { return scale; });
    write_rows<T>(dv.data, args.out[2], b, kv, j, n, [](std::int64_t) { return 1; });
  }
}

void run_attention_grad(const KernelArgs& args) {
  const auto& form = args.attrs<AttentionForm>();
  const std::int64_t parts = form.key_parts(), part = form.key_part(), count = args.out[0].count();
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    using W = compute_t<T>;
    W* sums =
        form.sums_queries_apart(args.out[0].dtype) ? reinterpret_cast<W*>(args.scratch) : args.out[0].as<W>();
    args.pool->run(form.batch * form.kv_heads * parts, [&](std::int64_t task) {
      const std::int64_t begin = task % parts * part, head = task / parts;
      gradient_of_keys<T>(form, args, head / form.kv_heads, head % form.kv_heads, begin,
                          std::min(form.keys, begin + part), sums + task % parts * count);
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
HWY_EXPORT(run_attention_grad);

const CpuKernel cpu::attention_grad = {[](const KernelArgs& args) {
                                         HWY_DYNAMIC_DISPATCH(run_attention_grad)
                                         (args);
                                       },
                                       [](const Call& call) -> std::shared_ptr<const void> {
                                         return std::make_shared<const AttentionForm>(attention_form(call));
                                       }};
}  // namespace tidemark
#endif  // HWY_ONCE
