#include "tidemark/schedule/run/run_resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tidemark/base/error.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

std::string identity_of(const Simulation& simulation, Step steps, const RunOptions& options) {
  std::vector<std::byte> bytes(simulation.state_bytes());
  simulation.save_state(bytes);
  const std::uint64_t state = checksum(bytes);
  bytes.resize(simulation.adjoint_bytes());
  simulation.save_adjoint(bytes);
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (const RunLevel& level : options.levels)
    levels.push_back(
        {{"slots", level.slots}, {"bytes", level.bytes.count}, {"files", !level.directory.empty()}});
  return nlohmann::ordered_json{{"format", 2},
                                {"number of steps", steps},
                                {"bytes of a state", simulation.state_bytes()},
                                {"bytes of the adjoint", simulation.adjoint_bytes()},
                                {"kind", name_of(options.kind)},
                                {"levels", levels},
                                {"initial state (hash)", state},
                                {"initial adjoint (hash)", checksum(bytes)}}
      .dump();
}

namespace {

using Json = nlohmann::ordered_json;

// Identities are compared and shown whatever they hold, not read field by field (base/json_reader.h). Nothing
// is taken that is deeper than one of ours: what is printed must not be as deep as a stranger likes.
Json parse_shallow(const std::string& text) {
  constexpr int deepest = 3;
  return Json::parse(
      text, [](int depth, Json::parse_event_t, Json&) { return depth <= deepest; }, false);
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200);
}

}  // namespace

void require_same(const std::string& journaled, const std::string& now, const std::string& folder) {
  if (journaled == now) return;
  const Json before = parse_shallow(journaled), after = parse_shallow(now);
  if (before.is_object())
    for (const auto& [key, value] : after.items())
      if (!before.contains(key) || before[key] != value)
        fail(ErrorCode::run_directory,
             {.what = fmt::format("{} holds another run: its {} is {}, here it is {}", folder, key,
                                  before.contains(key) ? text_of(before[key]) : "not said", text_of(value)),
              .expected = "the run that was interrupted, with the same arguments",
              .help = "give the run another name, remove the folder, or say resume = false to begin anew"});
  fail(ErrorCode::run_directory, {.what = fmt::format("{} holds a run of another version", folder),
                                  .help = "remove the folder, or give the run another name"});
}

namespace {

// Where in the schedule a keeper writes adjoints: before it reads or fills a file, and where the steps have
// ended.
bool may_hold_adjoint(const Action& action, const std::vector<bool>& files, bool at_end) {
  const bool in_files = action.level >= 0 && static_cast<std::size_t>(action.level) < files.size() &&
                        files[static_cast<std::size_t>(action.level)];
  const bool moves = action.kind == ActionKind::load || action.kind == ActionKind::store ||
                     action.kind == ActionKind::record;
  return at_end || (in_files && moves);
}

bool is_of(const Commit& commit, const Action& action) {
  const bool keeps = action.kind == ActionKind::store || action.kind == ActionKind::record;
  return keeps && commit.level == action.level && commit.slot == action.slot &&
         commit.content.step == action.step &&
         commit.content.is_record == (action.kind == ActionKind::record);
}

}  // namespace

std::uint64_t resume_position(ActionStream& scout, const Journaled& journaled, const std::vector<bool>& files,
                              const std::string& path) {
  std::unordered_map<std::uint64_t, std::vector<const Commit*>> stored;
  for (const Commit& commit : journaled.stores)
    if (commit.content.action != Content::not_scheduled) stored[commit.content.action].push_back(&commit);
  const std::uint64_t start = journaled.adjoint ? journaled.adjoint->content.action : 0;
  std::uint64_t position = 0, best = start;
  Step at = 0;
  Action action;
  for (; scout.next(action); ++position) {
    if (position == start && journaled.adjoint) {
      const Step step = journaled.adjoint->content.step;
      const bool at_end = journaled.length && at == *journaled.length;
      if (at != step || !may_hold_adjoint(action, files, at_end))
        refuse_journal(path,
                       fmt::format("an adjoint of action {} at state {}, where the schedule has {} {} at "
                                   "state {}",
                                   position, step, name_of(action.kind), action.step, at));
    }
    const auto found = stored.find(position);
    if (found != stored.end())
      for (const Commit* commit : found->second)
        if (!is_of(*commit, action))
          refuse_journal(
              path, fmt::format("action {} stored state {} in slot {} of level {}, where the schedule has "
                                "{} {}",
                                position, commit->content.step, commit->slot, commit->level,
                                name_of(action.kind), action.step));
    if (position >= start) {
      if (action.kind == ActionKind::reverse) break;
      const bool keeps = action.kind == ActionKind::store || action.kind == ActionKind::record;
      if (keeps && action.level >= 0 && files[static_cast<std::size_t>(action.level)]) {
        if (found == stored.end()) break;
        best = position + 1;
      }
    }
    if (action.kind == ActionKind::advance) at = action.to;
    if (action.kind == ActionKind::record) at = action.step + 1;
    if (action.kind == ActionKind::load) at = action.step;
  }
  if (position < start)
    refuse_journal(path, fmt::format("an adjoint of action {}, of {} in all", start, position));
  return best;
}

namespace {

// The file with the latest state at or before `step`.
SlotTable::StateSlot latest_in_files(const RunActions& actions, Step step) {
  SlotTable::StateSlot best;
  for (std::size_t l = 0; l < actions.table().levels(); ++l) {
    if (!actions.in_files(static_cast<int>(l))) continue;
    const auto& slots = actions.table().slots(static_cast<int>(l));
    for (std::size_t s = 0; s < slots.size(); ++s)
      if (!slots[s].is_record && slots[s].step <= step && slots[s].step > best.step)
        best = {static_cast<int>(l), static_cast<std::int32_t>(s), slots[s].step};
  }
  return best;
}

// Forward to state `step` from where the working state is, or from a file in between. A damaged one is made
// again.
void go_forward(RunActions& actions, Step step) {
  const SlotTable::StateSlot from = latest_in_files(actions, step);
  if (from.step > actions.at() && !actions.try_load(from.level, from.slot, from.step)) {
    const Step before = actions.at();
    go_forward(actions, from.step - 1);
    actions.repeat_to(from.step);
    actions.replace(from.level, from.slot, before);
  }
  actions.repeat_to(step);
}

struct Lost {
  Step step;
  bool is_record;
  int level;
  std::int32_t slot;
};

}  // namespace

void restore(RunActions& actions, Simulation& simulation, const Journaled& journaled, SnapshotFiles& files,
             const RunFolders& folders, std::uint64_t position, const std::function<bool(Action&)>& skip,
             const std::function<const Action*()>& peek, Report& report) {
  simulation.log.restore(journaled.log_entry_bytes, journaled.log);
  actions.hashes().restore(journaled.hashes, journaled.hash_words);
  for (Action action; actions.position() < position && skip(action);) actions.skip(action);

  std::vector<std::string> keep;
  if (journaled.adjoint) keep.push_back(SnapshotFiles::name_of(working, 0, journaled.adjoint->generation));
  std::vector<Lost> lost;
  for (std::size_t l = 0; l < actions.table().levels(); ++l) {
    const auto& slots = actions.table().slots(static_cast<int>(l));
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (slots[s].step < 0) continue;
      const int level = static_cast<int>(l);
      const auto slot = static_cast<std::int32_t>(s);
      if (!actions.in_files(level)) {
        lost.push_back({slots[s].step, slots[s].is_record, level, slot});
        continue;
      }
      const auto written =
          std::find_if(journaled.stores.rbegin(), journaled.stores.rend(), [&](const Commit& c) {
            return c.level == level && c.slot == slot && c.content.step == slots[s].step &&
                   c.content.is_record == slots[s].is_record;
          });
      if (written == journaled.stores.rend())
        refuse_journal(folders.journal(), fmt::format("nothing says where state {} in slot {} of level {} is",
                                                      slots[s].step, slot, level));
      files.adopt(*written);
      keep.push_back(SnapshotFiles::name_of(level, slot, written->generation));
    }
  }
  files.adopt_generation(journaled.next_generation);
  folders.clean(keep);

  // Memory is lost: its states and records are computed again, in their order, from files and the initial
  // state.
  const Step at = actions.at(), record = actions.working_record();
  if (record >= 0) lost.push_back({record, true, working, 0});
  std::sort(lost.begin(), lost.end(), [](const Lost& a, const Lost& b) {
    return a.step != b.step ? a.step < b.step : a.is_record < b.is_record;
  });
  actions.begin_at(0);
  // The one snapshot that nothing else could heal: the caller has just given it again.
  const SlotTable::StateSlot first = latest_in_files(actions, 0);
  if (first.step == 0 && !actions.try_load(first.level, first.slot, 0))
    actions.replace(first.level, first.slot, 0);
  for (const Lost& one : lost) {
    go_forward(actions, one.step);
    if (one.is_record)
      actions.repeat_record(one.level, one.slot);
    else
      actions.fill_state(one.level, one.slot, Content::not_scheduled);
  }
  const Action* next = peek();
  if (!next || next->kind != ActionKind::load) {
    if (actions.at() > at) {
      const SlotTable::StateSlot from = actions.table().latest_state(at);
      actions.load(from.level, from.slot, from.step);
    }
    go_forward(actions, at);
  }
  const Step reversed = actions.reversed();
  report.resumed = Resumed{.in_reverse = reversed > 0,
                           .step = reversed > 0 ? report.promise.steps - reversed : at,
                           .actions = position};
}

}  // namespace tidemark::schedule
