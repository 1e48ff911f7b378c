#include "tidemark/schedule/run/run_session.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run/run_resume.h"

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
  JournalCall call{.identity = found.identity, .steps = steps, .files = {}};
  for (const auto& folder : folders.by_level()) call.files.push_back(folder != nullptr);
  found.journaled = read_journal(*folders.first(), call);
  return found;
}

Session::Session(Simulation& simulation, const Promise& promise, const RunOptions& options,
                 RunFolders& folders)
    : simulation_(simulation), options_(options), folders_(folders) {
  report_.promise = promise;
  const std::size_t count = std::max(promise.slots.size(), options.levels.size());
  std::vector<std::shared_ptr<const Folder>> by_level = folders.by_level();
  by_level.resize(count);
  if (folders.any()) {
    const std::size_t state = simulation.state_bytes();
    files_ = std::make_unique<SnapshotFiles>(
        by_level,
        FileOptions{.block_bytes = state,
                    .buffers = options.buffers,
                    .direct = options.direct,
                    .durable = options.durable,
                    .keep_dropped = options.resume,
                    .unnamed = options.unnamed},
        make_io_queue(options.io, static_cast<unsigned>(std::max(options.buffers, 2))));
    report_.io = files_->io_name();
  }
  std::vector<OpenLevel> levels;
  for (std::size_t l = 0; l < count; ++l) {
    const bool on_disk = by_level[l] != nullptr;
    const std::int64_t budget = l < options.levels.size() ? options.levels[l].bytes.count : -1;
    OpenLevel level{.store = nullptr, .memory = nullptr, .budget = budget};
    if (on_disk) {
      level.store = std::make_unique<FileStore>(*files_, static_cast<int>(l));
    } else {
      auto memory = std::make_unique<MemoryStore>(budget);
      level.memory = memory.get();
      level.store = std::move(memory);
    }
    levels.push_back(std::move(level));
    in_files_.push_back(on_disk);
    report_.levels.push_back({.place = on_disk ? by_level[l]->path() : "memory",
                              .slots = l < promise.slots.size() ? promise.slots[l] : 0});
  }
  actions_ = std::make_unique<RunActions>(simulation, std::move(levels), options, report_);
}

void Session::start(const Resumable& resumable, const std::string& plan, ActionStream& scout,
                    const std::function<bool(Action&)>& skip, const std::function<const Action*()>& peek) {
  if (!files_) return;
  const Journaled* journaled = resumable.journaled ? &*resumable.journaled : nullptr;
  // An adjoint that cannot be read leaves nothing to go on from: the run begins anew.
  std::optional<std::vector<std::byte>> adjoint;
  if (journaled && journaled->adjoint) {
    adjoint = files_->read_adjoint(*journaled->adjoint);
    if (!adjoint) journaled = nullptr;
  }
  // Before anything is touched: a journal that cannot be true is an error.
  const std::uint64_t position =
      journaled ? resume_position(scout, *journaled, in_files_, folders_.journal()) : 0;
  if (adjoint) simulation_.load_adjoint(*adjoint);
  if (!resumable.identity.empty())
    journal_ = std::make_unique<Journal>(folders_.first(), options_.durable, journaled);
  std::vector<std::int64_t> capacity = report_.promise.slots;
  capacity.resize(in_files_.size(), -1);
  BlockContext context;
  context.run = hash_of_run(resumable.identity, plan);
  if (report_.promise.steps > 0) context.length = report_.promise.steps;
  keeper_ = std::make_unique<RunKeeper>(*actions_, simulation_, *files_, journal_.get(), context, capacity,
                                        report_);
  actions_->watch(keeper_.get());
  if (journaled) {
    restore(*actions_, simulation_, *journaled, *files_, folders_, position, skip, peek, report_);
    keeper_->continued(*journaled);
  } else {
    folders_.clean();
    if (journal_)
      journal_->begin(resumable.identity, plan);
    else
      folders_.remove_journal();  // of an earlier run, whose snapshots have just gone
  }
}

void Session::perform(const Action& action) {
  if (files_) files_->poll();
  actions_->perform(action);
}

void Session::perform(Lookahead& lookahead) {
  for (Action action; lookahead.next(action);) {
    if (files_) lookahead.prefetch(*actions_);
    perform(action);
  }
}

void Session::abandon() noexcept {
  try {
    if (files_) files_->drain();
  } catch (...) {  // the first error is the one to tell of
  }
  files_.reset();
}

Report Session::close() {
  for (std::size_t l = 0; l < report_.levels.size(); ++l) {
    const SlotTable::LevelTotals& totals = actions_->table().totals(static_cast<int>(l));
    report_.levels[l].peak_slots = totals.peak_slots;
    report_.levels[l].peak_bytes = Bytes(totals.peak_bytes);
    report_.levels[l].stall_seconds = actions_->store(static_cast<int>(l)).stall_seconds();
  }
  report_.hashed = actions_->hashes().hashed;
  report_.compared = actions_->hashes().compared;
  report_.largest_deviation = actions_->hashes().largest_deviation;
  report_.deviating_step = actions_->hashes().deviating_step;
  if (files_) {
    report_.stall_seconds = files_->stall_seconds();
    report_.handling_seconds = files_->handling_seconds();
    report_.staging = Bytes(static_cast<std::int64_t>(files_->staging_bytes()));
  }
  files_.reset();
  journal_.reset();
  folders_.remove();
  report_.seconds = watch_.seconds();
  actions_->report_progress(true);
  return std::move(report_);
}

Report run_session(Simulation& simulation, const Schedule& schedule, const RunOptions& options,
                   RunFolders& folders, const Resumable& resumable, const std::string& plan) {
  Session session(simulation, schedule.promise(), options, folders);
  const auto stream = schedule.actions(), scout = schedule.actions();
  Lookahead lookahead(*stream, session.in_files());
  try {
    session.start(
        resumable, plan, *scout, [&](Action& action) { return lookahead.next(action); },
        [&] { return lookahead.peek(); });
    session.perform(lookahead);
  } catch (...) {
    session.abandon();
    throw;
  }
  return session.close();
}

}  // namespace tidemark::schedule
