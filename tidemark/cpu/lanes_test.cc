#include "tidemark/cpu/lanes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <random>
#include <set>

#include "tests/support/count_allocations.h"
#include "tests/support/process_counts.h"
#include "tests/support/sanitized.h"

namespace tidemark {
namespace {

struct Job {
  std::int32_t lane = 0;
  bool computes = false;
  std::vector<std::int32_t> waits = {};
};

LaneCommands commands_of(const std::vector<Job>& jobs) {
  LaneCommands commands;
  for (const Job& job : jobs) {
    Command command;
    command.kind = job.computes ? StepKind::compute : StepKind::copy;
    command.lane = job.lane;
    command.waits = job.waits;
    commands.add(command);
  }
  return commands;
}

// Lanes 0 and 3 compute, 1, 2 and 4 copy; waits are any that a plan may have.
std::vector<Job> random_jobs(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<Job> jobs;
  const std::size_t count = 1 + draw(60), lanes = 2 + draw(4);
  for (std::size_t c = 0; c < count; ++c) {
    const auto lane = static_cast<std::int32_t>(draw(lanes));
    Job job{.lane = lane, .computes = lane == 0 || lane == 3};
    for (std::size_t w = draw(4); w > 0 && c > 0; --w) {
      const std::size_t other = draw(c);
      if (jobs[other].lane != lane) job.waits.push_back(static_cast<std::int32_t>(other));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void dawdle(unsigned seed, std::size_t command) {
  const unsigned drawn = ((seed * 1000 + static_cast<unsigned>(command)) * 2654435761u) >> 28;
  if (drawn == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (drawn < 4) std::this_thread::yield();
}

// Runs jobs on lanes, and sees that each begins behind those that it must follow.
class WatchedJobs {
 public:
  explicit WatchedJobs(std::vector<Job> jobs, unsigned seed = 0)
      : jobs_(std::move(jobs)),
        began_(jobs_.size()),
        ended_(jobs_.size()),
        threads_(jobs_.size()),
        seed_(seed) {}

  LaneThreads lanes() {
    return LaneThreads(commands_of(jobs_), [this](std::size_t command) { call(command); });
  }
  void forget(std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) began_[c] = 0, ended_[c] = 0;
  }
  bool all_ended_once(std::size_t first, std::size_t last) const {
    for (std::size_t c = first; c < last; ++c) {
      if (began_[c] != 1 || ended_[c] != 1) return false;
    }
    return true;
  }
  int begun() const {
    int sum = 0;
    for (const std::atomic<int>& count : began_) sum += count;
    return sum;
  }
  int ended() const {
    int sum = 0;
    for (const std::atomic<int>& count : ended_) sum += count;
    return sum;
  }
  bool has_begun(std::size_t command) const { return began_[command] > 0; }
  int out_of_order() const { return out_of_order_; }
  std::thread::id thread_of(std::size_t command) const { return threads_[command]; }
  const std::vector<Job>& jobs() const { return jobs_; }

  std::function<void(std::size_t command)> meanwhile;  // while a command runs

 private:
  void call(std::size_t command) {
    ++began_[command];
    threads_[command] = std::this_thread::get_id();
    for (const std::int32_t wait : jobs_[command].waits)
      out_of_order_ += ended_[static_cast<std::size_t>(wait)] == 0;
    for (std::size_t c = 0; c < command; ++c)
      out_of_order_ += jobs_[c].lane == jobs_[command].lane && ended_[c] == 0;
    dawdle(seed_, command);
    if (meanwhile) meanwhile(command);
    ++ended_[command];
  }

  const std::vector<Job> jobs_;
  std::vector<std::atomic<int>> began_, ended_;
  std::vector<std::thread::id> threads_;
  const unsigned seed_;
  std::atomic<int> out_of_order_ = 0;
};

TEST(Lanes, EveryCommandRunsOnceBehindThoseThatItFollows) {
  for (unsigned seed = 0; seed < seeds(100); ++seed) {
    WatchedJobs jobs(random_jobs(seed), seed);
    if (!commands_of(jobs.jobs()).run_side_by_side()) continue;
    LaneThreads lanes = jobs.lanes();
    const std::size_t count = jobs.jobs().size();
    for (int round = 0; round < 3; ++round) {
      jobs.forget(0, count);
      lanes.run(0, count);
      ASSERT_TRUE(jobs.all_ended_once(0, count)) << "seed " << seed;
    }
    EXPECT_EQ(jobs.out_of_order(), 0) << "seed " << seed;
  }
}

TEST(Lanes, ARangeOfCommandsEndsBeforeTheNextBegins) {
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    WatchedJobs jobs(random_jobs(seed), seed);
    LaneThreads lanes = jobs.lanes();
    std::mt19937 random(seed);
    const std::size_t count = jobs.jobs().size();
    for (std::size_t first = 0; first < count;) {
      const std::size_t last = first + random() % (count - first + 1);
      lanes.run(first, last);
      ASSERT_TRUE(jobs.all_ended_once(0, last)) << "seed " << seed;
      ASSERT_EQ(jobs.begun(), static_cast<int>(last)) << "seed " << seed;
      first = last;
    }
    EXPECT_EQ(jobs.out_of_order(), 0) << "seed " << seed;
  }
}

TEST(Lanes, LanesThatOnlyMoveValuesHaveAThreadEachAndTheRestIsTheCallers) {
  const std::vector<Job> list = {{.lane = 0, .computes = true}, {.lane = 1}, {.lane = 2}, {.lane = 1},
                                 {.lane = 3, .computes = true}, {.lane = 3}, {.lane = 0}, {.lane = 2}};
  WatchedJobs jobs(list);
  LaneThreads lanes = jobs.lanes();
  EXPECT_EQ(lanes.threads(), 2u);
  lanes.run(0, list.size());
  const std::thread::id here = std::this_thread::get_id();
  for (const std::size_t command : {0, 4, 5, 6}) EXPECT_EQ(jobs.thread_of(command), here) << command;
  EXPECT_EQ(jobs.thread_of(1), jobs.thread_of(3));
  EXPECT_EQ(jobs.thread_of(2), jobs.thread_of(7));
  EXPECT_EQ((std::set{here, jobs.thread_of(1), jobs.thread_of(2)}.size()), 3u);
}

TEST(Lanes, OneLaneOrLanesThatAllComputeNeedNoThread) {
  EXPECT_FALSE(commands_of({}).run_side_by_side());
  EXPECT_FALSE(commands_of({{.computes = true}, {.lane = 0}}).run_side_by_side());
  EXPECT_FALSE(
      commands_of({{.computes = true}, {.lane = 1}, {.lane = 1, .computes = true}}).run_side_by_side());
  EXPECT_TRUE(commands_of({{.computes = true}, {.lane = 1}}).run_side_by_side());
}

// The first command ends only if the others run beside it: one after the other, this would never end.
TEST(Lanes, TheyRunSideBySide) {
  WatchedJobs jobs({{.lane = 1}, {.lane = 2}, {.lane = 0, .computes = true}});
  std::latch met(3);
  jobs.meanwhile = [&](std::size_t) { met.arrive_and_wait(); };
  LaneThreads lanes = jobs.lanes();
  lanes.run(0, 3);
  EXPECT_TRUE(jobs.all_ended_once(0, 3));
}

struct Broken {
  std::size_t command;
};

TEST(Lanes, AFailureAnywhereComesToTheCallerAndTheNextRunIsWhole) {
  for (unsigned seed = 0; seed < seeds(12); ++seed) {
    WatchedJobs jobs(random_jobs(seed), seed);
    const std::size_t count = jobs.jobs().size();
    std::atomic<std::size_t> broken = count;
    jobs.meanwhile = [&](std::size_t command) {
      if (command == broken) throw Broken{command};
    };
    LaneThreads lanes = jobs.lanes();
    for (std::size_t c = 0; c < count; ++c) {
      broken = c;
      jobs.forget(0, count);
      try {
        lanes.run(0, count);
        FAIL() << "no failure, seed " << seed;
      } catch (const Broken& failure) {
        EXPECT_EQ(failure.command, c);
      }
      EXPECT_EQ(jobs.begun(), jobs.ended() + 1) << "something still runs";
      for (std::size_t later = c + 1; later < count; ++later) {
        const Job& job = jobs.jobs()[later];
        const bool follows = job.lane == jobs.jobs()[c].lane ||
                             std::ranges::count(job.waits, static_cast<std::int32_t>(c)) > 0;
        EXPECT_FALSE(follows && jobs.has_begun(later)) << later << " behind " << c << ", seed " << seed;
      }
      broken = count;
      jobs.forget(0, count);
      lanes.run(0, count);
      ASSERT_TRUE(jobs.all_ended_once(0, count)) << "seed " << seed << ", after a failure of " << c;
    }
    EXPECT_EQ(jobs.out_of_order(), 0) << "seed " << seed;
  }
}

TEST(Lanes, OfSeveralFailuresThatOfTheFirstCommandIsTold) {
  for (int round = 0; round < 20; ++round) {
    WatchedJobs jobs({{.lane = 2}, {.lane = 1}, {.lane = 0, .computes = true}}, static_cast<unsigned>(round));
    std::latch met(3);
    jobs.meanwhile = [&](std::size_t command) {
      met.arrive_and_wait();
      throw Broken{command};
    };
    LaneThreads lanes = jobs.lanes();
    try {
      lanes.run(0, 3);
      FAIL() << "no failure";
    } catch (const Broken& failure) {
      EXPECT_EQ(failure.command, 0u);
    }
  }
}

TEST(Lanes, NothingIsAllocatedWhileTheyRun) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  WatchedJobs jobs(random_jobs(7));
  LaneThreads lanes = jobs.lanes();
  const std::size_t count = jobs.jobs().size();
  lanes.run(0, count);
  jobs.forget(0, count);
  EXPECT_EQ(count_allocations([&] { lanes.run(0, count); }).allocations, 0);
}

TEST(Lanes, ThreadsEndWithThemWhetherTheyRanOrNot) {
  const std::size_t threads = testing::threads_alive();
  for (unsigned cycle = 0; cycle < 200; ++cycle) {
    WatchedJobs jobs(
        {{.computes = true}, {.lane = 1, .waits = {0}}, {.lane = 2}, {.lane = 0, .waits = {1, 2}}});
    LaneThreads lanes = jobs.lanes();
    if (cycle % 2 == 0) lanes.run(0, 4);
  }
  EXPECT_TRUE(testing::threads_come_down_to(threads));
}

}  // namespace
}  // namespace tidemark
