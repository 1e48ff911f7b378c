#include "tidemark/ops/control/loop_forecast.h"

#include <fmt/format.h>

#include "tidemark/base/bytes.h"
#include "tidemark/ops/control/loop_files.h"
#include "tidemark/ops/registry.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark {

std::vector<LoopForecast> loop_forecasts(const Graph& graph,
                                         const std::function<std::vector<RegionFacts>(NodeId)>& planned) {
  std::vector<LoopForecast> list;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.op != &op::loop_reverse) continue;
    const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    if (attrs.unknown_length()) continue;
    LoopForecast forecast{.where = node.where, .trips = attrs.trips, .slots = attrs.slots};
    for (std::int64_t c = 0; c < attrs.carries; ++c)
      forecast.state_bytes += slice_of(graph.type(node.operands[static_cast<std::size_t>(c)])).bytes();
    if (attrs.uses_files()) {
      const std::vector<RegionFacts> facts = planned ? planned(NodeId(n)) : std::vector<RegionFacts>();
      const auto files = schedule::make_schedule(
          files_question(attrs, forecast.state_bytes, facts.empty() ? nullptr : facts.data()));
      // The first state, those the schedule keeps, and the sweep of the loop itself before it.
      forecast.slots = 1 + files->promise().peak_slots[0];
      forecast.disk_slots = files->promise().peak_slots[1];
      forecast.forward_steps = attrs.trips + files->promise().total_forward();
    } else {
      forecast.forward_steps = attrs.trips + schedule::least_advances(attrs.trips + 1, attrs.slots);
    }
    list.push_back(forecast);
  }
  return list;
}

std::string to_text(const std::vector<LoopForecast>& forecasts) {
  std::string text;
  for (const LoopForecast& f : forecasts) {
    const std::string in_files = f.disk_slots > 0
                                     ? fmt::format(", {} in files ({} on disk)", f.disk_slots,
                                                   to_string(Bytes(f.disk_slots * f.state_bytes)))
                                     : "";
    text += fmt::format("{:<18}{} steps{}, {} states of {} kept{}, {} forward steps ({:.2f} each)\n", "loop",
                        f.trips, f.where.known() ? fmt::format(" ({})", short_form(f.where)) : "", f.slots,
                        to_string(Bytes(f.state_bytes)), in_files, f.forward_steps,
                        static_cast<double>(f.forward_steps) / static_cast<double>(f.trips));
  }
  return text;
}

}  // namespace tidemark
