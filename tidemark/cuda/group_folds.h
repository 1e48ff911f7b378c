// How the reduction at the end of a fusion group is shared among blocks of threads (device/folds.h), by its
// shape alone. Mostly in the CPU's order of sums (kernel/reduce_order.h): a block folds tasks of it. Large
// sums of columns are cut into slabs of rows, as many as keep a GPU busy: one of the few places that have an
// order of their own.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tidemark/ir/op.h"
#include "tidemark/kernel/reduce.h"
#include "tidemark/kernel/reduce_order.h"

namespace tidemark::cuda {

inline constexpr int threads_per_block = 256;
inline constexpr std::int64_t busy_blocks = 1056;  // of threads, which some 132 multiprocessors take at once

std::optional<Reduction> reduction_of(const Op& op);
// Do neighbours in memory belong to different results?
bool folds_columns(const Shape& shape, const ReduceOrder& order);
// How many results lie side by side.
std::int64_t neighbouring_results(const Shape& shape, const ReduceOrder& order);

struct FoldSlabs {
  std::int64_t count = 0, rows = 0;  // none: the CPU's order is kept
};
FoldSlabs fold_slabs(const Shape& shape, const ReduceOrder& order);
std::int64_t fold_scratch(const Shape& shape, const ReduceOrder& order);  // bytes

// One kernel after the other: `body` of device/folds.h.
struct FoldLaunch {
  const char* suffix = "";  // of its name
  std::string_view body;
  std::int64_t blocks = 0;
  bool meets = true;  // threads of a block wait for each other
};
// `width`: elements of a pack.
std::vector<FoldLaunch> fold_launches(const Shape& shape, const ReduceOrder& order, std::int64_t width);

}  // namespace tidemark::cuda
