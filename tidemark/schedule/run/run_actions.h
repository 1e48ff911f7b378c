// Carries out the actions of a schedule on a simulation: the working state, slots on stores, verification,
// healing. What a run can be resumed from is written by whoever watches, at the moments this loop names.
#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "tidemark/schedule/kinds/slot_table.h"
#include "tidemark/schedule/run.h"
#include "tidemark/schedule/run/replay_hashes.h"
#include "tidemark/schedule/run/simulation.h"
#include "tidemark/schedule/store/store.h"

namespace tidemark::schedule {

struct OpenLevel {
  std::unique_ptr<Store> store;
  MemoryStore* memory = nullptr;  // the same, when it is one
  std::int64_t budget = -1;       // bytes; below zero: slots were given instead
};

// Told of what happens on the levels with files, in time to make it safe.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void before_file_store(const Action& action) = 0;  // a slot is about to be filled
  virtual void before_file_load(const Action& action) = 0;   // a state is about to become the working state
  virtual void poll() = 0;                                   // every few milliseconds of forward steps
};

class RunActions {
 public:
  RunActions(Simulation& simulation, std::vector<OpenLevel> levels, const RunOptions& options,
             Report& report);

  void watch(RunObserver* observer) { observer_ = observer; }
  void set_budget(int level, std::int64_t bytes);  // of a level in memory that holds no more than that
  void check_budget(int level) const;              // by what is allocated
  void perform(const Action& action);
  void report_progress(bool at_end);

  // What resuming needs: the same moves, beside the schedule.
  void begin_at(Step step) { at_ = step; }
  void skip(const Action& action);                         // it was done before: only the table follows
  void load(int level, std::int32_t slot, Step step);      // heals what is damaged
  bool try_load(int level, std::int32_t slot, Step step);  // false when it is damaged
  void replace(int level, std::int32_t slot, Step from);   // what is damaged, by the working state
  void repeat_to(Step step);                               // forward steps, not counted as the schedule's
  void repeat_record(int level, std::int32_t slot);        // of step at(), as it was skipped
  void fill_state(int level, std::int32_t slot, std::uint64_t action);  // physically, from the working state

  const SlotTable& table() const { return table_; }
  ReplayHashes& hashes() { return hashes_; }
  Store& store(int level) { return *levels_[static_cast<std::size_t>(level)].store; }
  bool in_files(int level) const { return !levels_[static_cast<std::size_t>(level)].memory; }
  Step at() const { return at_; }                          // of the working state
  Step working_record() const { return working_record_; }  // below zero: none
  Step reversed() const { return reversed_before_ + report_.reversed; }
  std::uint64_t position() const { return position_; }  // actions of the schedule done

 private:
  void forward(Steps range);
  void record(const Action& action);
  std::int64_t record_to(int level, std::int32_t slot, Step step);
  void reverse(const Action& action);
  void load_record(const Action& action);
  void store_state(const Action& action);
  void drop(const Action& action);
  void hold(const Action& action, const Held& held);

  Simulation& simulation_;
  std::vector<OpenLevel> levels_;
  const RunOptions& options_;
  Report& report_;
  RunObserver* observer_ = nullptr;
  SlotTable table_;
  ReplayHashes hashes_;
  Step at_ = 0, working_record_ = -1;
  Step chunk_ = 1;  // forward steps in one call: about as many as take a few milliseconds
  Step forward_before_ = 0, reversed_before_ = 0;  // skipped
  std::uint64_t position_ = 0;
  std::int64_t state_bytes_, record_bytes_;
  bool seeded_ = false;
  std::chrono::steady_clock::time_point next_progress_;
};

}  // namespace tidemark::schedule
