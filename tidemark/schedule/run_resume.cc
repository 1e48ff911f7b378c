#include "tidemark/schedule/run_resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "tidemark/base/error.h"
#include "tidemark/schedule/checksum.h"

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
  return nlohmann::ordered_json{{"format", 1},
                                {"number of steps", steps},
                                {"bytes of a state", simulation.state_bytes()},
                                {"bytes of the adjoint", simulation.adjoint_bytes()},
                                {"kind", name_of(options.kind)},
                                {"levels", levels},
                                {"initial state (hash)", state},
                                {"initial adjoint (hash)", checksum(bytes)}}
      .dump();
}

void require_same(const std::string& journaled, const std::string& now, const std::string& folder) {
  if (journaled == now) return;
  const auto before = nlohmann::ordered_json::parse(journaled), after = nlohmann::ordered_json::parse(now);
  for (const auto& [key, value] : after.items())
    if (!before.contains(key) || before[key] != value)
      fail(ErrorCode::run_directory,
           {.what = fmt::format("{} holds another run: its {} is {}, here it is {}", folder, key,
                                before.contains(key) ? before[key].dump() : "not said", value.dump()),
            .expected = "the run that was interrupted, with the same arguments",
            .help = "give the run another name, remove the folder, or say resume = false to begin anew"});
  fail(ErrorCode::run_directory, {.what = fmt::format("{} holds a run of another version", folder),
                                  .help = "remove the folder, or give the run another name"});
}

std::uint64_t resume_position(ActionStream& scout, const Journaled& journaled,
                              const std::vector<bool>& files) {
  std::unordered_set<std::uint64_t> stored;
  for (const Commit& commit : journaled.stores) stored.insert(commit.content.action);
  const std::uint64_t start = journaled.adjoint ? journaled.adjoint->content.action : 0;
  std::uint64_t position = 0, best = start;
  for (Action action; scout.next(action); ++position) {
    if (position < start) continue;
    if (action.kind == ActionKind::reverse) break;
    const bool keeps = action.kind == ActionKind::store || action.kind == ActionKind::record;
    if (!keeps || action.level < 0 || !files[static_cast<std::size_t>(action.level)]) continue;
    if (!stored.contains(position)) break;
    best = position + 1;
  }
  return best;
}

bool load_adjoint(Simulation& simulation, const Journaled& journaled, const SnapshotFiles& files) {
  if (!journaled.adjoint) return true;
  const Commit& commit = *journaled.adjoint;
  std::ifstream file(files.path(working, 0, commit.generation), std::ios::binary);
  const std::vector<char> text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.size() < files.header_bytes() + commit.bytes) return false;
  const auto payload = std::as_bytes(std::span(text)).subspan(files.header_bytes(), commit.bytes);
  if (checksum(payload) != commit.checksum) return false;
  simulation.load_adjoint(payload);
  return true;
}

namespace {

// The file with the latest state at or before `step`.
SlotTable::Place latest_in_files(const RunActions& actions, Step step) {
  SlotTable::Place best;
  for (std::size_t l = 0; l < actions.table().levels(); ++l) {
    if (!actions.in_files(static_cast<int>(l))) continue;
    const auto& slots = actions.table().slots(static_cast<int>(l));
    for (std::size_t s = 0; s < slots.size(); ++s)
      if (!slots[s].is_record && slots[s].step <= step && slots[s].step > best.step)
        best = {static_cast<int>(l), static_cast<std::int32_t>(s), slots[s].step};
  }
  return best;
}

// Forward to state `step` from where the working state is, or from a file in between. A damaged one is made again.
void go_forward(RunActions& actions, Step step) {
  const SlotTable::Place from = latest_in_files(actions, step);
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
  actions.hashes().restore(0, journaled.hashes);
  for (Action action; actions.position() < position && skip(action);) actions.skip(action);

  std::vector<std::string> keep;
  if (journaled.adjoint) keep.push_back(files.path(working, 0, journaled.adjoint->generation));
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
            return c.level == level && c.slot == slot && c.content.step == slots[s].step;
          });
      if (written == journaled.stores.rend()) continue;
      files.adopt(*written);
      keep.push_back(files.path(level, slot, written->generation));
    }
  }
  files.adopt_generation(journaled.next_generation);
  folders.clean(keep);

  // Memory is lost: its states and records are computed again, in their order, from files and the initial state.
  const Step at = actions.at(), record = actions.working_record();
  if (record >= 0) lost.push_back({record, true, working, 0});
  std::sort(lost.begin(), lost.end(), [](const Lost& a, const Lost& b) {
    return a.step != b.step ? a.step < b.step : a.is_record < b.is_record;
  });
  actions.begin_at(0);
  // The one snapshot that nothing else could heal: the caller has just given it again.
  const SlotTable::Place first = latest_in_files(actions, 0);
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
      const SlotTable::Place from = actions.table().latest_state(at);
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
