// From options to a question: sizes and costs that are not given are measured on the simulation itself. A run
// that is resumed takes the question it was begun with.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/base/json_reader.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/schedule/run/run_session.h"

namespace tidemark::schedule::detail {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t most_measured_bytes = std::int64_t{1} << 48;  // of a record

bool keeps_records(Kind kind) {
  return kind == Kind::automatic || kind == Kind::store_all || kind == Kind::uniform || kind == Kind::mixed;
}

// Seconds to write one state to a file of the level, the slower of two.
double write_seconds(const std::shared_ptr<const Folder>& folder, std::span<const std::byte> state,
                     const RunOptions& options) {
  double slowest = 0;
  SnapshotFiles files({folder},
                      {.block_bytes = state.size(),
                       .direct = options.direct,
                       .durable = options.durable,
                       .unnamed = options.unnamed},
                      make_io_queue(options.io, 4));
  for (std::int32_t slot = 0; slot < 2; ++slot) {
    slowest = std::max(slowest, seconds_taken([&] {
                         std::copy(state.begin(), state.end(), files.open(0, slot, state.size()).begin());
                         files.close(0, slot, {});
                         files.drain();
                       }));
    files.drop(0, slot, false);
  }
  return slowest;
}

// Takes steps 0 and 1 and puts the state back. Returns how many steps were taken.
Step measure(Simulation& simulation, const RunOptions& options, const RunFolders& folders,
             Question& question) {
  const bool needs_record = options.record_bytes < 0 && keeps_records(options.kind);
  const bool needs_costs =
      std::any_of(options.levels.begin(), options.levels.end(), [](const RunLevel& level) {
        return !level.directory.empty() && (level.write_cost < 0 || level.read_cost < 0);
      });
  if (!needs_record && !needs_costs) return 0;
  std::vector<std::byte> start(simulation.state_bytes());
  simulation.save_state(start);
  Step taken = 0;
  if (needs_record) {
    simulation.record(0);
    question.record_bytes = std::max<std::int64_t>(static_cast<std::int64_t>(simulation.record_bytes()), 1);
    simulation.load_state(start);
    ++taken;
  }
  if (needs_costs) {
    const Step steps = std::min<Step>(question.steps, 2);
    const double step = seconds_taken([&] { simulation.advance({0, steps}); }) / static_cast<double>(steps);
    simulation.load_state(start);
    taken += steps;
    for (std::size_t l = 0; l < options.levels.size(); ++l) {
      const RunLevel& level = options.levels[l];
      if (level.directory.empty()) continue;
      const double cost = write_seconds(folders.by_level()[l], start, options) / std::max(step, 1e-9);
      // A file that was just written is read from memory: the time of the write is nearer to the truth.
      if (level.write_cost < 0) question.levels[l].write_cost = cost;
      if (level.read_cost < 0) question.levels[l].read_cost = cost;
    }
  }
  return taken;
}

std::string plan_of(const Question& question) {
  Json levels = Json::array();
  for (const Level& level : question.levels)
    levels.push_back({level.slots, level.bytes, level.write_cost, level.read_cost});
  return Json{{"steps", question.steps},
              {"kind", name_of(question.kind)},
              {"state_bytes", question.state_bytes},
              {"record_bytes", question.record_bytes},
              {"levels", levels}}
      .dump();
}

// The question of an interrupted run: `asked`, with what was measured then. Nothing when the plan is not of
// that form.
std::optional<Question> question_of(const std::string& plan, Question asked) {
  constexpr static JsonFileKind journaled_plan{"plan of a run", ErrorCode::run_directory};
  const auto cost_of = [](const JsonReader& value) {
    const double cost = value.number();
    if (!(cost >= 0 && cost <= 1e15)) value.reject("no cost");
    return cost;
  };
  try {
    const JsonDocument document(plan, journaled_plan);
    const JsonReader root(document), levels = root.field("levels");
    std::size_t l = 0;
    levels.each([&](const JsonReader& level) {
      std::vector<JsonReader> entries;
      level.each([&](const JsonReader& entry) { entries.push_back(entry); });
      if (l == asked.levels.size() || entries.size() != 4) level.reject("no level of this call");
      asked.levels[l].write_cost = cost_of(entries[2]);
      asked.levels[l].read_cost = cost_of(entries[3]);
      ++l;
    });
    if (l != asked.levels.size()) levels.reject("fewer levels than this call has");
    asked.record_bytes = root.field("record_bytes").integer(1, most_measured_bytes);
    return asked;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// What was given, and not measured, is as in the call; and there is one way to write a plan.
Question require_question(const std::string& plan, const Question& asked, const RunOptions& options,
                          const std::string& path) {
  const std::optional<Question> found = question_of(plan, asked);
  bool same = found && plan_of(*found) == plan;
  if (same && (options.record_bytes >= 0 || !keeps_records(options.kind)))
    same = found->record_bytes == asked.record_bytes;
  for (std::size_t l = 0; same && l < options.levels.size(); ++l) {
    const RunLevel& level = options.levels[l];
    const bool in_memory = level.directory.empty();
    same = (!(in_memory || level.write_cost >= 0) ||
            found->levels[l].write_cost == asked.levels[l].write_cost) &&
           (!(in_memory || level.read_cost >= 0) || found->levels[l].read_cost == asked.levels[l].read_cost);
  }
  if (!same) refuse_journal(path, fmt::format("its plan is not for this call: {}", plan.substr(0, 300)));
  return *found;
}

Question ask(Simulation& simulation, Step steps, const RunOptions& options) {
  Question question;
  question.steps = steps;
  question.kind = options.kind;
  question.state_bytes = std::max<std::int64_t>(
      options.state_bytes >= 0 ? options.state_bytes : static_cast<std::int64_t>(simulation.state_bytes()),
      1);
  question.record_bytes = std::max<std::int64_t>(options.record_bytes, 1);
  for (const RunLevel& level : options.levels)
    question.levels.push_back({.slots = level.slots,
                               .bytes = level.bytes.count,
                               .write_cost = std::max(level.write_cost, 0.0),
                               .read_cost = std::max(level.read_cost, 0.0)});
  if (options.levels.empty()) question.levels.emplace_back();  // any number of slots
  return question;
}

}  // namespace

Report run(Simulation& simulation, Step steps, const RunOptions& options) {
  if (steps < 1)
    fail(ErrorCode::bad_run_option,
         {.what = fmt::format("a run of {} steps", steps), .expected = "at least one step"});
  if (options.memory_left) return run_within_memory_left(simulation, steps, options);
  RunFolders folders(options);
  Resumable resumable = look_for_run(simulation, steps, options, folders);
  Question question;
  Step repeated = 0;
  question = ask(simulation, steps, options);
  if (resumable.journaled) {
    question = require_question(resumable.journaled->plan, question, options, folders.journal());
  } else {
    repeated = measure(simulation, options, folders, question);
  }
  RunOptions known = options;
  known.record_bytes = question.record_bytes;
  Report report =
      run_session(simulation, *make_schedule(question), known, folders, resumable, plan_of(question));
  report.repeated += repeated;
  return report;
}

}  // namespace tidemark::schedule::detail
