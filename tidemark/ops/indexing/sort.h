// Sorting along an axis. Equal elements keep their order, -0 equals 0, and NaN counts as larger than any
// number, as it does for max: last when ascending, first when descending and among the k largest.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct SortAttrs {
  std::int64_t axis = 0;
  bool descending = false;
  TM_FIELDS(SortAttrs, axis, descending)
};
struct TopKAttrs {
  std::int64_t axis = 0;
  std::int64_t k = 1;
  TM_FIELDS(TopKAttrs, axis, k)
};

struct Sorted {
  Var values;
  Var indices;  // i64: where each value stood along the axis
};

Sorted sort(const Var& x, int axis, bool descending = false);
Var argsort(const Var& x, int axis, bool descending = false);
// The k largest along the axis, largest first.
Sorted top_k(const Var& x, int axis, std::int64_t k);

}  // namespace tidemark
