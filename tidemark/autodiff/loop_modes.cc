// What lower_loops.h has to choose from.
#include <algorithm>

#include "tidemark/autodiff/loop_pairs.h"
#include "tidemark/autodiff/loop_records.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/control/while_loop.h"

namespace tidemark {
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
  const std::map<std::uint32_t, NodeId> pairs = loop_pairs(graph);
  std::vector<LoopModes> list;
  for (const auto& [n, number] : loop_numbers(graph, pairs)) {
    if (number >= list.size()) list.resize(number + 1);
    LoopModes& modes = list[number];
    const Node& node = graph.nodes()[n];
    if (const auto pair = pairs.find(n); pair != pairs.end()) {
      const auto attrs = unpack<LoopAttrs>(node.attrs);
      const Node& back = graph[pair->second];
      const LoopRecords records =
          records_of(unpack<LoopReverseAttrs>(back.attrs), lower_loops(back.regions[1]));
      modes.own.push_back(unlimited_memory);
      modes.records = {records.bytes(attrs.trips)};
      if (modes.records[0] <= own_most(attrs.memory)) modes.trips = attrs.trips;
      if (!first_unreplayable(node.regions[0])) {
        std::int64_t least = records.bytes(attrs.trips);
        if (attrs.memory < 0) {
          for (const LeanerRecords& leaner :
               leaner_records(unpack<LoopReverseAttrs>(back.attrs), records.joint)) {
            least = attrs.trips * leaner.step_bytes;
            modes.own.push_back(least);
            modes.records.push_back(least);
          }
        }
        // Fewer bytes than the records, or they are kept.
        add_slots(modes.own, attrs.trips, state_bytes(graph, node),
                  std::min(own_most(attrs.memory), least - 1));
      }
    } else if (is_kept_while(node)) {
      const auto attrs = unpack<WhileAttrs>(node.attrs);
      const std::int64_t state = while_state_bytes(graph, node);
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
  for (const auto& [loop, reversal] : loop_pairs(graph)) {
    const Node &node = graph.nodes()[loop], &back = graph[reversal];
    const auto attrs = unpack<LoopAttrs>(node.attrs);
    const LoopRecords records =
        records_of(unpack<LoopReverseAttrs>(back.attrs), lower_loops(back.regions[1], unlimited_memory));
    const std::int64_t state = state_bytes(graph, node);
    widen(std::min(state, records.bytes(attrs.trips)),
          std::max(attrs.trips * state, records.bytes(attrs.trips)));
  }
  for (const Node& node : graph.nodes()) {
    if (is_kept_while(node)) {
      const auto attrs = unpack<WhileAttrs>(node.attrs);
      const std::int64_t state = while_state_bytes(graph, node);
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
