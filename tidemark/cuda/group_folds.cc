#include "tidemark/cuda/group_folds.h"

#include <algorithm>

#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t tasks_per_block = 16,
                       results_per_block = 8;                  // fold_teams, slab_results of device/folds.h
constexpr std::int64_t large_columns = std::int64_t{1} << 20;  // elements
constexpr std::int64_t fewest_slab_rows = 64, packs_per_block = 16;
constexpr std::int64_t fewest_task_parts = 4, most_task_parts = 1024;
constexpr std::int64_t many_parts = 64, few_results = 256;  // fetched by a block of threads, not by a thread

// A task's blocks of elements are shared by the teams of a block of threads where there are several of them,
// and tasks, of which a block of threads would have 16, are too few to keep a GPU busy.
bool spreads_tasks(const Shape& shape, const ReduceOrder& order) {
  const bool shares = order.may_share_chunks();
  if (folds_columns(shape, order) || (!shares && order.chunks != 1)) return false;
  const std::int64_t tasks = order.results * order.chunks;
  const std::int64_t parts = std::min(order.outer, order.outer_per_chunk) *
                             ((std::min(order.inner, order.chunk_elements) + fold_block - 1) / fold_block);
  return tasks > 0 && tasks < busy_blocks * tasks_per_block && parts >= fewest_task_parts &&
         parts <= most_task_parts;
}

}  // namespace

std::optional<Reduction> reduction_of(const Op& op) {
  if (&op == &op::reduce_sum) return Reduction::sum;
  if (&op == &op::reduce_mean) return Reduction::mean;
  if (&op == &op::reduce_max) return Reduction::max;
  if (&op == &op::reduce_min) return Reduction::min;
  if (&op == &op::reduce_prod) return Reduction::prod;
  return std::nullopt;
}

bool folds_columns(const Shape& shape, const ReduceOrder& order) {
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] != 1) return !order.reduced[d];
  }
  return false;
}

std::int64_t neighbouring_results(const Shape& shape, const ReduceOrder& order) {
  std::int64_t run = 1;
  for (int d = shape.rank() - 1; d >= 0 && (shape[d] == 1 || !order.reduced[d]); --d) run *= shape[d];
  return run;
}

FoldSlabs fold_slabs(const Shape& shape, const ReduceOrder& order) {
  if (!folds_columns(shape, order) || element_count(shape) < large_columns) return {};
  const std::int64_t reduced = order.outer * order.inner;
  const std::int64_t blocks = (order.results + packs_per_block * 4 - 1) / (packs_per_block * 4);
  const std::int64_t wanted = std::clamp<std::int64_t>((busy_blocks + blocks - 1) / blocks, 1,
                                                       (reduced + fewest_slab_rows - 1) / fewest_slab_rows);
  const std::int64_t rows = (reduced + wanted - 1) / wanted;
  return {.count = (reduced + rows - 1) / rows, .rows = rows};
}

// A total for each slab, or for each task where several share a result.
std::int64_t fold_scratch(const Shape& shape, const ReduceOrder& order) {
  if (const FoldSlabs slabs = fold_slabs(shape, order); slabs.count > 0)
    return order.results * slabs.count * 8;
  return order.may_share_chunks() ? order.results * order.chunks * 8 : 0;
}

std::vector<FoldLaunch> fold_launches(const Shape& shape, const ReduceOrder& order, std::int64_t width) {
  const auto blocks_of = [](std::int64_t count, std::int64_t each) { return (count + each - 1) / each; };
  if (const FoldSlabs slabs = fold_slabs(shape, order); slabs.count > 0) {
    return {
        {.body = "fold_columns", .blocks = slabs.count * blocks_of(order.results, width * packs_per_block)},
        {.suffix = "_parts", .body = "fold_slabs", .blocks = blocks_of(order.results, results_per_block)}};
  }
  const bool shares = order.may_share_chunks();
  const std::int64_t tasks = order.results * (shares ? order.chunks : 1);
  std::vector<FoldLaunch> launches;
  if (spreads_tasks(shape, order)) {
    launches.push_back({.body = "fold_spread_tasks", .blocks = tasks});
  } else {
    launches.push_back({.body = "fold_tasks", .blocks = blocks_of(tasks, tasks_per_block)});
  }
  if (!shares) return launches;
  if (order.chunks >= many_parts && order.results <= few_results) {
    launches.push_back({.suffix = "_parts", .body = "fold_many_parts", .blocks = order.results});
  } else {
    launches.push_back({.suffix = "_parts",
                        .body = "fold_parts",
                        .blocks = blocks_of(order.results, threads_per_block),
                        .meets = false});
  }
  return launches;
}

}  // namespace tidemark::cuda
