// What the tasks of attention and of its gradient work in: blocks of rows, their panels (kernel/gemm.h) and
// blocks of scores. Too much for a stack, so it is part of the scratch, for as many tasks at once as there
// are lanes: by the shape alone.
//
// A list of pieces is written once, as a constructor that takes them one after another. Kernels get pointers
// from it, the op's facts the number of bytes.
#pragma once
#include "tidemark/base/bytes.h"
#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/attention/attention.h"

namespace tidemark::attention_lanes {

inline constexpr std::int64_t widest_packed = 256;  // heads, so that a panel's padding stays small

// Takes pieces of a lane for elements of W; without memory it only counts.
template <class W>
class Pieces {
 public:
  Pieces(const AttentionForm& form, std::byte* at)
      : queries(std::min(form.query_block(), form.queries)),
        keys(std::min(form.key_block(), form.keys)),
        width(form.width),
        at_(at) {}

  W* take(std::int64_t elements) {
    std::byte* piece = at_ ? at_ + bytes_ : nullptr;
    bytes_ += align_up(elements * static_cast<std::int64_t>(sizeof(W)), buffer_alignment);
    return reinterpret_cast<W*>(piece);
  }
  W* rows(std::int64_t count) { return take(count * width); }
  // Panels on any machine; none where the matrix is read as it lies.
  W* left_panels(std::int64_t count, std::int64_t depth) {
    return take(depth > widest_packed ? 0 : (count + gemm::widest.a - 1) * depth);
  }
  W* right_panels(std::int64_t count, std::int64_t depth) {
    return take(std::max(depth, count) > widest_packed ? 0 : (count + gemm::widest.b - 1) * depth);
  }
  W* scores() { return take(queries * AttentionForm::most_keys); }
  // In panels, of neighbouring keys or of neighbouring queries; whole vectors are written.
  W* turned_scores() {
    constexpr std::int64_t vector = 16;
    return take((align_up(queries, vector) + gemm::widest.a) * (align_up(keys, vector) + gemm::widest.a));
  }
  std::int64_t bytes() const { return bytes_; }

  const std::int64_t queries, keys, width;  // of a block

 private:
  std::byte* at_;
  std::int64_t bytes_ = 0;
};

template <class W>
struct Forward {
  Pieces<W> pieces;
  const std::int64_t span = AttentionForm::blocks_in_span * pieces.queries;
  W *q = pieces.rows(span), *y = pieces.rows(span), *q_panels = pieces.left_panels(span, pieces.width);
  W *k = pieces.rows(pieces.keys), *k_panels = pieces.right_panels(pieces.keys, pieces.width);
  W *v = pieces.rows(pieces.keys), *v_panels = pieces.right_panels(pieces.width, pieces.keys);
  W *scores = pieces.scores(), *p_panels = pieces.turned_scores();

  Forward(const AttentionForm& form, std::byte* at) : pieces(form, at) {}
};

// A block of keys of the gradient.
template <class W>
struct GradientKeys {
  W *k_log, *k, *v, *dk, *dv, *k_turned, *v_turned, *k_right;

  explicit GradientKeys(Pieces<W>& p)
      : k_log(p.rows(p.keys)),
        k(p.rows(p.keys)),
        v(p.rows(p.keys)),
        dk(p.rows(p.keys)),
        dv(p.rows(p.keys)),
        k_turned(p.right_panels(p.keys, p.width)),
        v_turned(p.right_panels(p.keys, p.width)),
        k_right(p.right_panels(p.width, p.keys)) {}
};
template <class W>
struct GradientQueries {
  W *q, *g, *q_left, *g_left, *q_right, *g_right;

  explicit GradientQueries(Pieces<W>& p)
      : q(p.rows(p.queries)),
        g(p.rows(p.queries)),
        q_left(p.left_panels(p.queries, p.width)),
        g_left(p.left_panels(p.queries, p.width)),
        q_right(p.right_panels(p.width, p.queries)),
        g_right(p.right_panels(p.width, p.queries)) {}
};
template <class W>
struct GradientScores {
  W *scores, *ds, *p_panels, *ds_panels, *ds_left;

  explicit GradientScores(Pieces<W>& p)
      : scores(p.scores()),
        ds(p.scores()),
        p_panels(p.turned_scores()),
        ds_panels(p.turned_scores()),
        ds_left(p.turned_scores()) {}
};
template <class W>
struct Gradient {
  static constexpr std::int64_t few = 2;  // blocks of keys that a block of queries is packed for
  Pieces<W> pieces;
  GradientKeys<W> keys[few] = {GradientKeys<W>(pieces), GradientKeys<W>(pieces)};
  GradientQueries<W> queries{pieces};
  GradientScores<W> scores{pieces};

  Gradient(const AttentionForm& form, std::byte* at) : pieces(form, at) {}
};

struct Lanes {
  std::int64_t count = 0, bytes = 0;  // of each
};
// Enough lanes for some threads, for more of them where their memory is small beside what the op reads and
// writes anyway.
template <template <class> class Lane>
Lanes lanes_of(const AttentionForm& form, DType dtype, std::int64_t tasks, std::int64_t moved_bytes) {
  constexpr std::int64_t few_lanes = 4, many_lanes = 16;
  const std::int64_t bytes = dtype == DType::f64 ? Lane<double>(form, nullptr).pieces.bytes()
                                                 : Lane<float>(form, nullptr).pieces.bytes();
  const std::int64_t most =
      std::clamp(moved_bytes / 4 / std::max<std::int64_t>(bytes, 1), few_lanes, many_lanes);
  return {std::min(tasks, most), bytes};
}
inline Lanes forward_lanes(const AttentionForm& form, DType dtype) {
  const std::int64_t rows = 2 * (form.heads * form.queries + form.kv_heads * form.keys);
  return lanes_of<Forward>(form, dtype, form.batch * form.heads * form.query_spans(),
                           form.batch * rows * form.width * size_of(dtype));
}
inline Lanes gradient_lanes(const AttentionForm& form, DType dtype) {
  const std::int64_t rows = 3 * form.heads * form.queries + 4 * form.kv_heads * form.keys;
  return lanes_of<Gradient>(form, dtype, form.batch * form.kv_heads * form.key_parts(),
                            form.batch * rows * form.width * size_of(dtype));
}

}  // namespace tidemark::attention_lanes
