// The order in which elements are folded (kernel/reduce.h), as numbers.
#pragma once
#include <algorithm>

#include "tidemark/base/shape.h"
#include "tidemark/kernel/fold.h"

namespace tidemark {

// With more results than this, threads share results only.
inline constexpr std::int64_t most_results_in_chunks = 2048;

// A walk over some dimensions in row-major order, neighbours that step evenly through memory joined.
struct JoinedDimensions {
  int rank = 0;
  std::int64_t size[max_rank], step[max_rank], count = 1;

  void push(std::int64_t n, std::int64_t s) {
    count *= n;
    if (n == 1) return;
    if (rank > 0 && step[rank - 1] == n * s) {
      size[rank - 1] *= n;
      step[rank - 1] = s;
    } else {
      size[rank] = n;
      step[rank++] = s;
    }
  }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t at = 0;
    for (int i = rank - 1; i >= 0; --i) {
      at += index % size[i] * step[i];
      index /= size[i];
    }
    return at;
  }
};

// The reduced axes as outer × inner, where inner is the last run of neighbouring reduced axes (size 1 aside),
// and how that is cut. Depends on shape and axes alone.
struct ReduceOrder {
  ReduceOrder(const Shape& shape, const Dims& axes) {
    for (int i = 0; i < shape.rank(); ++i) reduced[i] = false;
    for (std::int64_t axis : axes) reduced[axis] = true;
    int last = shape.rank() - 1;
    while (last >= 0 && !(reduced[last] && shape[last] != 1)) --last;
    first_inner = last;
    while (first_inner > 0 && (reduced[first_inner - 1] || shape[first_inner - 1] == 1)) --first_inner;
    first_inner = std::max(first_inner, 0);
    for (int i = 0; i < shape.rank(); ++i) {
      (!reduced[i] ? results : i < first_inner ? outer : inner) *= shape[i];
    }
    if (outer * inner == 0) return;
    chunk_elements = results < 64 ? 16 * fold_block : fold_block;
    outer_per_chunk = std::max<std::int64_t>(1, chunk_elements / inner);
    inner_chunks = (inner + chunk_elements - 1) / chunk_elements;
    chunks = inner_chunks * ((outer + outer_per_chunk - 1) / outer_per_chunk);
  }
  bool may_share_chunks() const { return chunks > 1 && results < most_results_in_chunks; }

  bool reduced[max_rank];
  int first_inner = 0;
  std::int64_t results = 1, outer = 1, inner = 1;
  std::int64_t chunk_elements = fold_block, outer_per_chunk = 1, inner_chunks = 1, chunks = 0;
};

}  // namespace tidemark
