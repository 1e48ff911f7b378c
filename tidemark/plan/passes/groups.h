// Groups in a draft: runs in a row that become one kernel. The kernel takes the elements of the group's shape
// in tiles, all runs for one tile, then for the next, so that a group is one point in time:
//
//   x ──▶ mul ──▶ exp ──▶ add ──▶ y      x, z: read from memory by some run; they live to the group's end
//                  └──▶ z' ───▶ …        y, z': wanted outside of it; they live from the group's beginning
//                                        what mul and exp make passes from run to run and has no memory
#pragma once
#include <utility>
#include <vector>

#include "tidemark/plan/passes/draft.h"

namespace tidemark {

// One past the last run of the group that execution `t` is in; t + 1 where it is by itself.
std::size_t group_end(const Draft& draft, std::size_t t);

// Per execution and result: does it pass inside its group only? So it does if it is no output and no run
// outside the group reads it before it is computed again. A duplicate always does.
std::vector<std::vector<bool>> in_tiles(const Draft& draft);

// The buffer that the latest version of each root is in, along the executions. A duplicate's version is there
// for its group alone: behind it, the one before is the latest again.
class Holders {
 public:
  explicit Holders(std::size_t values) : buffer_(values) {}

  BufferId operator[](ValueId root) const { return buffer_[root.index]; }
  void set(ValueId root, BufferId buffer) { buffer_[root.index] = buffer; }
  void set(const Execution& maker, ValueId root, BufferId buffer) {
    if (maker.duplicate) before_.emplace_back(root, buffer_[root.index]);
    set(root, buffer);
  }
  // Before whatever this execution reads.
  void come_to(const Execution& run);

 private:
  std::vector<BufferId> buffer_;
  std::vector<std::pair<ValueId, BufferId>> before_;  // the duplicates of the group at hand
  int group_ = -1;
};

// Element i of the operand is element i of a dense array of this shape: what a group may read from its own
// results, and write over.
bool is_aligned(const Draft& draft, ValueId operand, const Shape& shape);

}  // namespace tidemark
