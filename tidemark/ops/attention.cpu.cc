#include "tidemark/ops/attention.h"

#include <numbers>

#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/attention.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using gemm::Matrix;

constexpr std::int64_t max_block = AttentionForm::max_block;
constexpr std::int64_t max_tile = AttentionForm::max_width;  // elements: block() rows of `width`
constexpr std::int64_t strip = 16;  // rows of a block on the diagonal that share one limit of what they see

// A task's working set lies on its stack.
template <class W>
struct Tile {
  alignas(64) W data[max_tile];
};
template <class W>
struct PanelTile {  // the last panel may be padded
  alignas(64) W data[2 * max_tile];
};
template <class W>
struct Square {
  alignas(64) W data[max_block * max_block];  // rows of max_block
};

std::int64_t offset(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t) {
  return b * x.strides[0] + h * x.strides[1] + t * x.strides[2];
}

// Rows [t, t + n) of head (b, h) where they lie, or widened and packed into `tile` where they cannot be multiplied so.
template <class T>
Matrix<const compute_t<T>> rows_of(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t,
                                   std::int64_t n, compute_t<T>* tile) {
  using W = compute_t<T>;
  const rows::Tag<T> d;
  const std::int64_t width = x.shape[3], step = x.strides[3];
  if constexpr (std::is_same_v<T, W>) {
    if (step == 1) return {x.as<T>() + offset(x, b, h, t), x.strides[2], 1};
  }
  for (std::int64_t r = 0; r < n; ++r) {
    const T* from = x.as<T>() + offset(x, b, h, t + r);
    W* to = tile + r * width;
    if (step == 1) {
      rows::map(d, static_cast<std::size_t>(width), to,
                [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, from + i, count); });
    } else {
      for (std::int64_t i = 0; i < width; ++i) to[i] = static_cast<W>(from[i * step]);
    }
  }
  return {tile, width, 1};
}

// The right factor of a product in panels of neighbouring columns, each a run of memory that the caches fetch ahead.
template <class W>
struct Panels {
  const W* data;
  std::int64_t depth, columns;  // of a panel
};

// A depth × n matrix of any strides as panels; of the width of packed products, or less where n is less.
template <class W>
Panels<W> panels_of(Matrix<const W> x, std::int64_t depth, std::int64_t n, W* tile) {
  const std::int64_t columns = std::min(gemm::widths<W>().b, n);
  for (std::int64_t c = 0; c < n; c += columns) {
    gemm::pack_rows(x.data + c * x.col, x.col, x.row, std::min(columns, n - c), depth, columns,
                    tile + c * depth);
  }
  return {tile, depth, columns};
}
template <class W>
Matrix<const W> transposed(Matrix<const W> x) {
  return {x.data, x.col, x.row};
}

// c = alpha · a b (+ c), over the first `depth` rows and `n` columns of b.
template <class W>
void multiply(std::int64_t m, std::int64_t n, std::int64_t depth, W alpha, Matrix<const W> a,
              const Panels<W>& b, bool add, W* c, std::int64_t c_row) {
  for (std::int64_t j = 0; j < n; j += b.columns) {
    gemm::multiply<W>(m, std::min(b.columns, n - j), depth, alpha, a, {b.data + j * b.depth, b.columns, 1},
                      add, c + j, c_row);
  }
}

// Writes n rows of a dense result, each times scale(row). `from` may be the result itself.
template <class T, class F>
void write_rows(const compute_t<T>* from, const TensorRef& y, std::int64_t b, std::int64_t h, std::int64_t t,
                std::int64_t n, const F& scale) {
  const rows::Tag<T> d;
  const std::int64_t width = y.shape[3];
  for (std::int64_t r = 0; r < n; ++r) {
    const auto factor = hn::Set(d, static_cast<compute_t<T>>(scale(r)));
    const auto* row = from + r * width;
    rows::map(d, static_cast<std::size_t>(width), y.as<T>() + offset(y, b, h, t + r),
              [&](std::size_t i, std::size_t count)
                  HWY_ATTR { return hn::Mul(rows::load(d, row + i, count), factor); });
  }
}

// One block of scores: queries [i, i + m) and keys [j, j + n) of query head h.
struct Block {
  std::int64_t b, h, i, j, m, n;
  bool whole;  // every query sees every key, but for the mask

  Block(const AttentionForm& form, std::int64_t b_, std::int64_t h_, std::int64_t i_, std::int64_t j_,
        std::int64_t m_, std::int64_t n_)
      : b(b_), h(h_), i(i_), j(j_), m(m_), n(n_), whole(form.visible(i_) >= j_ + n_) {}
  // How many of the block's keys query r of the block sees.
  std::int64_t visible(const AttentionForm& form, std::int64_t r) const {
    return std::clamp<std::int64_t>(form.visible(i + r) - j, 0, n);
  }
};

// Calls f(first row, rows, keys that some of them see) for strips of queries.
template <class F>
void for_each_query_strip(const AttentionForm& form, const Block& at, const F& f) {
  if (at.whole) return f(0, at.m, at.n);
  for (std::int64_t r = 0; r < at.m; r += strip) {
    const std::int64_t count = std::min(strip, at.m - r), seen = at.visible(form, r + count - 1);
    if (seen > 0) f(r, count, seen);
  }
}
// Calls f(first key, keys, first query that sees one of them) for strips of keys.
template <class F>
void for_each_key_strip(const AttentionForm& form, const Block& at, const F& f) {
  if (at.whole) return f(0, at.n, 0);
  for (std::int64_t c = 0; c < at.n; c += strip) {
    const std::int64_t from = std::clamp<std::int64_t>(at.j + c - (form.keys - form.queries) - at.i, 0, at.m);
    if (from < at.m) f(c, std::min(strip, at.n - c), from);
  }
}

// scores = alpha · a bᵀ where queries see keys, with bᵀ given.
template <class W>
void score(const AttentionForm& form, const Block& at, W alpha, Matrix<const W> a, const Panels<W>& b,
           W* scores) {
  for_each_query_strip(form, at, [&](std::int64_t r, std::int64_t m, std::int64_t n) {
    multiply(m, n, form.width, alpha, a.at(r, 0), b, false, scores + r * max_block, max_block);
  });
}
// y += alpha · p x, where p is zero beyond what a query sees.
template <class W>
void add_product(const AttentionForm& form, const Block& at, W alpha, const W* p, const Panels<W>& x, W* y,
                 std::int64_t y_row) {
  for_each_query_strip(form, at, [&](std::int64_t r, std::int64_t m, std::int64_t n) {
    multiply(m, form.width, n, alpha, Matrix<const W>{p + r * max_block, max_block, 1}, x, true,
             y + r * y_row, y_row);
  });
}
// y += alpha · pᵀ x. Whole blocks go through packed panels of p, which lies the wrong way round for rows.
template <class W>
void add_transposed_product(const AttentionForm& form, const Block& at, W alpha, const W* p,
                            Matrix<const W> x, W* y, PanelTile<W>& p_tile, PanelTile<W>& x_tile) {
  const gemm::Widths wide = gemm::widths<W>();
  if (at.whole && form.width >= wide.b) {
    for (std::int64_t c = 0; c < at.n; c += wide.a) {
      gemm::pack_rows(p + c, 1, max_block, std::min(wide.a, at.n - c), at.m, wide.a, p_tile.data + c * at.m);
    }
    const Panels<W> panels = panels_of(x, at.m, form.width, x_tile.data);
    gemm::multiply_packed<W>(at.n, form.width, at.m, alpha, p_tile.data, panels.data, true, y, form.width);
    return;
  }
  for_each_key_strip(form, at, [&](std::int64_t c, std::int64_t n, std::int64_t from) {
    gemm::multiply<W>(n, form.width, at.m - from, alpha, {p + from * max_block + c, 1, max_block},
                      x.at(from, 0), true, y + c * form.width, form.width);
  });
}

// Puts -inf where the mask forbids.
template <class W>
void hide(const AttentionForm& form, const TensorRef& mask, const Block& at, W* scores) {
  const int rank = mask.shape.rank();
  for (std::int64_t r = 0; r < at.m; ++r) {
    const std::int64_t place[] = {at.b, at.h, at.i + r, at.j};
    const bool* p = mask.as<bool>();
    for (int k = 1; k <= rank; ++k) {
      if (mask.shape[rank - k] != 1) p += place[4 - k] * mask.strides[rank - k];
    }
    const std::int64_t step = rank > 0 && mask.shape[rank - 1] != 1 ? mask.strides[rank - 1] : 0;
    const std::int64_t seen = at.visible(form, r);
    for (std::int64_t c = 0; c < seen; ++c) {
      if (!p[c * step]) scores[r * max_block + c] = -std::numeric_limits<W>::infinity();
    }
  }
}

// row = 2^(row - shift) in place for the `seen` first of n scores, 0 for the others; returns the sum. A shift of -inf means
// that nothing is visible: all zeros. Rows end at whole vectors.
template <class W>
W exponentiate(W* row, std::int64_t seen, std::int64_t n, W shift) {
  const rows::Tag<W> d;
  if (shift == -std::numeric_limits<W>::infinity()) seen = 0;
  const auto s = hn::Set(d, shift);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  const auto term = [&](std::int64_t i)
                        HWY_ATTR { return rows::exp2_of_negative(d, hn::Sub(hn::LoadU(d, row + i), s)); };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= seen; i += 4 * lanes) {
    const auto p = term(i), q = term(i + lanes), u = term(i + 2 * lanes), v = term(i + 3 * lanes);
    hn::StoreU(p, d, row + i);
    hn::StoreU(q, d, row + i + lanes);
    hn::StoreU(u, d, row + i + 2 * lanes);
    hn::StoreU(v, d, row + i + 3 * lanes);
    a = hn::Add(a, p), b = hn::Add(b, q), c = hn::Add(c, u), e = hn::Add(e, v);
  }
  for (; i < seen; i += lanes) {
    const auto p =
        hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, seen - i))), term(i));
    hn::StoreU(p, d, row + i);
    a = hn::Add(a, p);
  }
  for (; i < n; i += lanes) hn::StoreU(hn::Zero(d), d, row + i);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

// y *= factor, a row.
template <class W>
void scale_row(W* y, std::int64_t n, W factor) {
  const rows::Tag<W> d;
  const auto f = hn::Set(d, factor);
  rows::map(d, static_cast<std::size_t>(n), y, [&](std::size_t i, std::size_t count) HWY_ATTR {
    return hn::Mul(rows::load(d, y + i, count), f);
  });
}

// Scores are kept in units of log 2, which saves the exponential a product.
template <class W>
constexpr W log2_e = static_cast<W>(std::numbers::log2e);

// The running maximum and sum of a query's terms.
template <class W>
struct Running {
  W top = -std::numeric_limits<W>::infinity(), total = 0;
};

// A block of scores becomes terms relative to the running maximum; what was summed before fades where that rises.
template <class W>
void take_in(const AttentionForm& form, const Block& at, W* scores, Running<W>* running, W* y,
             std::int64_t y_row) {
  const rows::Tag<W> d;
  for (std::int64_t r = 0; r < at.m; ++r) {
    W* row = scores + r * max_block;
    const std::int64_t seen = at.whole ? at.n : at.visible(form, r);
    const W before = running[r].top;
    const W here =
        rows::max(d, static_cast<std::size_t>(seen),
                  [&](std::size_t c, std::size_t count) HWY_ATTR { return rows::load(d, row + c, count); });
    const W top = here > before || here != here ? here : before;
    const W sum = exponentiate(row, seen, at.n, top);
    const W fade = before == top ? W{1} : std::exp2(before - top);  // 0 for the first block
    running[r] = {top, running[r].total * fade + sum};
    if (fade != W{1}) scale_row(y + r * y_row, form.width, fade);
  }
}

// Queries [first, first + count) of head (b, h) against all keys. A block of keys is transposed once for all of them.
template <class T>
void forward_span(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t h,
                  std::int64_t first, std::int64_t count) {
  using W = compute_t<T>;
  constexpr std::int64_t span = AttentionForm::blocks_in_span;
  const std::int64_t kv = h / form.group(), width = form.width, block = form.block();
  Tile<W> q_tiles[span], y_tiles[span], k_tile, v_tile;
  PanelTile<W> k_panels, v_panel_tile;
  Square<W> scores;
  Running<W> running[span * max_block];
  W* y = y_tiles[0].data;
  if constexpr (std::is_same_v<T, W>) y = args.out[0].as<W>() + offset(args.out[0], b, h, first);
  std::fill_n(y, count * width, W{0});
  const Matrix<const W> q = rows_of<T>(args.in[0], b, h, first, count, q_tiles[0].data);
  for (std::int64_t j = 0; j < form.visible(first + count - 1); j += block) {
    const std::int64_t n = std::min(block, form.keys - j);
    const Matrix<const W> k = rows_of<T>(args.in[1], b, kv, j, n, k_tile.data),
                          v = rows_of<T>(args.in[2], b, kv, j, n, v_tile.data);
    const Panels<W> k_turned = panels_of(transposed(k), width, n, k_panels.data),
                    v_panels = panels_of(v, n, width, v_panel_tile.data);
    for (std::int64_t i = 0; i < count; i += block) {
      const Block at(form, b, h, first + i, j, std::min(block, count - i), n);
      if (form.visible(at.i + at.m - 1) <= j) continue;
      score(form, at, static_cast<W>(form.scale * std::numbers::log2e), q.at(i, 0), k_turned, scores.data);
      if (args.in.size() > 3) hide(form, args.in[3], at, scores.data);
      take_in(form, at, scores.data, running + i, y + i * width, width);
      add_product(form, at, W{1}, scores.data, v_panels, y + i * width, width);
    }
  }
  write_rows<T>(y, args.out[0], b, h, first, count,
                [&](std::int64_t r) { return running[r].total == 0 ? W{0} : 1 / running[r].total; });
  W* logsumexp = args.out[1].as<W>() + (b * form.heads + h) * form.queries + first;
  for (std::int64_t r = 0; r < count; ++r)
    logsumexp[r] = running[r].top * static_cast<W>(std::numbers::ln2) + std::log(running[r].total);
}

// p = 2^scores / e^logsumexp and ds = p (dp - delta), in place of the scores and of dp; both 0 where nothing is seen.
template <class W>
void block_slopes(const AttentionForm& form, const KernelArgs& args, const Block& at, W* p, W* ds) {
  const rows::Tag<W> d;
  const std::int64_t start = (at.b * form.heads + at.h) * form.queries + at.i;
  const W *logsumexp = args.in[3].as<W>() + start, *delta = args.in[4].as<W>() + start;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < at.m; ++r) {
    W *p_row = p + r * max_block, *ds_row = ds + r * max_block;
    std::int64_t seen = at.whole ? at.n : at.visible(form, r);
    if (logsumexp[r] == -std::numeric_limits<W>::infinity()) seen = 0;
    const auto shift = hn::Set(d, logsumexp[r] * log2_e<W>), base = hn::Set(d, delta[r]);
    const auto probability = [&](std::int64_t i) HWY_ATTR {
      return rows::exp2_of_negative(d, hn::Sub(hn::LoadU(d, p_row + i), shift));
    };
    const auto finish = [&](std::int64_t i, hn::Vec<rows::Tag<W>> term) HWY_ATTR {
      hn::StoreU(term, d, p_row + i);
      hn::StoreU(hn::Mul(term, hn::Sub(hn::LoadU(d, ds_row + i), base)), d, ds_row + i);
    };
    std::int64_t i = 0;
    for (; i + 4 * lanes <= seen; i += 4 * lanes) {
      const auto a = probability(i), b = probability(i + lanes), c = probability(i + 2 * lanes),
                 e = probability(i + 3 * lanes);
      finish(i, a);
      finish(i + lanes, b);
      finish(i + 2 * lanes, c);
      finish(i + 3 * lanes, e);
    }
    for (; i + lanes <= seen; i += lanes) finish(i, probability(i));
    if (i < seen) {
      const auto some = hn::FirstN(d, static_cast<std::size_t>(seen - i));
      const auto term = hn::IfThenElseZero(some, probability(i));
      const auto slope = hn::IfThenElseZero(some, hn::Mul(term, hn::Sub(hn::LoadU(d, ds_row + i), base)));
      hn::StoreU(term, d, p_row + i);
      hn::StoreU(slope, d, ds_row + i);
      i += lanes;
    }
    for (; i < at.n; i += lanes) {
      hn::StoreU(hn::Zero(d), d, p_row + i);
      hn::StoreU(hn::Zero(d), d, ds_row + i);
    }
  }
}

// All that blocks of keys [begin, end) of key head (b, kv) give: their own gradients, and their part of the gradients of the
// queries that share them, which is added up in `dq` (rows of `width`, from query head 0 of batch 0 on).
template <class T>
void gradient_of_keys(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t kv,
                      std::int64_t begin, std::int64_t end, compute_t<T>* dq) {
  using W = compute_t<T>;
  const std::int64_t width = form.width, block = form.block(), head = kv * form.group();
  const W scale = static_cast<W>(form.scale);
  Tile<W> q_tile, g_tile, k_tile, v_tile, dk, dv;
  PanelTile<W> k_turned_tile, v_turned_tile, k_panel_tile, p_panels, x_panels;
  Square<W> p, ds;
  dq += (b * form.heads + head) * form.queries * width;
  std::fill_n(dq, form.group() * form.queries * width, W{0});
  for (std::int64_t j = begin; j < end; j += block) {
    const std::int64_t n = std::min(block, end - j);
    const Matrix<const W> k = rows_of<T>(args.in[1], b, kv, j, n, k_tile.data),
                          v = rows_of<T>(args.in[2], b, kv, j, n, v_tile.data);
    const Panels<W> k_turned = panels_of(transposed(k), width, n, k_turned_tile.data),
                    v_turned = panels_of(transposed(v), width, n, v_turned_tile.data),
                    k_panels = panels_of(k, n, width, k_panel_tile.data);
    std::fill_n(dk.data, n * width, W{0});
    std::fill_n(dv.data, n * width, W{0});
    for (std::int64_t h = head; h < head + form.group(); ++h) {
      for (std::int64_t i = 0; i < form.queries; i += block) {
        const Block at(form, b, h, i, j, std::min(block, form.queries - i), n);
        if (form.visible(i + at.m - 1) <= j) continue;  // no query of the block sees these keys
        const Matrix<const W> q = rows_of<T>(args.in[0], b, h, i, at.m, q_tile.data),
                              g = rows_of<T>(args.in[5], b, h, i, at.m, g_tile.data);
        score(form, at, scale * log2_e<W>, q, k_turned, p.data);
        if (args.in.size() > 6) hide(form, args.in[6], at, p.data);
        score(form, at, W{1}, g, v_turned, ds.data);
        block_slopes(form, args, at, p.data, ds.data);
        add_transposed_product(form, at, W{1}, p.data, g, dv.data, p_panels, x_panels);
        add_transposed_product(form, at, scale, ds.data, q, dk.data, p_panels, x_panels);
        add_product(form, at, scale, ds.data, k_panels, dq + ((h - head) * form.queries + i) * width, width);
      }
    }
    write_rows<T>(dk.data, args.out[1], b, kv, j, n, [](std::int64_t) { return 1; });
    write_rows<T>(dv.data, args.out[2], b, kv, j, n, [](std::int64_t) { return 1; });
  }
}

void run_attention(const KernelArgs& args) {
  const auto& form = args.attrs<AttentionForm>();
  const std::int64_t span = form.block() * AttentionForm::blocks_in_span,
                     spans = (form.queries + span - 1) / span;
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    args.pool->run(form.batch * form.heads * spans, [&](std::int64_t task) {
      const std::int64_t first = (spans - 1 - task % spans) * span,  // what sees most keys comes first
          head = task / spans;
      forward_span<T>(form, args, head / form.heads, head % form.heads, first,
                      std::min(span, form.queries - first));
    });
  });
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

void run_attention_delta(const KernelArgs& args) {
  const std::int64_t width = args.in[0].shape[3];
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const rows::Tag<T> d;
    const T *y = args.in[0].as<T>(), *g = args.in[1].as<T>();
    auto* out = args.out[0].as<compute_t<T>>();
    parallel_for(*args.pool, args.out[0].count(), row_grain(width),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   for (std::int64_t r = begin; r < end; ++r) {
                     out[r] = rows::sum(d, static_cast<std::size_t>(width),
                                        [&](std::size_t i, std::size_t count) HWY_ATTR {
                                          return hn::Mul(rows::load(d, y + r * width + i, count),
                                                         rows::load(d, g + r * width + i, count));
                                        });
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
HWY_EXPORT(run_attention);
HWY_EXPORT(run_attention_grad);
HWY_EXPORT(run_attention_delta);

namespace {
constexpr CpuKernel with_form(void (*run)(const KernelArgs&)) {
  return {run, [](const Call& call) -> std::shared_ptr<const void> {
            return std::make_shared<const AttentionForm>(attention_form(call));
          }};
}
}  // namespace

const CpuKernel cpu::attention = with_form([](const KernelArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_attention)
  (args);
});
const CpuKernel cpu::attention_grad = with_form([](const KernelArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_attention_grad)
  (args);
});
const CpuKernel cpu::attention_delta = cpu_kernel<NoAttrs>([](const KernelArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_attention_delta)
  (args);
});
}  // namespace tidemark
#endif  // HWY_ONCE
