// Donated inputs: an output of the same type takes the donated input's memory, so that a parameter and its
// update are counted once. Two ways, the first preferred:
//
//   along a chain   p ──▶ t1 ──▶ t2 ──▶ p'     every link may overwrite the one before: all of them live in
//                                              p's memory
//   at the end      p … last reader, then p'   p' is written where p was, p being dead
//
// Either needs p's readers to run before the writer. They do in the given order (else the pair is not made),
// and become precedences, which any later order keeps. Waiting costs nothing: a gradient held back is as
// large as the updated copy that would be needed instead.
#include <algorithm>
#include <tuple>

#include "tidemark/plan/passes/passes.h"

namespace tidemark {
namespace {

class Matching {
 public:
  explicit Matching(Draft& draft)
      : draft_(draft), graph_(*draft.graph), readers_(root_readers(draft)), pinned_(output_roots(draft)) {}

  void run() {
    for (const Input& input : graph_.inputs()) {
      // An input that is returned as it is keeps its memory.
      if (input.donated && !pinned_[input.value.index]) donors_.push_back(input.value);
    }
    if (donors_.empty()) return;
    taken_.assign(graph_.values().size(), false);
    std::vector<bool> listed(graph_.values().size(), false);
    for (ValueId v : graph_.outputs()) {
      const ValueId root = draft_.root(v);
      if (graph_.is_input(root) || listed[root.index]) continue;
      listed[root.index] = true;
      receivers_.push_back(root);
    }
    match_along_chains();
    match_at_the_end();
  }

 private:
  struct Link {
    ValueId value;  // overwrites …
    std::uint32_t
        parent;  // … the one it is followed by on the way to the output: index into the search's list
    int depth;
  };

  NodeId producer(ValueId v) const { return graph_[v].producer; }
  const Type& type(ValueId v) const { return graph_.type(v); }

  // Every reader of `root` runs before `writer` in the given order, or is `writer` and may be overwritten by
  // it.
  bool dead_before(ValueId root, NodeId writer) const {
    return std::ranges::all_of(readers_[root.index], [&](NodeId reader) { return reader <= writer; });
  }
  void precede(ValueId root, NodeId writer) {
    for (NodeId reader : readers_[root.index]) {
      if (reader != writer) draft_.precedences.push_back({reader, writer});
    }
  }
  bool free(ValueId v) const { return !draft_.home[v.index].valid(); }

  // Backwards from an output along in-place reuses, to donated inputs. Short chains are tried first over all
  // outputs.
  void match_along_chains() {
    struct Found {
      int depth;
      std::size_t receiver;
      ValueId donor;
      std::vector<ValueId> chain;  // from the donor's first successor to the output
    };
    std::vector<Found> found;
    for (std::size_t i = 0; i < receivers_.size(); ++i) {
      std::vector<Link> links{{receivers_[i], 0, 0}};
      std::size_t branches = 0;
      for (std::size_t at = 0; at < links.size(); ++at) {
        if (links.size() >= longest_chain || branches >= most_branches) break;
        const std::size_t known = links.size();
        const ValueId value = links[at].value;
        const Node& node = graph_[producer(value)];
        if (!draft_.target->facts(*node.op).in_place) continue;
        const PlannedCall call(draft_, node);
        for (std::size_t k = 0; k < node.operands.size(); ++k) {
          const ValueId root = draft_.root(node.operands[k]);
          const bool donated = std::ranges::binary_search(donors_, root);
          if (!donated && (graph_.is_input(root) || pinned_[root.index])) continue;
          if (!can_overwrite(draft_, node, call, static_cast<int>(graph_[value].result), static_cast<int>(k)))
            continue;
          if (!dead_before(root, producer(value))) continue;
          if (!donated) {
            links.push_back({root, static_cast<std::uint32_t>(at), links[at].depth + 1});
            continue;
          }
          Found pair{links[at].depth, i, root, {}};
          for (std::size_t link = at;; link = links[link].parent) {
            pair.chain.push_back(links[link].value);
            if (link == 0) break;
          }
          found.push_back(std::move(pair));
        }
        branches += std::max(links.size(), known + 1) - known - 1;
      }
    }
    std::ranges::stable_sort(found, {}, [](const Found& f) { return std::tuple(f.depth, f.receiver); });
    for (const Found& pair : found) {
      if (taken(pair.donor) || !std::ranges::all_of(pair.chain, [&](ValueId v) { return free(v); })) continue;
      ValueId before = pair.donor;
      for (ValueId v : pair.chain) {
        draft_.home[v.index] = pair.donor;
        precede(before, producer(v));
        before = v;
      }
      take(pair.donor);
    }
  }

  void match_at_the_end() {
    for (ValueId receiver : receivers_) {
      if (!free(receiver)) continue;
      for (ValueId donor : donors_) {
        if (taken(donor) || type(donor) != type(receiver)) continue;
        const NodeId writer = producer(receiver);
        const auto& readers = readers_[donor.index];
        // A writer that also reads the donor would have been found as a chain, were it allowed to overwrite
        // it.
        if (std::ranges::count(readers, writer) > 0 || !dead_before(donor, writer)) continue;
        draft_.home[receiver.index] = donor;
        precede(donor, writer);
        take(donor);
        break;
      }
    }
  }

  bool taken(ValueId donor) const { return taken_[donor.index]; }
  void take(ValueId donor) { taken_[donor.index] = true; }

  // Values looked at per output: a large table is updated in a hundred pieces, each written over the one
  // before; where ways part, only so many are followed.
  static constexpr std::size_t longest_chain = 4096, most_branches = 64;
  Draft& draft_;
  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> pinned_, taken_;
  std::vector<ValueId> donors_, receivers_;  // inputs in ascending order; roots of outputs
};

}  // namespace

Draft donate(Draft draft) {
  Matching(draft).run();
  return draft;
}

}  // namespace tidemark
