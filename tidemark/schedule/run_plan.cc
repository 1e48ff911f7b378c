// From options to a question: sizes and costs that are not given are measured on the simulation itself.
#include <fmt/format.h>

#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run.h"

namespace tidemark::schedule::detail {

namespace {

bool keeps_records(Kind kind) {
  return kind == Kind::automatic || kind == Kind::store_all || kind == Kind::uniform || kind == Kind::mixed;
}

}  // namespace

Report run(Simulation& simulation, Step steps, const RunOptions& options) {
  if (steps < 1)
    fail(ErrorCode::bad_run_option,
         {.what = fmt::format("a run of {} steps", steps), .expected = "at least one step"});
  RunOptions measured = options;
  if (measured.state_bytes < 0) measured.state_bytes = static_cast<std::int64_t>(simulation.state_bytes());
  Step repeated = 0;
  if (measured.record_bytes < 0 && keeps_records(options.kind)) {
    std::vector<std::byte> start(simulation.state_bytes());
    simulation.save_state(start);
    simulation.record(0);
    measured.record_bytes = static_cast<std::int64_t>(simulation.record_bytes());
    simulation.load_state(start);
    ++repeated;
  }
  Question question;
  question.steps = steps;
  question.kind = options.kind;
  question.state_bytes = measured.state_bytes;
  question.record_bytes = std::max<std::int64_t>(measured.record_bytes, 1);
  for (const RunLevel& level : options.levels)
    question.levels.push_back({.slots = level.slots,
                               .bytes = level.bytes.count,
                               .write_cost = std::max(level.write_cost, 0.0),
                               .read_cost = std::max(level.read_cost, 0.0)});
  if (options.levels.empty()) question.levels.emplace_back();  // any number
  Report report = run(simulation, *make_schedule(question), measured);
  report.repeated += repeated;
  return report;
}

}  // namespace tidemark::schedule::detail
