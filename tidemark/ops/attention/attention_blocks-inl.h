// What attention and its gradient share: blocks of scores, the products that make and use them, and what
// dropout keeps.
//
//             keys j … j + n
//            ┌──────────────┐     A block holds scores of up to 128 queries by 128 keys. On the diagonal of a causal call
//   queries  │▓▓▓▓░         │     only strips of 16 rows up to the last key that one of them sees are computed.
//   i … i+m  │▓▓▓▓▓▓▓▓░     │     Factors of products are packed into panels (kernel/gemm.h) once per use of their rows
//            └──────────────┘     as a block's side; heads too wide for that are read as they lie.
//
// Compiled once per Highway target; include it from a file that uses hwy/foreach_target.h.
#if defined(TIDEMARK_OPS_ATTENTION_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_ATTENTION_BLOCKS_INL_H_
#undef TIDEMARK_OPS_ATTENTION_BLOCKS_INL_H_
#else
#define TIDEMARK_OPS_ATTENTION_BLOCKS_INL_H_
#endif

#include <numbers>

#include "tidemark/kernel/args.h"
#include "tidemark/kernel/gemm.h"
#include "tidemark/kernel/simd_philox-inl.h"
#include "tidemark/ops/attention/attention_lanes.h"
#include "tidemark/ops/normalization/rows-inl.h"
#include "tidemark/ops/random/random.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace attention_blocks {

using gemm::Matrix;

using attention_lanes::widest_packed;
constexpr std::int64_t most_queries = AttentionForm::most_queries, most_keys = AttentionForm::most_keys;
constexpr std::int64_t strip = AttentionForm::strip;
static_assert(strip % gemm::widest.a == 0);

// Scores are kept in units of log 2, which saves the exponential a product.
template <class W>
constexpr W log2_e = static_cast<W>(std::numbers::log2e);

inline std::int64_t offset(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t) {
  return b * x.strides[0] + h * x.strides[1] + t * x.strides[2];
}

// Rows [t, t + n) of head (b, h), times `factor`, in `room`.
template <class T>
Matrix<const compute_t<T>> scaled_rows(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t,
                                       std::int64_t n, compute_t<T> factor, compute_t<T>* room) {
  using W = compute_t<T>;
  const rows::Tag<T> d;
  const std::int64_t width = x.shape[3], step = x.strides[3];
  const auto times = hn::Set(d, factor);
  for (std::int64_t r = 0; r < n; ++r) {
    const T* from = x.as<T>() + offset(x, b, h, t + r);
    W* to = room + r * width;
    if (step == 1) {
      rows::map(d, static_cast<std::size_t>(width), to, [&](std::size_t i, std::size_t count) HWY_ATTR {
        return hn::Mul(rows::load(d, from + i, count), times);
      });
    } else {
      for (std::int64_t i = 0; i < width; ++i) to[i] = static_cast<W>(from[i * step]) * factor;
    }
  }
  return {room, width, 1};
}
// The same rows where they lie, or in `room` where they cannot be multiplied so.
template <class T>
Matrix<const compute_t<T>> rows_of(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t,
                                   std::int64_t n, compute_t<T>* room) {
  using W = compute_t<T>;
  if constexpr (std::is_same_v<T, W>) {
    if (x.strides[3] == 1) return {x.as<T>() + offset(x, b, h, t), x.strides[2], 1};
  }
  return scaled_rows<T>(x, b, h, t, n, W{1}, room);
}

// A factor of products: in panels of `depth` where they were made, or else the matrix itself.
template <class W>
struct Factor {
  Matrix<const W> plain;
  const W* panels = nullptr;
  std::int64_t depth = 0;
};
template <class W>
Matrix<const W> transposed(Matrix<const W> x) {
  return {x.data, x.col, x.row};
}
// x, n × depth with panels along the n, as the left factor; xᵀ as the right factor where `width` is that of
// right panels.
template <class W>
const W* panels_of(Matrix<const W> x, std::int64_t n, std::int64_t depth, std::int64_t width, W* room) {
  for (std::int64_t c = 0; c < n; c += width) {
    gemm::pack_rows(x.data + c * x.row, x.row, x.col, std::min(width, n - c), depth, width, room + c * depth);
  }
  return room;
}
template <class W>
Factor<W> left_factor(Matrix<const W> x, std::int64_t m, std::int64_t depth, W* room) {
  if (depth > widest_packed) return {x, nullptr, depth};
  return {x, panels_of(x, m, depth, gemm::widths<W>().a, room), depth};
}
template <class W>
Factor<W> right_factor(Matrix<const W> x, std::int64_t depth, std::int64_t n, W* room) {
  if (std::max(depth, n) > widest_packed) return {x, nullptr, depth};
  return {x, panels_of(transposed(x), n, depth, gemm::widths<W>().b, room), depth};
}

// c = a b (+ c) for m rows of a from row `r` on, n columns of b, and steps [from, to) of the depth. `r`
// begins a panel.
template <class W>
void multiply(std::int64_t r, std::int64_t m, std::int64_t n, std::int64_t from, std::int64_t to,
              const Factor<W>& a, const Factor<W>& b, bool add, W* c, std::int64_t ld) {
  const gemm::Widths width = gemm::widths<W>();
  if (a.panels && b.panels && from == 0 && to == a.depth && to == b.depth) {
    return gemm::multiply_packed<W>(m, n, to, W{1}, a.panels + r * to, b.panels, add, c, ld);
  }
  const std::int64_t rows = a.panels ? width.a : m, columns = b.panels ? width.b : n;
  for (std::int64_t j = 0; j < n; j += columns) {
    const Matrix<const W> right =
        b.panels ? Matrix<const W>{b.panels + j * b.depth + from * width.b, width.b, 1} : b.plain.at(from, j);
    for (std::int64_t i = 0; i < m; i += rows) {
      const Matrix<const W> left =
          a.panels ? Matrix<const W>{a.panels + (r + i) * a.depth + from * width.a, 1, width.a}
                   : a.plain.at(r + i, from);
      gemm::multiply<W>(std::min(rows, m - i), std::min(columns, n - j), to - from, W{1}, left, right, add,
                        c + i * ld + j, ld);
    }
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
    return whole ? n : std::clamp<std::int64_t>(form.visible(i + r) - j, 0, n);
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

// scores = a b where queries see keys. `first` is the row of a where the block begins.
template <class W>
void score(const AttentionForm& form, const Block& at, std::int64_t first, const Factor<W>& a,
           const Factor<W>& b, W* scores) {
  for_each_query_strip(form, at, [&](std::int64_t r, std::int64_t m, std::int64_t n) {
    multiply(first + r, m, n, 0, form.width, a, b, false, scores + r * most_keys, most_keys);
  });
}
// y += p x, where p is zero beyond what a query sees.
template <class W>
void add_product(const AttentionForm& form, const Block& at, const W* p, const Factor<W>& x, W* room, W* y,
                 std::int64_t y_row) {
  const Matrix<const W> rows{p, most_keys, 1};
  const Factor<W> left = at.whole ? left_factor(rows, at.m, at.n, room) : Factor<W>{rows, nullptr, at.n};
  for_each_query_strip(form, at, [&](std::int64_t r, std::int64_t m, std::int64_t n) {
    multiply(r, m, form.width, 0, n, left, x, true, y + r * y_row, y_row);
  });
}

// Puts -inf where the mask forbids.
template <class W>
void hide(const AttentionForm& form, const KernelArgs& args, const Block& at, W* scores) {
  if (form.mask < 0) return;
  const TensorRef& mask = args.in[static_cast<std::size_t>(form.mask)];
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
      if (!p[c * step]) scores[r * most_keys + c] = -std::numeric_limits<W>::infinity();
    }
  }
}

// What dropout makes of the probabilities of a call: the bits of random_bernoulli over (B, Hq, Tq, Tk).
template <class W>
class Keeper {
 public:
  Keeper(const AttentionForm& form, const KernelArgs& args) {
    if (form.key < 0) return;
    philox_ = {
        static_cast<std::uint64_t>(*args.in[static_cast<std::size_t>(form.key)].template as<std::int64_t>())};
    draw_ = bernoulli_draw(1 - form.dropout);
    factor_ = static_cast<W>(1 / (1 - form.dropout));
  }
  // The factors, 0 or 1 / (1 - rate), of the `seen` first probabilities of row r of a block; valid until the
  // next call.
  const W* row(const AttentionForm& form, const Block& at, std::int64_t r, std::int64_t seen) {
    const auto first =
        static_cast<std::uint64_t>(((at.b * form.heads + at.h) * form.queries + at.i + r) * form.keys + at.j);
    const auto skipped = static_cast<std::int64_t>(first % 4);
    // Whole vectors of the generator, which takes them faster than the rest of one.
    const std::int64_t blocks = (skipped + seen + 3) / 4, vectors = (blocks + lanes - 1) / lanes;
    philox_fill(philox_, first / 4, draw_.stream, vectors * lanes, words_);
    const std::uint32_t* words = words_ + skipped;
    if constexpr (std::is_same_v<W, float>) {
      if (draw_.threshold <= 0xffffffffu) {
        const rows::Tag<W> d;
        const hn::RebindToUnsigned<rows::Tag<W>> du;
        const auto below = hn::Set(du, static_cast<std::uint32_t>(draw_.threshold));
        const auto factor = hn::Set(d, factor_);
        for (std::int64_t i = 0; i < seen; i += lanes) {
          const auto kept = hn::Lt(hn::LoadU(du, words + i), below);
          hn::Store(hn::IfThenElseZero(hn::RebindMask(d, kept), factor), d, factors_ + i);
        }
        return factors_;
      }
    }
    for (std::int64_t i = 0; i < seen; ++i) factors_[i] = words[i] < draw_.threshold ? factor_ : W{0};
    return factors_;
  }

 private:
  static constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(PhiloxTag()));
  Philox philox_ = {};
  BernoulliDraw draw_ = {};
  W factor_ = 1;
  alignas(64) std::uint32_t words_[most_keys + 4 * lanes + 64];
  alignas(64) W factors_[most_keys + 64];
};

}  // namespace attention_blocks
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
