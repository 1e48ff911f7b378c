#include "tidemark/ops/control/loop_forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark {
namespace {

LoopForecast forecast_of(const Graph& graph, const Node& node, const LoopReverseAttrs& attrs) {
  LoopForecast forecast{.where = node.where, .trips = attrs.trips, .slots = attrs.slots};
  for (std::int64_t c = 0; c < attrs.carries; ++c)
    forecast.state_bytes += slice_of(graph.type(node.operands[static_cast<std::size_t>(c)])).bytes();
  forecast.forward_steps = attrs.trips + schedule::least_advances(attrs.trips + 1, attrs.slots);
  if (attrs.again) forecast.forward_steps += attrs.trips;
  return forecast;
}

// Segments come from the last to the first. What the last keeps is read at once and does not wait, and what
// the first begins with is there anyway.
void add_segment(LoopForecast& whole, const LoopForecast& segment, const LoopReverseAttrs& attrs) {
  whole.trips += segment.trips;
  whole.slots = std::max(whole.slots, segment.slots);
  whole.forward_steps += segment.forward_steps;
  whole.segments += 1;
  const bool is_first = whole.trips == attrs.whole;
  whole.disk_slots += !attrs.again ? segment.slots : is_first ? 0 : 1;
}

}  // namespace

std::vector<LoopForecast> loop_forecasts(const Graph& graph) {
  std::vector<LoopForecast> list;
  bool goes_on = false;  // the latest is a segment, and others follow
  for (const Node& node : graph.nodes()) {
    if (node.op != &op::loop_reverse) continue;
    const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    if (attrs.unknown_length()) continue;
    const LoopForecast forecast = forecast_of(graph, node, attrs);
    if (goes_on) {
      add_segment(list.back(), forecast, attrs);
    } else {
      list.push_back(forecast);
    }
    goes_on = list.back().trips < attrs.whole;
  }
  return list;
}

std::string to_text(const std::vector<LoopForecast>& forecasts) {
  std::string text;
  for (const LoopForecast& f : forecasts) {
    const std::string cut = f.segments > 1
                                ? fmt::format(" in {} segments, {} wait on the disk ({})", f.segments,
                                              f.disk_slots, to_string(Bytes(f.disk_slots * f.state_bytes)))
                                : "";
    text += fmt::format("{:<18}{} steps{}, {} states of {} kept{}, {} forward steps ({:.2f} each)\n", "loop",
                        f.trips, f.where.known() ? fmt::format(" ({})", short_form(f.where)) : "", f.slots,
                        to_string(Bytes(f.state_bytes)), cut, f.forward_steps,
                        static_cast<double>(f.forward_steps) / static_cast<double>(f.trips));
  }
  return text;
}

}  // namespace tidemark
