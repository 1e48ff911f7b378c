// Which tape is active after others have gone, in any order and on any thread.
#include "tidemark/scalar/thread_tapes.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

// That `tape` records what this thread computes, and gives its gradient.
void expect_records(Tape& tape) {
  EXPECT_EQ(Tape::active(), &tape);
  const Real x = tape.input(3);
  tape.reverse(x * x);
  EXPECT_EQ(tape.gradient(x), 6);
}

TEST(ThreadTapes, ATapeThatIsReplacedByANewOneLeavesNothingBehind) {
  auto tape = std::make_unique<Tape>();
  const Real x = tape->input(2);
  tape = std::make_unique<Tape>();  // which is made before the old one goes
  expect_records(*tape);
  tape.reset();
  EXPECT_EQ(Tape::active(), nullptr);
  EXPECT_EQ(Real(x * x).value(), 4);  // a Real that outlives its tape is a number
}

TEST(ThreadTapes, TapesGoInAnyOrder) {
  std::vector<std::unique_ptr<Tape>> tapes;
  for (int i = 0; i < 4; ++i) tapes.push_back(std::make_unique<Tape>());
  tapes.erase(tapes.begin() + 1);
  expect_records(*tapes.back());
  tapes.pop_back();
  expect_records(*tapes.back());
  tapes.erase(tapes.begin());
  expect_records(*tapes.back());
  tapes.clear();
  EXPECT_EQ(Tape::active(), nullptr);
}

TEST(ThreadTapes, WhileAnotherIsPausedOrActivated) {
  Tape outer;
  std::optional<Tape> inner;
  inner.emplace();
  {
    const auto paused = Tape::pause();
    inner.reset();
    EXPECT_EQ(Tape::active(), nullptr);
  }
  expect_records(outer);
  std::optional<Tape> idle;
  idle.emplace(TapeOptions{.active = false});
  {
    const auto active = idle->activate();
    const auto paused = Tape::pause();
    idle.reset();
  }
  expect_records(outer);
}

TEST(ThreadTapes, ATapeThatGoesOnAnotherThread) {
  Tape outer;
  auto tape = std::make_unique<Tape>();
  const Real x = tape->input(2);
  std::thread([moved = std::move(tape)]() mutable { moved.reset(); }).join();
  EXPECT_EQ(Real(value(x) * 2).value(), 4);
  expect_records(outer);
}

TEST(ThreadTapes, ATapeWhoseThreadHasGone) {
  std::unique_ptr<Tape> tape;
  Real x, y;
  std::thread([&] {
    tape = std::make_unique<Tape>();
    x = tape->input(2);
    y = x * x;
  }).join();
  tape->reverse(y);
  EXPECT_EQ(tape->gradient(x), 4);
  {
    const auto active = tape->activate();
    y = x * x * x;
  }
  tape->reverse(y);
  EXPECT_EQ(tape->gradient(x), 12);
  tape.reset();
  EXPECT_EQ(Tape::active(), nullptr);
}

// What a thread has recorded is reversed and destroyed by another, while it goes on.
TEST(ThreadTapes, OneThreadRecordsAndAnotherReverses) {
  struct Job {
    std::unique_ptr<Tape> tape;
    Real x, y;
  };
  std::mutex mutex;
  std::vector<Job> jobs;
  bool all = false;
  double sum = 0;
  std::thread reverses([&] {
    for (bool done = false; !done;) {
      std::vector<Job> taken;
      {
        const std::lock_guard lock(mutex);
        taken.swap(jobs);
        done = all;
      }
      for (Job& job : taken) {
        job.tape->reverse(job.y);
        sum += job.tape->gradient(job.x);
        job.tape.reset();
      }
      std::this_thread::yield();
    }
  });
  for (int i = 1; i <= 200; ++i) {
    Job job;
    job.tape = std::make_unique<Tape>(TapeOptions{.active = false});
    {
      const auto active = job.tape->activate();
      job.x = job.tape->input(i);
      job.y = job.x * job.x;
    }
    const std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
  }
  {
    const std::lock_guard lock(mutex);
    all = true;
  }
  reverses.join();
  EXPECT_EQ(sum, 2 * 200 * 201 / 2);
}

// A derivative that is lost is told where a tape meets it, and not taken for zero.
TEST(ThreadTapes, WhatIsComputedWithoutATapeIsNoPassiveNumber) {
  Tape tape;
  const Real x = tape.input(3), passive = 2;
  Real lost, constant, meant;
  std::thread([&] {
    lost = x * x + 1;
    constant = passive * 2 + 1;
    meant = value(x) * 2;
  }).join();
  EXPECT_EQ(lost.value(), 10);
  tape.reverse(x * x);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { tape.reverse(lost); }, [&] { tape.reverse(Real(lost * x)); }, [&] { tape.gradient(lost); },
           [&] {
             std::vector<Real> u = {lost};
             tape.steps(1, u, [](std::span<Real> v, std::int64_t) { v[0] *= 2; });
             tape.reverse(u[0]);
           }}) {
    try {
      use();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::foreign_real);
      EXPECT_NE(std::string(error.what()).find("tape.activate()"), std::string::npos) << error.what();
    }
  }
  tape.clear();
  const Real y = tape.input(3);
  tape.reverse(y * constant * meant);
  EXPECT_EQ(tape.gradient(y), 30);
  // Paused is meant: what is computed meanwhile is a number.
  const Real number = [&] {
    const auto paused = Tape::pause();
    return Real(y * y);
  }();
  tape.reverse(number * y);
  EXPECT_EQ(tape.gradient(y), 9);
}

}  // namespace
}  // namespace tidemark::scalars
