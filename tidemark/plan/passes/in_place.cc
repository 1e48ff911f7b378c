// In place: a result takes over the memory of an operand that dies in the same step, or in the same group of
// steps.
//
// Proof of each in-place reuse: the operand's root is in the arena, is no output, and no execution after this
// one (its group) reads it or any window on it before it is computed again. In a step by itself the op says
// that it may, for these strides (can_overwrite). In a group, which works through the same elements of
// everything tile by tile: whoever reads the root reads it dense and of the group's shape, and none of them
// comes after the writer. In a group that works in tiles nothing is overwritten: neighbours read beyond
// theirs.
#include <algorithm>

#include "tidemark/plan/passes/groups.h"
#include "tidemark/plan/passes/passes.h"

namespace tidemark {
namespace {

class InPlaceReuses {
 public:
  explicit InPlaceReuses(Draft& draft)
      : draft_(draft),
        graph_(*draft.graph),
        pinned_(output_roots(draft)),
        in_tiles_(in_tiles(draft)),
        read_later_(graph_.values().size(), false) {}

  void run() {
    for (std::size_t end = draft_.executions.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (begin > 0 && group_end(draft_, begin - 1) == end) --begin;
      decide(begin, end);
      end = begin;
    }
  }

 private:
  Execution& at(std::size_t t) { return draft_.executions[t]; }
  const Node& node_at(std::size_t t) const { return graph_[draft_.executions[t].node]; }

  // The executions [begin, end), everything later being decided.
  void decide(std::size_t begin, std::size_t end) {
    duplicates_.clear();
    for (std::size_t t = begin; t < end; ++t) {
      for (ValueId v : node_at(t).results) {
        if (at(t).duplicate) {
          duplicates_.push_back(v);
        } else {
          read_later_[v.index] = false;
        }
      }
    }
    taken_.clear();
    const bool tiled = reads_window_inside(begin, end);
    for (std::size_t t = begin; t < end; ++t) {
      const Node& node = node_at(t);
      at(t).overwrites.assign(node.results.size(), ValueId());
      const bool grouped = at(t).group >= 0;
      if (tiled || (!draft_.target->facts(*node.op).in_place && !grouped)) continue;
      const PlannedCall call(draft_, node);
      if (grouped && draft_.target->fusion(call) != Fusion::pointwise) continue;
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        if (grouped && in_tiles_[t][r]) continue;
        ValueId root = among_operands(call, r, begin, t, end);
        if (!root.valid() && grouped) root = among_readers(node.results[r], begin, t, end);
        if (!root.valid()) continue;
        at(t).overwrites[r] = root;
        taken_.push_back(root);
      }
    }
    for (std::size_t t = begin; t < end; ++t) {
      for (ValueId v : node_at(t).operands) {
        const ValueId root = draft_.root(v);
        if (std::ranges::count(duplicates_, root) == 0) read_later_[root.index] = true;
      }
    }
  }

  // Is there a window on what a run of the group makes?
  bool reads_window_inside(std::size_t begin, std::size_t end) const {
    if (draft_.target->most_halo == 0) return false;
    for (std::size_t t = begin + 1; t < end; ++t) {
      const Node& node = node_at(t);
      if (draft_.target->fusion(PlannedCall(draft_, node)) != Fusion::window) continue;
      const ValueId root = draft_.root(node.operands[0]);
      for (std::size_t s = begin; s < t; ++s) {
        if (std::ranges::count(node_at(s).results, root) > 0) return true;
      }
    }
    return false;
  }

  // A value with a home overwrites only what lives there; others only what lives in the arena.
  bool is_free(ValueId root, ValueId result) const {
    const ValueId home = draft_.home[result.index];
    const bool same_home = root == home || draft_.home[root.index] == home;
    const bool in_arena = !graph_.is_input(root) && !draft_.home[root.index].valid();
    if (home.valid() ? !same_home : !in_arena) return false;
    return !pinned_[root.index] && !read_later_[root.index] && std::ranges::count(taken_, root) == 0;
  }

  ValueId among_operands(const Call& call, std::size_t r, std::size_t begin, std::size_t t,
                         std::size_t end) const {
    const Node& node = node_at(t);
    const bool grouped = draft_.executions[t].group >= 0;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const ValueId root = draft_.root(node.operands[k]);
      if (!is_free(root, node.results[r])) continue;
      if (!can_overwrite(draft_, node, call, static_cast<int>(r), static_cast<int>(k))) continue;
      if (!grouped || dies_in_group(root, node.results[r], begin, t, end)) return root;
    }
    return {};
  }

  // Of what earlier runs of the group read.
  ValueId among_readers(ValueId result, std::size_t begin, std::size_t writer, std::size_t end) const {
    for (std::size_t t = begin; t < writer; ++t) {
      for (ValueId v : node_at(t).operands) {
        const ValueId root = draft_.root(v);
        if (is_free(root, result) && dies_in_group(root, result, begin, writer, end)) return root;
      }
    }
    return {};
  }

  // Comes from outside, is read like the result is written, and by nobody after that.
  bool dies_in_group(ValueId root, ValueId result, std::size_t begin, std::size_t writer,
                     std::size_t end) const {
    const Type& type = graph_.type(result);
    if (draft_.root_bytes(root) != type.bytes()) return false;
    for (std::size_t t = begin; t < end; ++t) {
      const Node& node = node_at(t);
      if (std::ranges::count(node.results, root) > 0) return false;
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        if (draft_.root(node.operands[k]) != root) continue;
        if (t > writer || !is_aligned(draft_, node.operands[k], type.shape)) return false;
        const PlannedCall reader(draft_, node);
        if (draft_.target->fusion(reader) == Fusion::window) return false;
        if (t < writer) continue;
        const auto r = std::ranges::find(node.results, result) - node.results.begin();
        if (!draft_.target->may_overwrite(reader, static_cast<int>(r), static_cast<int>(k))) return false;
      }
    }
    return true;
  }

  Draft& draft_;
  const Graph& graph_;
  std::vector<bool> pinned_;
  std::vector<std::vector<bool>> in_tiles_;
  std::vector<bool> read_later_;     // the root, before its next computation
  std::vector<ValueId> duplicates_;  // made by the group that is being decided for itself
  std::vector<ValueId> taken_;       // in the step or group that is being decided
};

}  // namespace

Draft in_place(Draft draft) {
  InPlaceReuses(draft).run();
  return draft;
}

}  // namespace tidemark
