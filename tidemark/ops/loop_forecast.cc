#include "tidemark/ops/loop_forecast.h"

#include <fmt/format.h>

#include "tidemark/base/bytes.h"
#include "tidemark/ops/loop_reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/schedule/binomial_count.h"

namespace tidemark {

std::vector<LoopForecast> loop_forecasts(const Graph& graph) {
  std::vector<LoopForecast> list;
  for (const Node& node : graph.nodes()) {
    if (node.op != &op::loop_reverse) continue;
    const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    if (attrs.unknown_length()) continue;
    LoopForecast forecast{.where = node.where, .trips = attrs.trips, .slots = attrs.slots};
    for (std::int64_t c = 0; c < attrs.carries; ++c)
      forecast.state_bytes += slice_of(graph.type(node.operands[static_cast<std::size_t>(c)])).bytes();
    forecast.forward_steps = attrs.trips + schedule::least_advances(attrs.trips + 1, attrs.slots);
    list.push_back(forecast);
  }
  return list;
}

std::string to_text(const std::vector<LoopForecast>& forecasts) {
  std::string text;
  for (const LoopForecast& f : forecasts) {
    text += fmt::format("{:<18}{} steps{}, {} states of {} kept, {} forward steps ({:.2f} each)\n", "loop",
                        f.trips, f.where.known() ? fmt::format(" ({})", short_form(f.where)) : "", f.slots,
                        to_string(Bytes(f.state_bytes)), f.forward_steps,
                        static_cast<double>(f.forward_steps) / static_cast<double>(f.trips));
  }
  return text;
}

}  // namespace tidemark
