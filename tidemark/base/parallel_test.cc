#include "tidemark/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tidemark {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      pool.run(tasks, [&](std::int64_t task) { ++runs[static_cast<std::size_t>(task)]; });
      for (const auto& count : runs)
        ASSERT_EQ(count.load(), 1) << threads << " threads, " << tasks << " tasks";
    }
  }
}

TEST(ThreadPool, TellsTheMostTasksOfAnyRun) {
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.most_tasks(), 0);
    for (std::int64_t tasks : {1, 5, 2}) pool.run(tasks, [](std::int64_t) {});
    EXPECT_EQ(pool.most_tasks(), 5);
  }
}

TEST(ThreadPool, BackwardsTakesTheLastTaskFirstAndThrowsWhatTheFirstThrew) {
  ThreadPool pool = ThreadPool::backwards(3);
  EXPECT_EQ(pool.threads(), 3);
  std::vector<std::int64_t> order;
  const auto fail = [&](std::int64_t task) {
    order.push_back(task);
    throw std::runtime_error(std::to_string(task));
  };
  try {
    pool.run(4, fail);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "0");
  }
  EXPECT_EQ(order, (std::vector<std::int64_t>{3, 2, 1, 0}));
}

TEST(ThreadPool, ResultsAreVisibleToTheCaller) {
  ThreadPool pool(2);
  std::vector<std::int64_t> squares(1000);
  for (int round = 0; round < 50; ++round) {
    parallel_for(pool, 1000, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i + round;
    });
    for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + round);
  }
}

TEST(ThreadPool, ManyShortRunsInARow) {
  ThreadPool pool(3);
  std::int64_t total = 0;
  for (int round = 0; round < 2000; ++round) {
    std::atomic<std::int64_t> sum = 0;
    pool.run(4, [&](std::int64_t task) { sum += task; });
    total += sum;
  }
  EXPECT_EQ(total, 2000 * 6);
}

class ThreadPoolOf : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, ::testing::Values(1, 2, 3));

TEST_P(ThreadPoolOf, TheExceptionOfTheFirstTaskArrivesAfterAllTasksEnded) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> finished = 0;
    try {
      pool.run(16, [&](std::int64_t task) {
        ++finished;
        if (task % 5 == 2) throw std::runtime_error(std::to_string(task));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "2");
    }
    EXPECT_EQ(finished.load(), 16);
  }
  std::atomic<int> after = 0;
  pool.run(8, [&](std::int64_t) { ++after; });
  EXPECT_EQ(after.load(), 8) << "a failed run does not spoil the next";
}

TEST(ThreadPool, ExceptionsPassWithOneThreadToo) {
  ThreadPool pool(1);
  EXPECT_THROW(pool.run(3, [](std::int64_t) { throw std::runtime_error("task"); }), std::runtime_error);
}

TEST(ThreadPool, NestedRunsHappenInline) {
  ThreadPool pool(2);
  std::vector<std::atomic<int>> counts(8);
  pool.run(8, [&](std::int64_t outer) {
    const std::thread::id self = std::this_thread::get_id();
    pool.run(5, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      ++counts[static_cast<std::size_t>(outer)];
    });
  });
  for (const auto& count : counts) EXPECT_EQ(count.load(), 5);
}

TEST(ThreadPool, ExceptionsCrossNestedRuns) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(4,
                        [&](std::int64_t) {
                          pool.run(4, [](std::int64_t task) {
                            if (task == 1) throw std::out_of_range("inner");
                          });
                        }),
               std::out_of_range);
  std::atomic<int> runs = 0;
  pool.run(4, [&](std::int64_t) { ++runs; });
  EXPECT_EQ(runs.load(), 4);
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than workers spin
    std::atomic<int> runs = 0;
    pool.run(6, [&](std::int64_t) { ++runs; });
    EXPECT_EQ(runs.load(), 6);
  }
}

// Calls body(caller) on so many threads at once.
template <class Body>
void with_callers(int callers, const Body& body) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int c = 0; c < callers; ++c) {
    threads.emplace_back([&, c] {
      ++ready;
      while (ready < callers) std::this_thread::yield();
      body(c);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadPool, ManyCallersEachGetTheirOwnTasksDone) {
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    with_callers(6, [&](int caller) {
      for (int round = 0; round < 500; ++round) {
        const std::int64_t tasks = 2 + (round + caller) % 40;
        std::vector<std::int64_t> results(static_cast<std::size_t>(tasks), -1);
        pool.run(tasks,
                 [&](std::int64_t task) { results[static_cast<std::size_t>(task)] = caller * 1000 + task; });
        for (std::int64_t task = 0; task < tasks; ++task)
          ASSERT_EQ(results[static_cast<std::size_t>(task)], caller * 1000 + task);
      }
    });
  }
}

TEST(ThreadPool, ExceptionsReachTheCallerWhoseTaskThrew) {
  ThreadPool pool(3);
  with_callers(4, [&](int caller) {
    for (int round = 0; round < 200; ++round) {
      const std::int64_t bad = caller % 2 == 0 ? round % 16 : 16;  // half of them never throw
      std::string caught;
      try {
        pool.run(16, [&](std::int64_t task) {
          if (task >= bad) throw std::runtime_error(std::to_string(caller) + "/" + std::to_string(task));
        });
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
      ASSERT_EQ(caught, bad == 16 ? "" : std::to_string(caller) + "/" + std::to_string(bad));
    }
  });
}

TEST(ThreadPool, NeverMoreThreadsComputeThanThePoolHas) {
  ThreadPool pool(3);
  std::atomic<int> computing = 0, most = 0;
  with_callers(2, [&](int) {
    for (int round = 0; round < 300; ++round) {
      pool.run(20, [&](std::int64_t) {
        const int now = ++computing;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        for (int spin = 0; spin < 200; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
        --computing;
      });
    }
  });
  // A worker that looked just before a caller came may run the one task it has taken beside it.
  EXPECT_LE(most.load(), 4);
}

TEST(ThreadPool, TasksThatWaitForEachOtherOnDifferentCallersDoNotBlock) {
  ThreadPool pool(2);
  std::atomic<int> arrived = 0;
  with_callers(3, [&](int) {
    pool.run(2, [&](std::int64_t task) {
      if (task > 0) return;
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
  });
  EXPECT_EQ(arrived.load(), 3);
}

// A worker that looks whether it is to end just before that is said must not sleep through it.
TEST(ThreadPool, PoolsThatAreLetGoAtAnyMomentEnd) {
  for (int round = 0; round < 200; ++round) {
    ThreadPool pool(3);
    std::atomic<int> done = 0;
    if (round % 2) pool.run(round % 7, [&](std::int64_t) { ++done; });
    for (int spin = 0; spin < round % 50; ++spin) std::this_thread::yield();
    EXPECT_EQ(done.load(), round % 2 ? round % 7 : 0);
  }
}

TEST(RunInLanes, NoTwoTasksShareALaneAtATime) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t lanes : {1, 3, 8, 50}) {
      std::vector<std::atomic<int>> inside(50), runs(40);
      run_in_lanes(pool, 40, lanes, [&](std::int64_t task, std::int64_t lane) {
        ASSERT_LT(lane, lanes);
        EXPECT_EQ(inside[static_cast<std::size_t>(lane)].fetch_add(1), 0);
        ++runs[static_cast<std::size_t>(task)];
        inside[static_cast<std::size_t>(lane)].fetch_sub(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 20; ++i) {
    ThreadPool pool(4);
    EXPECT_EQ(pool.threads(), 4);
  }
}

TEST(ParallelFor, PiecesCoverTheRangeWhateverTheThreads) {
  std::vector<std::pair<std::int64_t, std::int64_t>> first;
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces(4);
    parallel_for(pool, 10, 3, [&](std::int64_t begin, std::int64_t end) {
      pieces[static_cast<std::size_t>(begin / 3)] = {begin, end};
    });
    if (first.empty()) first = pieces;
    EXPECT_EQ(pieces, first);
  }
  EXPECT_EQ(first, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {3, 6}, {6, 9}, {9, 10}}));
  ThreadPool pool(2);
  parallel_for(pool, 0, 3, [](std::int64_t, std::int64_t) { ADD_FAILURE(); });
  parallel_for(pool, -4, 3, [](std::int64_t, std::int64_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace tidemark
