#include "tidemark/autodiff/lower_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tidemark/autodiff/loop_pairs.h"
#include "tidemark/autodiff/loop_records.h"
#include "tidemark/autodiff/loop_segments.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

bool has_regions(const Node& node) { return !node.regions.empty(); }

class Settling {
 public:
  Settling(const Graph& source, const LoopMemory& memory)
      : source_(source), memory_(memory), pairs_(loop_pairs(source)) {
    if (!memory.limits.empty()) numbers_ = loop_numbers(source, pairs_);
  }

  Graph run() {
    target_.name = source_.name;
    image_.resize(source_.values().size());
    for (const Input& input : source_.inputs()) {
      image_[input.value.index] = Var(builder_, target_.copy_input(source_, input));
    }
    copy_checkpoints(source_, target_);
    for (std::size_t n = 0; n < source_.nodes().size(); ++n) lower(NodeId(n));
    for (ValueId v : source_.outputs()) target_.add_output(image_[v.index].id());
    copy_hints(source_, target_, 0, ids_of(image_));
    return std::move(target_);
  }

 private:
  struct Decision {
    std::unique_ptr<LoopRecords> records = {};  // where they are kept
    std::int64_t slots = 0;                     // of a whole loop that keeps states
    std::unique_ptr<SegmentKeeping> keeping = {};
    LoopSegments segments = {};  // with `keeping`
  };

  std::vector<Var> operands(const Node& node) const {
    std::vector<Var> in;
    for (ValueId v : node.operands) in.push_back(image_[v.index]);
    return in;
  }
  void define(const Node& node, std::span<const Var> results) {
    for (std::size_t r = 0; r < node.results.size() && r < results.size(); ++r) {
      image_[node.results[r].index] = results[r];
      if (!source_[node.results[r]].name.empty())
        target_[results[r].id()].name = source_[node.results[r]].name;
    }
  }
  LoopLimit limit_of(NodeId id) const {
    const auto number = numbers_.find(id.index);
    return number == numbers_.end() ? memory_.each : memory_.limits.at(number->second);
  }
  std::vector<Graph> lowered_regions(NodeId id) const {
    std::vector<Graph> regions;
    for (const Graph& region : source_[id].regions)
      regions.push_back(lower_loops(region, limit_of(id).inside));
    return regions;
  }

  void lower(NodeId id) {
    const Node& node = source_[id];
    builder_.set_origin(node);
    if (is_kept_loop(node)) {
      lower_loop(id);
    } else if (is_kept_while(node)) {
      lower_while(id);
    } else if (node.op == &op::loop_reverse) {
      lower_reversal(id);
    } else {
      define(node, builder_.call(*node.op, operands(node), node.attrs, lowered_regions(id)));
    }
  }

  void lower_loop(NodeId id) {
    const Node& node = source_[id];
    auto attrs = unpack<LoopAttrs>(node.attrs);
    const auto pair = pairs_.find(id.index);
    if (pair == pairs_.end()) {
      const bool read = std::ranges::any_of(source_.nodes(), [&](const Node& reader) {
        return reader.op == &op::loop_reverse &&
               std::ranges::any_of(reader.operands, [&](ValueId v) { return source_[v].producer == id; });
      });
      // Nobody asked for a gradient after all: no snapshots. Else, with several readers, all of them.
      if (!read && snapshots_unread(node, attrs)) attrs.keep = 0;
      define(node, builder_.call(op::loop, operands(node), pack(attrs), lowered_regions(id)));
      return;
    }
    const Node& reversal = source_[pair->second];
    Decision& decision = decisions_[pair->second.index];
    const LoopLimit given = limit_of(id);
    const bool limited = attrs.memory >= 0 && !given.on_disk;
    const std::int64_t limit = limited ? std::min(given.own, attrs.memory) : given.own;
    const std::int64_t stacked = given.on_disk ? segment_length(attrs.trips, given.segments) : attrs.trips;
    const auto& reversed = unpack<LoopReverseAttrs>(reversal.attrs);
    LoopRecords records = records_of(reversed, lower_loops(reversal.regions[1], given.inside));
    const bool replayable = first_unreplayable(node.regions[0]) == nullptr;
    if (records.bytes(stacked) > limit && replayable && attrs.memory < 0 && !given.on_disk) {
      for (const LeanerRecords& leaner : leaner_records(reversed, records.joint)) {
        // A record of the size of a state is one: in a whole loop, states are handed on without a copy.
        const bool is_state = leaner.step_bytes == state_bytes(source_, node) && given.segments == 1;
        if (attrs.trips * leaner.step_bytes > limit || is_state) continue;
        records = records_of(reversed, std::move(records.joint), leaner.again);
        break;
      }
    }
    const bool keeps_records = records.bytes(stacked) <= limit || !replayable;
    const std::int64_t state = std::max<std::int64_t>(1, state_bytes(source_, node));
    const std::int64_t slots = std::clamp<std::int64_t>(limit / state, 1, attrs.trips);
    if (!keeps_records && !given.on_disk) {
      decision.slots = attrs.keep = slots;
      define(node, builder_.call(op::loop, operands(node), pack(attrs), lowered_regions(id)));
      return;
    }
    const std::vector<Graph> regions = lowered_regions(id);
    if (keeps_records) {
      decision.records = std::make_unique<LoopRecords>(std::move(records));
      decision.keeping = keeping_records(*decision.records);
    } else {
      decision.keeping = keeping_states(regions[0], reversed_regions(pair->second), slots);
    }
    const SegmentCut cut{.count = given.segments,
                         .again = replayable ? given.again : 0,
                         .on_disk = given.on_disk,
                         .step = &regions[0],
                         .outlive = outliving_ys(node, attrs, pair->second)};
    decision.segments = write_forward_segments(builder_, *decision.keeping, attrs, operands(node), cut);
    define(node, decision.segments.results);
  }

  // All states where the number of steps is bounded and the memory is there, else as many as there is memory
  // for.
  void lower_while(NodeId id) {
    const Node& node = source_[id];
    auto attrs = unpack<WhileAttrs>(node.attrs);
    const std::int64_t state = while_state_bytes(source_, node);
    const std::int64_t given = limit_of(id).own;
    const std::int64_t limit = attrs.memory >= 0 ? std::min(given, attrs.memory) : given;
    const std::int64_t bound = attrs.max_steps >= 0        ? std::min(attrs.max_steps, most_slots)
                               : limit == unlimited_memory ? usual_slots
                                                           : most_slots;
    // States that others than reversals get, here or outside, are reversed elsewhere, in the slots there are.
    if (!leaves(node, static_cast<std::size_t>(attrs.carries) + 1)) {
      attrs.keep = std::clamp<std::int64_t>(limit / std::max<std::int64_t>(1, state), 1,
                                            std::max<std::int64_t>(1, bound));
    }
    while_slots_[id.index] = attrs.keep;
    define(node, builder_.call(op::while_loop, operands(node), pack(attrs), lowered_regions(id)));
  }

  bool leaves(const Node& node, std::size_t first_result) const {
    const auto is_result = [&](ValueId v) {
      return std::find(node.results.begin() + static_cast<std::ptrdiff_t>(first_result), node.results.end(),
                       v) != node.results.end();
    };
    return std::ranges::any_of(source_.outputs(), is_result) ||
           std::ranges::any_of(source_.nodes(), [&](const Node& reader) {
             return reader.op != &op::loop_reverse && std::ranges::any_of(reader.operands, is_result);
           });
  }

  // Of each y of the loop: is it read behind the reversal too?
  std::vector<bool> outliving_ys(const Node& node, const LoopAttrs& attrs, NodeId reversal) const {
    const auto carries = static_cast<std::size_t>(attrs.carries);
    std::vector<bool> outlive(node.results.size() - 2 * carries, false);
    const auto note = [&](ValueId v) {
      for (std::size_t y = 0; y < outlive.size(); ++y)
        outlive[y] = outlive[y] || node.results[carries + y] == v;
    };
    for (std::size_t n = reversal.index + std::size_t{1}; n < source_.nodes().size(); ++n)
      std::ranges::for_each(source_.nodes()[n].operands, note);
    std::ranges::for_each(source_.outputs(), note);
    return outlive;
  }

  bool snapshots_unread(const Node& node, const LoopAttrs& attrs) const {
    const std::vector<int> uses = use_counts(source_);
    return std::all_of(node.results.end() - static_cast<std::ptrdiff_t>(attrs.carries), node.results.end(),
                       [&](ValueId v) { return uses[v.index] == 0; });
  }

  void lower_reversal(NodeId id) {
    const Node& node = source_[id];
    auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    const auto found = decisions_.find(id.index);
    if (found != decisions_.end() && found->second.keeping) {
      // Snapshots have no image; the operands that matter come after them.
      define(node, write_backward_segments(builder_, *found->second.keeping, attrs,
                                           ReversalLayout(attrs, node.regions[1]), operands(node),
                                           found->second.segments));
      return;
    }
    if (found != decisions_.end()) attrs.slots = found->second.slots;
    std::vector<Var> in = operands(node);
    if (attrs.unknown_length()) {
      const auto kept = while_slots_.find(source_[node.operands.back()].producer.index);
      if (kept != while_slots_.end()) attrs.slots = kept->second;
      // What it began with serves derivatives, of which there will be no more.
      if (attrs.begins) in.erase(in.end() - 2 - static_cast<std::ptrdiff_t>(attrs.carries), in.end() - 2);
      attrs.begins = false;
      attrs.summed.clear();
    }
    ReversedRegions regions = reversed_regions(id, attrs.keeps_all());
    define(node, builder_.call(op::loop_reverse, in, pack(attrs),
                               {std::move(regions.step), std::move(regions.back)}));
  }

  // As they run: effects have happened. States that are all kept are not computed again.
  ReversedRegions reversed_regions(NodeId id, bool keeps_all = false) const {
    const Node& node = source_[id];
    const auto again = [&](const Graph& region, std::size_t fresh) {
      return replayed(
          region, fresh, node.where, "the gradient of this loop runs its steps again",
          "call it before the loop and pass in what it returns, or use repeat or scan, which keep "
          "what its steps return");
    };
    const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    std::vector<Graph> regions = lowered_regions(id);
    const ReversalLayout at(attrs, regions[1]);
    if (!keeps_all) regions[0] = again(regions[0], nothing_fresh);
    return {std::move(regions[0]), again(gradients_alone(regions[1], attrs), at.carry_seeds)};
  }

  const Graph& source_;
  const LoopMemory& memory_;
  const std::map<std::uint32_t, NodeId> pairs_;
  std::map<std::uint32_t, std::size_t> numbers_;
  std::map<std::uint32_t, Decision> decisions_;        // by reversal
  std::map<std::uint32_t, std::int64_t> while_slots_;  // by loop
  Graph target_;
  Builder builder_{target_};
  std::vector<Var> image_;
};

}  // namespace

Graph lower_loops(const Graph& graph, const LoopMemory& memory) {
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), has_regions)) return graph;
  return Settling(graph, memory).run();
}

}  // namespace tidemark
