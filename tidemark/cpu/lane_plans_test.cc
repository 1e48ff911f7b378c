// Plans over several lanes, with a memory in a file, as the CPU runs them: the bits of the reference under
// any delay, and failures that leave everything ready for the next run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/support/count_allocations.h"
#include "tests/support/literals.h"
#include "tests/support/process_counts.h"
#include "tests/support/run_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/spread_plan.h"
#include "tests/support/watched_device.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

using testing::bit_difference;
using testing::ReadyPlan;
using testing::ScratchFolder;
using testing::WatchedDevice;

// A chain whose values are all used again on the way back, as a gradient uses them: most of them have time to
// wait elsewhere.
struct ThereAndBack {
  Graph graph;
  Plan plan;
  std::vector<Literal> inputs, expected;

  explicit ThereAndBack(unsigned seed, std::int64_t elements = 1000) {
    Builder builder(graph);
    std::vector<Var> made = {builder.input({DType::f32, {elements}})};
    for (int i = 0; i < 8; ++i) made.push_back(i % 2 == 0 ? tanh(made.back()) : sin(made.back()));
    Var back = made.back();
    for (std::size_t i = made.size(); i-- > 0;) back = back * made[i];
    graph.add_output(back.id());
    plan = testing::spread(graph, make_plan(graph, test_target(), {.skip = {"fuse", "in_place"}}), seed);
    inputs = {testing::random_literal(DType::f32, {elements}, seed)};
    static CpuDevice reference(1);
    expected = interpret(graph, inputs, reference.pool());
  }

  std::size_t copies() const {
    return static_cast<std::size_t>(std::ranges::count(plan.steps, StepKind::copy, &Step::kind));
  }
};

TEST(LanePlans, GiveTheBitsOfTheReferenceUnderEveryDelay) {
  const ScratchFolder scratch;
  std::size_t copies = 0;
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    const ThereAndBack c(seed, seed % 2 == 0 ? 1000 : 9000);  // less than a block of a disk, and several
    copies += c.copies();
    for (const bool in_file : {false, true}) {
      WatchedDevice device(2);
      if (in_file) device.use_folder(1, scratch.path());
      ReadyPlan ready(c.graph, c.plan, device);
      EXPECT_EQ(static_cast<bool>(device.find_file(ready.arena(1).base())),
                in_file && c.plan.further[0].arena_bytes > 0);
      for (unsigned delay = 0; delay < 4; ++delay) {
        device.before = [delay](int command) {
          const unsigned drawn = std::mt19937(static_cast<unsigned>(command) * 64 + delay)();
          if (drawn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(drawn % 512));
        };
        EXPECT_EQ(bit_difference(ready.outputs_of(c.inputs), c.expected), "")
            << "seed " << seed << ", delay " << delay << ", in a file: " << in_file;
      }
      std::vector<Literal> inputs = c.inputs;
      ready.run(inputs, [](std::size_t) {});
      EXPECT_EQ(bit_difference(ready.outputs(), c.expected), "") << "seed " << seed << ", step by step";
    }
  }
  EXPECT_GT(copies, seeds(60));
}

TEST(LanePlans, AFailureOfAnyCommandIsTheCallersAndTheNextRunIsRight) {
  const ScratchFolder scratch;
  for (unsigned seed = 0; seed < seeds(12); ++seed) {
    const ThereAndBack c(seed, seed % 2 == 0 ? 300 : 3000);
    WatchedDevice device(2);
    device.use_folder(1, scratch.path());
    ReadyPlan ready(c.graph, c.plan, device);
    for (int broken = 0; broken < device.commands(); ++broken) {
      device.before = [&](int command) {
        if (command == broken)
          throw DeviceError(ErrorCode::disk_failure, {.what = fmt::format("command {}", command)});
      };
      try {
        ready.outputs_of(c.inputs);
        FAIL() << "no failure of command " << broken;
      } catch (const DeviceError& error) {
        EXPECT_EQ(error.parts().what, fmt::format("command {}", broken));
      }
      device.before = nullptr;
      EXPECT_EQ(bit_difference(ready.outputs_of(c.inputs), c.expected), "")
          << "seed " << seed << ", after command " << broken;
    }
  }
}

// Writes one byte of the file in the folder that is open; what the plan last wrote there is lost.
void damage_file_in(const std::string& folder, std::int64_t offset) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!target.starts_with(folder + "/")) continue;
    const int file = std::stoi(entry.path().filename().string());
    std::byte byte{};
    ASSERT_EQ(::pread(file, &byte, 1, offset), 1);
    byte ^= std::byte{1};
    ASSERT_EQ(::pwrite(file, &byte, 1, offset), 1);
    return;
  }
  FAIL() << "no file is open in " << folder;
}

TEST(LanePlans, DamageOnTheDiskIsAnErrorAndNotANumber) {
  int damaged = 0;
  for (unsigned seed = 0; seed < seeds(12); ++seed) {
    const ScratchFolder scratch;
    const ThereAndBack c(seed, 3000);
    CpuDevice device(1);
    device.use_folder(1, scratch.path());
    ReadyPlan ready(c.graph, c.plan, device);
    for (std::size_t t = 0; t < c.plan.steps.size(); ++t) {
      if (c.plan.steps[t].kind != StepKind::copy) continue;
      const Buffer& to = c.plan.buffers[c.plan.steps[t].out[0].buffer.index];
      if (to.memory != 1) continue;
      std::vector<Literal> inputs = c.inputs;
      EXPECT_THROW(ready.run(inputs,
                             [&](std::size_t step) {
                               if (step == t) damage_file_in(scratch.path(), to.offset + to.bytes / 2);
                             }),
                   DeviceError)
          << "seed " << seed << ", step " << t;
      ++damaged;
      EXPECT_EQ(bit_difference(ready.outputs_of(c.inputs), c.expected), "") << "seed " << seed;
    }
  }
  EXPECT_GT(damaged, 0);
}

TEST(LanePlans, ThreadsWithExecutorsOfTheirOwnDoNotMeet) {
  const ScratchFolder scratch;
  CpuDevice device(2);
  device.use_folder(1, scratch.path(), DiskCompression::always);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned seed = 0; seed < seeds(24); ++seed) {
        const ThereAndBack c(2 * seed + t, 3000);
        ReadyPlan ready(c.graph, c.plan, device);
        for (int round = 0; round < 4; ++round)
          wrong += !bit_difference(ready.outputs_of(c.inputs), c.expected).empty();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LanePlans, NothingIsAllocatedWhileTheyRun) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const ScratchFolder scratch;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const ThereAndBack c(seed, 9000);
    CpuDevice device(2);
    device.use_folder(1, scratch.path(), static_cast<DiskCompression>(seed % 3));
    ReadyPlan ready(c.graph, c.plan, device);
    std::vector<Literal> inputs = c.inputs;
    ready.run(inputs);
    for (int run = 0; run < 12; ++run) {
      ready.record(run >= 9);
      EXPECT_EQ(count_allocations([&] { ready.run(inputs); }).allocations, 0) << "seed " << seed;
    }
  }
}

TEST(LanePlans, NothingIsLeftBehind) {
  const ScratchFolder scratch;
  const ThereAndBack c(1, 3000);
  ASSERT_GT(c.plan.further[0].arena_bytes, 0);
  CpuDevice device(1);
  device.use_folder(1, scratch.path());
  const std::size_t threads = testing::threads_alive(), files = testing::open_files();
  for (int cycle = 0; cycle < 200; ++cycle) {
    ReadyPlan ready(c.graph, c.plan, device);
    EXPECT_GT(testing::open_files(), files);
    if (cycle % 2 == 0) ready.outputs_of(c.inputs);
    EXPECT_TRUE(scratch.empty());
  }
  EXPECT_EQ(testing::open_files(), files);
  EXPECT_TRUE(testing::threads_come_down_to(threads));
}

}  // namespace
}  // namespace tidemark
