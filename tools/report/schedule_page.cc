#include "tools/report/schedule_page.h"

#include <fmt/format.h>

#include "tidemark/base/bytes.h"
#include "tidemark/plan/report/page.h"
#include "tidemark/schedule/staircase.h"

namespace tidemark::cli {

std::string schedule_page(const schedule::Schedule& schedule, bool in_bytes) {
  const schedule::Promise& promise = schedule.promise();
  schedule::StaircaseHead head{.title = "Which state is worked on, and what is stored meanwhile"};
  head.figures = {{"forward steps", fmt::format("{}", promise.total_forward())},
                  {"of them recorded", fmt::format("{}", promise.recorded)},
                  {"cost", fmt::format("{:.10g}", promise.cost)}};
  for (std::size_t i = 0; i < promise.peak_slots.size(); ++i) {
    const std::string level = promise.peak_slots.size() > 1 ? fmt::format("level {}: ", i) : "";
    head.figures.emplace_back(level + "most states stored", fmt::format("{}", promise.peak_slots[i]));
    if (in_bytes) head.figures.emplace_back(level + "most bytes", to_string(Bytes(promise.peak_bytes[i])));
    head.figures.emplace_back(level + "writes, reads",
                              fmt::format("{}, {}", promise.writes[i], promise.reads[i]));
  }
  return page_html({.title = fmt::format("{} schedule of {} steps", name_of(promise.kind), promise.steps),
                    .notes = {fmt::format("Reversing {} steps takes {} forward steps, {:.3f} for each.",
                                          promise.steps, promise.total_forward(), promise.overhead())},
                    .staircases = {staircase_json(schedule, head)}});
}

}  // namespace tidemark::cli
