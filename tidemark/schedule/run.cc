#include "tidemark/schedule/run.h"

#include <chrono>

#include "tidemark/base/check.h"
#include "tidemark/schedule/run_actions.h"

namespace tidemark::schedule::detail {

Report run(Simulation& simulation, const Schedule& schedule, const RunOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  Report report;
  report.promise = schedule.promise();
  const std::size_t count = std::max(report.promise.slots.size(), options.levels.size());
  std::vector<OpenLevel> levels(count);
  report.levels.resize(count);
  for (std::size_t l = 0; l < count; ++l) {
    const std::int64_t budget = l < options.levels.size() ? options.levels[l].bytes.count : -1;
    auto memory = std::make_unique<MemoryStore>(budget);
    levels[l] = {.store = nullptr, .memory = memory.get(), .budget = budget};
    levels[l].store = std::move(memory);
    report.levels[l].place = "memory";
  }
  RunActions actions(simulation, std::move(levels), options, report);
  const auto stream = schedule.actions();
  for (Action action; stream->next(action);) actions.perform(action);
  for (std::size_t l = 0; l < count; ++l) {
    const SlotTable::LevelTotals& totals = actions.table().totals(static_cast<int>(l));
    report.levels[l].slots = l < report.promise.slots.size() ? report.promise.slots[l] : 0;
    report.levels[l].peak_slots = totals.peak_slots;
    report.levels[l].peak_bytes = Bytes(totals.peak_bytes);
  }
  report.hashed = actions.hashes().hashed;
  report.compared = actions.hashes().compared;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  actions.report_progress(true);
  return report;
}

}  // namespace tidemark::schedule::detail
