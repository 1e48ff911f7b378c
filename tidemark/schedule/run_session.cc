#include "tidemark/schedule/run_session.h"

#include <algorithm>
#include <chrono>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run_keeper.h"
#include "tidemark/schedule/run_lookahead.h"
#include "tidemark/schedule/run_resume.h"

namespace tidemark::schedule {

Resumable look_for_run(const Simulation& simulation, Step steps, const RunOptions& options,
                       const RunFolders& folders) {
  Resumable found;
  if (!options.resume) return found;
  if (!folders.any())
    fail(ErrorCode::bad_run_option, {.what = "a run without a directory cannot be resumed",
                                     .help = "give one of the levels a directory"});
  if (!simulation.adjoint_has_bytes())
    fail(ErrorCode::bad_run_option,
         {.what = "a run whose adjoint is not a Snapshotter cannot be resumed",
          .expected = "an adjoint that is trivially copyable, a vector, lists its members "
                      "with TM_FIELDS, or has a Snapshot"});
  found.identity = identity_of(simulation, steps, options);
  found.journaled = read_journal(folders.journal());
  if (found.journaled) require_same(found.journaled->identity, found.identity, folders.journal());
  return found;
}

namespace {

struct Session {
  Report report;
  std::vector<bool> in_files;
  std::unique_ptr<SnapshotFiles> files;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<RunActions> actions;
  std::unique_ptr<RunKeeper> keeper;

  Session(Simulation& simulation, const Promise& promise, const RunOptions& options,
          const RunFolders& folders);
  void start(Simulation& simulation, const Schedule& schedule, const RunOptions& options,
             const RunFolders& folders, const Resumable& resumable, const std::string& plan,
             Lookahead& lookahead);
  void perform(Lookahead& lookahead);
  void close_report();
};

Session::Session(Simulation& simulation, const Promise& promise, const RunOptions& options,
                 const RunFolders& folders) {
  report.promise = promise;
  const std::size_t count = std::max(promise.slots.size(), options.levels.size());
  std::vector<std::string> by_level = folders.by_level();
  by_level.resize(count);
  if (folders.any()) {
    const std::size_t state = simulation.state_bytes();
    files = std::make_unique<SnapshotFiles>(
        by_level,
        FileOptions{.block_bytes = state,
                    .buffers = options.buffers,
                    .direct = options.direct,
                    .durable = options.durable,
                    .keep_dropped = options.resume},
        make_io_queue(options.io, static_cast<unsigned>(std::max(options.buffers, 2))));
    report.io = files->io_name();
  }
  std::vector<OpenLevel> levels;
  for (std::size_t l = 0; l < count; ++l) {
    const bool on_disk = !by_level[l].empty();
    const std::int64_t budget = l < options.levels.size() ? options.levels[l].bytes.count : -1;
    OpenLevel level{.store = nullptr, .memory = nullptr, .budget = budget};
    if (on_disk) {
      level.store = std::make_unique<FileStore>(*files, static_cast<int>(l));
    } else {
      auto memory = std::make_unique<MemoryStore>(budget);
      level.memory = memory.get();
      level.store = std::move(memory);
    }
    levels.push_back(std::move(level));
    in_files.push_back(on_disk);
    report.levels.push_back({.place = on_disk ? by_level[l] : "memory",
                             .slots = l < promise.slots.size() ? promise.slots[l] : 0});
  }
  actions = std::make_unique<RunActions>(simulation, std::move(levels), options, report);
}

void Session::start(Simulation& simulation, const Schedule& schedule, const RunOptions& options,
                    const RunFolders& folders, const Resumable& resumable, const std::string& plan,
                    Lookahead& lookahead) {
  if (!files) return;
  const Journaled* journaled = resumable.journaled ? &*resumable.journaled : nullptr;
  // An adjoint that cannot be read leaves nothing to go on from: the run begins anew.
  if (journaled && !load_adjoint(simulation, *journaled, *files)) journaled = nullptr;
  if (!resumable.identity.empty())
    journal = std::make_unique<Journal>(folders.journal(), options.durable, journaled);
  keeper =
      std::make_unique<RunKeeper>(*actions, simulation, *files, journal.get(), report.promise.slots, report);
  actions->watch(keeper.get());
  if (journaled) {
    const auto scout = schedule.actions();
    const std::uint64_t position = resume_position(*scout, *journaled, in_files);
    restore(*actions, simulation, *journaled, *files, folders, lookahead, position, report);
    keeper->continued(*journaled);
  } else {
    folders.clean();
    if (journal) journal->begin(resumable.identity, plan);
  }
}

void Session::perform(Lookahead& lookahead) {
  for (Action action; lookahead.next(action);) {
    if (files) {
      files->poll();
      lookahead.prefetch(*actions);
    }
    actions->perform(action);
  }
}

void Session::close_report() {
  for (std::size_t l = 0; l < report.levels.size(); ++l) {
    const SlotTable::LevelTotals& totals = actions->table().totals(static_cast<int>(l));
    report.levels[l].peak_slots = totals.peak_slots;
    report.levels[l].peak_bytes = Bytes(totals.peak_bytes);
    report.levels[l].stall_seconds = actions->store(static_cast<int>(l)).stall_seconds();
  }
  report.hashed = actions->hashes().hashed;
  report.compared = actions->hashes().compared;
  if (files) {
    report.stall_seconds = files->stall_seconds();
    report.staging = Bytes(static_cast<std::int64_t>(files->staging_bytes()));
  }
}

}  // namespace

Report run_session(Simulation& simulation, const Schedule& schedule, const RunOptions& options,
                   RunFolders& folders, const Resumable& resumable, const std::string& plan) {
  const auto began = std::chrono::steady_clock::now();
  Session session(simulation, schedule.promise(), options, folders);
  const auto stream = schedule.actions();
  Lookahead lookahead(*stream, session.in_files);
  try {
    session.start(simulation, schedule, options, folders, resumable, plan, lookahead);
    session.perform(lookahead);
  } catch (...) {
    // What was on its way is made safe, if it can be; then the error goes on.
    try {
      if (session.files) session.files->drain();
    } catch (...) {
    }
    session.files.reset();
    if (!session.journal) folders.remove();
    throw;
  }
  session.close_report();
  session.files.reset();
  session.journal.reset();
  folders.remove();
  session.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  session.actions->report_progress(true);
  return std::move(session.report);
}

}  // namespace tidemark::schedule
