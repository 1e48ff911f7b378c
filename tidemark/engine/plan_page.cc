#include "tidemark/engine/plan_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/ops/control/loop_forecast.h"
#include "tidemark/schedule/staircase.h"

namespace tidemark {

std::vector<std::string> loop_staircases(const Graph& graph) {
  std::vector<std::string> list;
  for (const LoopForecast& loop : loop_forecasts(graph)) {
    // The loop runs to its end before anything is reversed: what follows it is one more step.
    const std::int64_t steps = loop.trips / loop.segments + 1;
    const std::int64_t slots = std::clamp<std::int64_t>(loop.slots, 1, steps);
    const auto made = schedule::make_schedule(
        {.steps = steps, .kind = schedule::Kind::binomial, .levels = {{.slots = slots}}});
    schedule::StaircaseHead head{.title = fmt::format("Loop of {} steps", loop.trips), .where = loop.where};
    head.figures = {{"states kept", fmt::format("{} of {}", loop.slots, to_string(Bytes(loop.state_bytes)))},
                    {"forward steps",
                     fmt::format("{} ({:.2f} each)", loop.forward_steps,
                                 static_cast<double>(loop.forward_steps) / static_cast<double>(loop.trips))}};
    head.figures.emplace_back("drawn", "with what follows the loop as its last step");
    if (loop.segments > 1) {
      head.figures.emplace_back("segments", fmt::format("{}, of which one is drawn", loop.segments));
      head.figures.emplace_back("on the disk", fmt::format("{} states", loop.disk_slots));
    }
    list.push_back(staircase_json(*made, head));
  }
  return list;
}

PageContent page_content(std::string title, const Graph& graph, const Plan& plan, const Target& target,
                         const Machine& machine) {
  return {.title = std::move(title),
          .plans = {{graph, plan}},
          .target = &target,
          .machine = &machine,
          .staircases = loop_staircases(graph)};
}

}  // namespace tidemark
