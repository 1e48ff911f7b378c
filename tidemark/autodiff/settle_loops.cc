#include "tidemark/autodiff/settle_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tidemark/autodiff/loop_records.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/control/loop_files.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

bool is_kept_loop(const Node& node) { return node.op == &op::loop && unpack<LoopAttrs>(node.attrs).keep > 0; }

bool is_kept_while(const Node& node) {
  return node.op == &op::while_loop && unpack<WhileAttrs>(node.attrs).keep > 0;
}

// Of a loop whose length is not known: more save little time, and choosing among them takes some.
constexpr std::int64_t most_slots = 4096;

bool has_regions(const Node& node) { return !node.regions.empty(); }

// The reversals by the loop they belong to: the only reader of its snapshots.
std::map<std::uint32_t, NodeId> pairs_of(const Graph& graph) {
  std::map<std::uint32_t, NodeId> pairs;
  const std::vector<std::vector<NodeId>> readers = consumers(graph);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!is_kept_loop(node)) continue;
    const auto attrs = unpack<LoopAttrs>(node.attrs);
    NodeId only;
    bool one = true;
    for (std::size_t r = node.results.size() - static_cast<std::size_t>(attrs.carries);
         r < node.results.size(); ++r) {
      for (NodeId reader : readers[node.results[r].index]) {
        one = one && (!only.valid() || only == reader) && graph[reader].op == &op::loop_reverse;
        only = reader;
      }
      one = one && std::ranges::count(graph.outputs(), node.results[r]) == 0;
    }
    if (one && only.valid()) pairs[static_cast<std::uint32_t>(n)] = only;
  }
  return pairs;
}

std::int64_t state_bytes(const Graph& graph, const Node& loop) {
  std::int64_t bytes = 0;
  const auto carries = static_cast<std::size_t>(unpack<LoopAttrs>(loop.attrs).carries);
  for (std::size_t c = 0; c < carries; ++c) bytes += graph.type(loop.operands[c]).bytes();
  return bytes;
}

// The nodes at which something is left to decide, with their numbers. A reversal goes by the number of its loop.
std::map<std::uint32_t, std::size_t> numbers_of(const Graph& graph,
                                                const std::map<std::uint32_t, NodeId>& pairs) {
  std::map<std::uint32_t, std::size_t> numbers;
  std::size_t next = 0;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const auto id = static_cast<std::uint32_t>(n);
    if (node.regions.empty() || numbers.contains(id)) continue;
    if (node.op == &op::loop_reverse && unpack<LoopReverseAttrs>(node.attrs).unknown_length()) {
      const ValueId slots = node.operands.back();
      const auto loop = graph.is_input(slots) ? numbers.end() : numbers.find(graph[slots].producer.index);
      if (loop != numbers.end()) {
        numbers[id] = loop->second;
        continue;
      }
    }
    const auto pair = pairs.find(id);
    const bool inside =
        std::ranges::any_of(node.regions, [](const Graph& region) { return loop_memory_range(region).any; });
    const bool reversal_inside =
        pair != pairs.end() && std::ranges::any_of(graph[pair->second].regions, [](const Graph& region) {
          return loop_memory_range(region).any;
        });
    if (pair == pairs.end() && !is_kept_while(node) && !inside && !reversal_inside) continue;
    numbers[id] = next;
    if (pair != pairs.end()) numbers[pair->second.index] = next;
    ++next;
  }
  return numbers;
}

// Region 1 of a reversal without what only the records need.
Graph gradients_alone(const Graph& region, const LoopReverseAttrs& attrs) {
  const ReversalLayout at(attrs, region);
  std::vector<std::size_t> order(at.inputs), outputs(at.results);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
  return regrouped(region, input_types(region), order, outputs);
}

class Settling {
 public:
  Settling(const Graph& source, const LoopMemory& memory)
      : source_(source), memory_(memory), pairs_(pairs_of(source)) {
    if (!memory.limits.empty()) numbers_ = numbers_of(source, pairs_);
  }

  Graph run() {
    target_.name = source_.name;
    image_.resize(source_.values().size());
    for (const Input& input : source_.inputs()) {
      const Value& value = source_[input.value];
      image_[input.value.index] = Var(builder_, target_.add_input(value.type, value.name, input.donated));
    }
    copy_checkpoints(source_, target_);
    for (std::size_t n = 0; n < source_.nodes().size(); ++n) settle(NodeId(n));
    for (ValueId v : source_.outputs()) target_.add_output(image_[v.index].id());
    copy_hints(source_, target_, 0, ids_of(image_));
    return std::move(target_);
  }

 private:
  struct Decision {
    std::optional<LoopRecords> records;
    std::int64_t slots = 0;
    std::optional<FileSlots> files;
    std::vector<Var> kept;  // by records: what the first loop stacked
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
  std::vector<Graph> settled_regions(NodeId id) const {
    std::vector<Graph> regions;
    for (const Graph& region : source_[id].regions)
      regions.push_back(settle_loops(region, limit_of(id).inside));
    return regions;
  }

  void settle(NodeId id) {
    const Node& node = source_[id];
    builder_.set_where(node.where);
    builder_.set_checkpoint(node.checkpoint);
    if (is_kept_loop(node)) {
      settle_loop(id);
    } else if (is_kept_while(node)) {
      settle_while(id);
    } else if (node.op == &op::loop_reverse) {
      settle_reversal(id);
    } else {
      define(node, builder_.call(*node.op, operands(node), node.attrs, settled_regions(id)));
    }
  }

  void settle_loop(NodeId id) {
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
      define(node, builder_.call(op::loop, operands(node), pack(attrs), settled_regions(id)));
      return;
    }
    const Node& reversal = source_[pair->second];
    Decision& decision = decisions_[pair->second.index];
    const LoopLimit given = limit_of(id);
    const std::int64_t limit = attrs.memory >= 0 ? std::min(given.own, attrs.memory) : given.own;
    LoopRecords records =
        records_of(unpack<LoopReverseAttrs>(reversal.attrs), settle_loops(reversal.regions[1], given.inside));
    const bool repeatable = is_repeatable(node.regions[0]);
    if (records.bytes(attrs.trips) > limit && repeatable && attrs.memory < 0) {
      const auto& reversed = unpack<LoopReverseAttrs>(reversal.attrs);
      for (const LeanerRecords& leaner : leaner_records(reversed, records.joint)) {
        if (attrs.trips * leaner.step_bytes > limit) continue;
        records = records_of(reversed, std::move(records.joint), leaner.again);
        break;
      }
    }
    if (records.bytes(attrs.trips) <= limit || !repeatable) {
      std::vector<Var> found = write_forward(builder_, records, attrs, operands(node));
      const std::size_t results = node.results.size() - static_cast<std::size_t>(attrs.carries);
      decision.kept.assign(found.begin(), found.end());
      found.resize(results);
      decision.records = std::move(records);
      define(node, found);
      return;
    }
    const std::int64_t state = std::max<std::int64_t>(1, state_bytes(source_, node));
    decision.slots = attrs.keep = std::clamp<std::int64_t>(limit / state, 1, attrs.trips);
    // A program that has no room for the buffers of transfers does without files.
    const bool room = given.own / state >= least_states_with_files;
    if (attrs.keep < attrs.trips && attrs.disk >= state && room) {
      decision.files = file_slots(attrs.trips, state, limit, attrs.disk);
      decision.slots = attrs.keep = 1;
    }
    define(node, builder_.call(op::loop, operands(node), pack(attrs), settled_regions(id)));
  }

  // All states where the number of steps is bounded and the memory is there, else as many as there is memory for.
  void settle_while(NodeId id) {
    const Node& node = source_[id];
    auto attrs = unpack<WhileAttrs>(node.attrs);
    std::int64_t state = 0;
    for (std::int64_t c = 0; c < attrs.carries; ++c)
      state += source_.type(node.operands[static_cast<std::size_t>(c)]).bytes();
    const std::int64_t given = limit_of(id).own;
    const std::int64_t limit = attrs.memory >= 0 ? std::min(given, attrs.memory) : given;
    const std::int64_t bound = attrs.max_steps >= 0        ? std::min(attrs.max_steps, most_slots)
                               : limit == unlimited_memory ? usual_slots
                                                           : most_slots;
    // What leaves the graph is reversed elsewhere, in the slots there are.
    if (!leaves(node, static_cast<std::size_t>(attrs.carries) + 1)) {
      attrs.keep = std::clamp<std::int64_t>(limit / std::max<std::int64_t>(1, state), 1,
                                            std::max<std::int64_t>(1, bound));
    }
    while_slots_[id.index] = attrs.keep;
    define(node, builder_.call(op::while_loop, operands(node), pack(attrs), settled_regions(id)));
  }

  bool leaves(const Node& node, std::size_t first_result) const {
    return std::any_of(node.results.begin() + static_cast<std::ptrdiff_t>(first_result), node.results.end(),
                       [&](ValueId v) { return std::ranges::count(source_.outputs(), v) > 0; });
  }

  bool snapshots_unread(const Node& node, const LoopAttrs& attrs) const {
    const std::vector<int> uses = use_counts(source_);
    return std::all_of(node.results.end() - static_cast<std::ptrdiff_t>(attrs.carries), node.results.end(),
                       [&](ValueId v) { return uses[v.index] == 0; });
  }

  void settle_reversal(NodeId id) {
    const Node& node = source_[id];
    auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    const auto found = decisions_.find(id.index);
    if (found != decisions_.end() && found->second.records) {
      // Snapshots have no image; the operands that matter come after them.
      define(node,
             write_backward(builder_, *found->second.records, attrs, operands(node), found->second.kept));
      return;
    }
    if (found != decisions_.end()) attrs.slots = found->second.slots;
    if (found != decisions_.end() && found->second.files) {
      attrs.memory_slots = found->second.files->memory;
      attrs.disk_slots = found->second.files->disk;
    }
    std::vector<Var> in = operands(node);
    if (attrs.unknown_length()) {
      const auto kept = while_slots_.find(source_[node.operands.back()].producer.index);
      if (kept != while_slots_.end()) attrs.slots = kept->second;
      // What it began with serves derivatives, of which there will be no more.
      if (attrs.begins) in.erase(in.end() - 2 - static_cast<std::ptrdiff_t>(attrs.carries), in.end() - 2);
      attrs.begins = false;
      attrs.summed.clear();
    }
    std::vector<Graph> regions = settled_regions(id);
    regions[1] = gradients_alone(regions[1], attrs);
    if (const Node* once = first_unrepeatable(regions[1])) {
      fail(ErrorCode::not_differentiable,
           {.what = fmt::format("the gradient of this loop runs its steps again, and {} may run only once",
                                once->op->name),
            .where = once->where.known() ? once->where : node.where,
            .help =
                "call it before the loop and pass in what it returns, or use repeat or scan, which keep what "
                "its steps return"});
    }
    define(node, builder_.call(op::loop_reverse, in, pack(attrs), std::move(regions)));
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

Graph settle_loops(const Graph& graph, const LoopMemory& memory) {
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), has_regions)) return graph;
  return Settling(graph, memory).run();
}

namespace {

// States in fewer and fewer slots, each a little less than three quarters of the one before, to one.
void add_slots(std::vector<std::int64_t>& limits, std::int64_t slots, std::int64_t state, std::int64_t most) {
  for (; slots >= 1; slots = slots > 3 ? slots * 12 / 17 : slots - 1) {
    const std::int64_t bytes = slots * std::max<std::int64_t>(1, state);
    if (bytes < limits.back() && bytes <= most) limits.push_back(bytes);
  }
  if (limits.back() > 0 && most < std::max<std::int64_t>(1, state)) limits.push_back(0);
}

std::int64_t own_most(std::int64_t given) { return given >= 0 ? given : unlimited_memory; }

}  // namespace

std::vector<LoopModes> loop_modes(const Graph& graph) {
  const std::map<std::uint32_t, NodeId> pairs = pairs_of(graph);
  std::vector<LoopModes> list;
  for (const auto& [n, number] : numbers_of(graph, pairs)) {
    if (number >= list.size()) list.resize(number + 1);
    LoopModes& modes = list[number];
    const Node& node = graph.nodes()[n];
    if (const auto pair = pairs.find(n); pair != pairs.end()) {
      const auto attrs = unpack<LoopAttrs>(node.attrs);
      const Node& back = graph[pair->second];
      const LoopRecords records =
          records_of(unpack<LoopReverseAttrs>(back.attrs), settle_loops(back.regions[1]));
      modes.own.push_back(unlimited_memory);
      if (is_repeatable(node.regions[0])) {
        std::int64_t least = records.bytes(attrs.trips);
        if (attrs.memory < 0) {
          for (const LeanerRecords& leaner :
               leaner_records(unpack<LoopReverseAttrs>(back.attrs), records.joint)) {
            least = attrs.trips * leaner.step_bytes;
            modes.own.push_back(least);
          }
        }
        // Fewer bytes than the records, or they are kept.
        add_slots(modes.own, attrs.trips, state_bytes(graph, node),
                  std::min(own_most(attrs.memory), least - 1));
      }
    } else if (is_kept_while(node)) {
      const auto attrs = unpack<WhileAttrs>(node.attrs);
      std::int64_t state = 0;
      for (std::int64_t c = 0; c < attrs.carries; ++c)
        state += graph.type(node.operands[static_cast<std::size_t>(c)]).bytes();
      modes.own.push_back(unlimited_memory);
      add_slots(modes.own, attrs.max_steps >= 1 ? std::min(attrs.max_steps, most_slots) : most_slots, state,
                own_most(attrs.memory));
    }
    LoopMemoryRange range;
    for (const Graph& region : node.regions) {
      const LoopMemoryRange here = loop_memory_range(region);
      if (!here.any) continue;
      range.least = range.any ? std::min(range.least, here.least) : here.least;
      range.most = std::max(range.most, here.most);
      range.any = true;
    }
    if (!range.any || !modes.inside.empty()) continue;
    modes.inside.push_back(unlimited_memory);
    for (std::int64_t bytes = range.most; bytes > range.least; bytes /= 2) modes.inside.push_back(bytes);
    modes.inside.push_back(0);
  }
  return list;
}

LoopMemoryRange loop_memory_range(const Graph& graph) {
  LoopMemoryRange range;
  const auto widen = [&](std::int64_t least, std::int64_t most) {
    range.least = range.any ? std::min(range.least, least) : least;
    range.most = std::max(range.most, most);
    range.any = true;
  };
  for (const auto& [loop, reversal] : pairs_of(graph)) {
    const Node &node = graph.nodes()[loop], &back = graph[reversal];
    const auto attrs = unpack<LoopAttrs>(node.attrs);
    const LoopRecords records =
        records_of(unpack<LoopReverseAttrs>(back.attrs), settle_loops(back.regions[1], unlimited_memory));
    const std::int64_t state = state_bytes(graph, node);
    widen(std::min(state, records.bytes(attrs.trips)),
          std::max(attrs.trips * state, records.bytes(attrs.trips)));
  }
  for (const Node& node : graph.nodes()) {
    if (is_kept_while(node)) {
      const auto attrs = unpack<WhileAttrs>(node.attrs);
      std::int64_t state = 0;
      for (std::int64_t c = 0; c < attrs.carries; ++c)
        state += graph.type(node.operands[static_cast<std::size_t>(c)]).bytes();
      widen(state, state * (attrs.max_steps >= 1 ? std::min(attrs.max_steps, most_slots) : most_slots));
    }
    for (const Graph& region : node.regions) {
      const LoopMemoryRange inside = loop_memory_range(region);
      if (inside.any) widen(inside.least, inside.most);
    }
  }
  return range;
}

}  // namespace tidemark
