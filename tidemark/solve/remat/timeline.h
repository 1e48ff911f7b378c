// A sequence of runs with its loads, kept true while runs are put in and taken out: the one evaluator behind
// every recomputation search. Putting in or taking out costs about the square root of the length.
//
// Runs lie in blocks; a block knows the highest load in it and what was added to all of it at once, so that a
// lifetime that grows or shrinks touches two blocks and the counters of those between. Of each item the
// events (makes and uses) are kept in order: a version lives from its make to the last use before the next
// make.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/solve/remat/problem.h"

namespace tidemark {

class Timeline {
 public:
  using Run = int;  // names one run; valid until it is erased
  static constexpr Run none = -1;

  struct Event {
    Run run;
    bool make;
  };

  Timeline(const RematProblem& problem, std::span<const int> sequence);

  // Runs `task` right before `next` (`none`: as the last). Its operands must have been made by then.
  Run insert(int task, Run next);
  // Takes a run out that is not the first of its task, or is followed by another before any use.
  void erase(Run run);

  std::int64_t peak() const;
  Run peak_run() const;  // the first run with that load
  // Sum over runs of what their load has above the limit. Exact up to 2^53; may be beyond any integer.
  double excess(std::int64_t limit) const;
  double cost() const { return cost_; }
  int runs() const { return count_; }
  Sequence sequence() const;

  int task(Run run) const { return task_[at(run)]; }
  std::int64_t load(Run run) const;
  bool earlier(Run a, Run b) const {
    const int ra = rank_[at(block_[at(a)])], rb = rank_[at(block_[at(b)])];
    return ra != rb ? ra < rb : index_[at(a)] < index_[at(b)];
  }
  Run first() const;
  Run next(Run run) const;                                                     // none at the end
  Run previous(Run run) const;                                                 // none at the start
  std::span<const Run> runs_of(int task) const { return runs_of_[at(task)]; }  // in order
  bool is_first(Run run) const { return runs_of_[at(task(run))].front() == run; }

  std::span<const Event> events(int item) const { return events_[at(item)]; }
  // The number of events of `item` earlier than `run`.
  int events_before(int item, Run run) const;
  // Is a version of the item there when `run` begins, made earlier and used by it or later?
  bool alive_before(int item, Run run) const;

 private:
  struct Block {
    std::vector<Run> runs;
    std::vector<std::int64_t> load;  // less `added`
    std::int64_t added = 0;
    // Figures of `load`. They are counted when they are asked for: one change of a sequence touches a block
    // many times.
    mutable bool counted = false;
    mutable std::int64_t highest = 0, lowest = 0;
    mutable double sum = 0;  // a sum of bytes over time may be beyond any integer

    void count() const;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool spans_after(int item, std::size_t k) const;  // does event k end a stretch in which the item is alive?
  void add(Run from, Run to, std::int64_t bytes);   // to both and all between
  void add_between(Run after, Run before, std::int64_t bytes);
  void add_range(Block& block, std::size_t first, std::size_t last, std::int64_t bytes);
  std::int64_t saved_by(Run run) const;
  void refresh_saved(Run run);
  void place(Run run, Run next, std::int64_t load);
  void split(int block);
  void number(int block, std::size_t from);
  void rank_blocks();
  std::int64_t load_before(Run run) const;  // `none`: at the end
  void put_use(int item, Run run);
  void put_make(int item, Run run);
  void take_use(int item, Run run);
  void take_make(int item, Run run);

  const RematProblem* problem_;
  std::size_t block_size_;
  std::vector<Block> blocks_;
  std::vector<int> order_;                  // block numbers in order of time
  std::vector<int> rank_;                   // inverse of order_
  std::vector<int> task_, block_, index_;   // per run
  std::vector<std::int64_t> saved_;         // per run: by in-place reuses
  std::vector<Run> free_;                   // numbers of erased runs
  std::vector<std::vector<Run>> runs_of_;   // per task
  std::vector<std::vector<Event>> events_;  // per item
  std::int64_t load_at_end_;
  double cost_ = 0;
  int count_ = 0;
};

}  // namespace tidemark
