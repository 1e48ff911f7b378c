// Loops with a disk of their own: the same gradient, bit for bit; what waits there is in the plan, within the
// bytes that were given; what cannot be used says so.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/process_counts.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr std::int64_t steps = 120, width = 1024, state_bytes = 2 * 4 * width;

// On the way to whose disk nothing is lost, so that small states are worth keeping there.
Machine machine_with_quick_disk() {
  Machine machine = reference_machine();
  for (Link& link : machine.links) link.latency = 1e-7, link.bandwidth = link.beside_compute = 50e9;
  return machine;
}
CompileOptions quick_disk() { return {.machine = machine_with_quick_disk()}; }

// A state of two tensors, a captured vector, a slice and an output at each step.
auto loop_net(LoopOptions options) {
  return [options](Tensor w, Tensor xs) {
    const auto body = [&](std::pair<Tensor, Tensor> s, Tensor x) {
      const Tensor h = tanh(sin(s.first * w) + x), v = s.second * 0.9 + h * h;
      return std::pair(std::pair(h, v), sum(sin(v)));
    };
    const auto [end, ys] = scan(body, std::pair(ones({width}), zeros({width})), xs, options);
    return sum(end.first) + sum(end.second) + sum(ys * ys);
  };
}
Tensor loop_weights() { return sin(arange(width, DType::f32) * 0.37); }
Tensor loop_slices(std::int64_t count = steps) {
  return sin(reshape(arange(count * width, DType::f32), {count, width}) * 0.11);
}
std::pair<std::vector<double>, std::vector<double>> loop_gradients(const auto& f) {
  const auto [dw, dxs] = f(loop_weights(), loop_slices());
  return {dw.to_vector(), dxs.to_vector()};
}
const auto& right_gradients() {
  static const auto right = loop_gradients(compile(grad<0, 1>(loop_net({}))));
  return right;
}

// In states.
LoopOptions states(std::int64_t memory, std::int64_t disk, const std::string& folder) {
  return {.memory = Bytes(memory * state_bytes), .disk = Bytes(disk * state_bytes), .folder = folder};
}

// At least: each is two loops or three.
std::int64_t segments_of(const PlannedGraph& planned) {
  return std::ranges::count_if(planned.graph.nodes(), [](const Node& n) { return !n.regions.empty(); }) / 3;
}
// More than was given, where that is less than what there must be.
std::int64_t least_states(std::int64_t memory) { return std::max<std::int64_t>(0, 4 - memory); }

int copies_in(const Plan& plan) {
  return static_cast<int>(std::ranges::count(plan.steps, StepKind::copy, &Step::kind));
}

std::vector<HintReport> idle_hints(const Plan& plan) {
  std::vector<HintReport> idle;
  std::ranges::copy_if(plan.hints, std::back_inserter(idle), [](const HintReport& h) { return !h.honoured; });
  return idle;
}

TEST(LoopDisk, GivesTheSameBitsWithinItsBytesAndInThePlan) {
  const ScratchFolder folder;
  for (const auto& [memory, disk] : {std::pair(6, 2), {8, 40}, {3, 500}, {40, 2000}}) {
    const auto f = compile(grad<0, 1>(loop_net(states(memory, disk, folder.path()))), quick_disk());
    const auto alone = compile(grad<0, 1>(loop_net(states(memory, 0, ""))), quick_disk());
    for (int call = 0; call < 2; ++call)
      EXPECT_EQ(loop_gradients(f), right_gradients()) << memory << " " << disk;
    (void)alone.prepare(loop_weights(), loop_slices());
    const Plan& plan = f.plan().plan;
    ASSERT_EQ(plan.further.size(), 1u) << memory << " and " << disk << "\n" << f.plan().summary();
    EXPECT_GT(plan.further[0].arena_bytes, 0);
    EXPECT_LE(plan.further[0].arena_bytes, disk * state_bytes);
    EXPECT_EQ(plan.further[0].budget, disk * state_bytes);
    EXPECT_EQ(f.memory_report().disk.count, plan.further[0].arena_bytes);
    EXPECT_EQ(f.arena_high_water().count, plan.arena_bytes);
    EXPECT_EQ(plan.budget, 0) << "nobody asked for one";
    const std::int64_t slices =
        steps * width * 4 / segments_of(f.plan());  // of gradients of xs, of one segment
    EXPECT_LE(plan.peak(), alone.plan().plan.peak() + slices + least_states(memory) * state_bytes)
        << memory << " and " << disk;
    EXPECT_LT(plan.seconds, alone.plan().plan.seconds);
    EXPECT_GE(copies_in(plan), 2);
    EXPECT_TRUE(idle_hints(plan).empty()) << f.plan().summary();
    EXPECT_THAT(f.plan().to_json(), HasSubstr("\"to disk\""));
    EXPECT_EQ(to_json(plan_from_json(f.plan().to_json())), to_json(plan));
    EXPECT_TRUE(folder.empty()) << "its file has no name";
  }
}

TEST(LoopDisk, ItsStatesTakeTheFewerStepsTheMoreThereIsOfIt) {
  const ScratchFolder folder;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t disk : {0, 4, 20, 300}) {
    const auto f = compile(grad<0, 1>(loop_net(states(8, disk, folder.path()))), quick_disk());
    (void)f.prepare(loop_weights(), loop_slices());
    const std::vector<LoopForecast> loops = f.plan().loops();
    ASSERT_EQ(loops.size(), 1u) << f.plan().summary();
    EXPECT_EQ(loops[0].trips, steps);
    EXPECT_EQ(loops[0].disk_slots > 0, disk > 0);
    EXPECT_LE(loops[0].disk_slots, disk);
    EXPECT_LT(loops[0].forward_steps, before);
    before = loops[0].forward_steps;
    if (disk > 0) {
      EXPECT_THAT(f.plan().summary(), HasSubstr("wait on the disk"));
    }
  }
}

TEST(LoopDisk, IsLeftAloneWhereMemoryIsEnough) {
  const auto f = compile(grad<0, 1>(loop_net(states(100 * steps, 10, "/no/such/folder"))), quick_disk());
  EXPECT_EQ(loop_gradients(f), right_gradients());
  EXPECT_TRUE(f.plan().loops().empty());
  EXPECT_TRUE(f.plan().plan.further.empty());
  ASSERT_EQ(idle_hints(f.plan().plan).size(), 1u);
  EXPECT_EQ(idle_hints(f.plan().plan)[0].reason, "its memory holds all that its reverse reads");
  EXPECT_TRUE(idle_hints(f.plan().plan)[0].where.known());
}

TEST(LoopDisk, IsLeftAloneWhereItIsPredictedToBeSlower) {
  Machine slow = reference_machine();
  for (Link& link : slow.links) link.latency = 10;
  const auto f = compile(grad<0, 1>(loop_net(states(8, 100, "/no/such/folder"))), {.machine = slow});
  EXPECT_EQ(loop_gradients(f), right_gradients());
  EXPECT_TRUE(f.plan().plan.further.empty());
  ASSERT_EQ(idle_hints(f.plan().plan).size(), 1u);
  EXPECT_THAT(idle_hints(f.plan().plan)[0].reason, HasSubstr("faster"));
}

TEST(LoopDisk, AMachineThatKnowsOfNoDiskHasTheReferenceMachines) {
  const ScratchFolder folder;
  Machine bare = reference_machine();
  bare.further.clear(), bare.links.clear();
  const auto f = compile(grad<0, 1>(loop_net(states(8, 100, folder.path()))), {.machine = bare});
  EXPECT_EQ(loop_gradients(f), right_gradients());
}

TEST(LoopDisk, TenThousandStepsOfASmallState) {
  const ScratchFolder folder;
  const auto loss = [&](LoopOptions options) {
    return [options](Tensor w, Tensor u) {
      return sum(square(repeat(
          10'000, [&](Tensor v) { return sin(v * w) + v * 0.3; }, u, options)));
    };
  };
  const Tensor w = sin(arange(100, DType::f64)), u = cos(arange(100, DType::f64));
  const auto with = compile(grad<0, 1>(loss({.memory = 8000_B, .disk = 1_MiB, .folder = folder.path()})));
  const auto alone = compile(grad<0, 1>(loss({.memory = 8000_B})));
  const auto [dw, du] = with(w, u);
  const auto [dw_alone, du_alone] = alone(w, u);
  EXPECT_EQ(dw.to_vector(), dw_alone.to_vector());
  EXPECT_EQ(du.to_vector(), du_alone.to_vector());
  ASSERT_EQ(with.plan().plan.further.size(), 1u) << with.plan().summary();
  EXPECT_LE(with.plan().plan.further[0].arena_bytes, (1_MiB).count);
  EXPECT_LE(with.plan().plan.peak(), alone.plan().plan.peak());
  EXPECT_LT(3 * with.plan().loops()[0].forward_steps, 2 * alone.plan().loops()[0].forward_steps);
}

TEST(LoopDisk, WorksAtOnceToo) {
  const ScratchFolder folder;
  const std::size_t files = testing::open_files();
  LoopOptions options = states(8, 100, folder.path());
  EXPECT_EQ(loop_gradients(grad<0, 1>(loop_net(options))), right_gradients());
  options.folder.clear();
  EXPECT_EQ(loop_gradients(grad<0, 1>(loop_net(options))), right_gradients());
  EXPECT_EQ(testing::open_files(), files);
  EXPECT_TRUE(folder.empty());
}

TEST(LoopDisk, LiesInTheFolderForTemporaryFilesIfNoneIsNamed) {
  const auto f = compile(grad<0, 1>(loop_net(states(6, 10, ""))), quick_disk());
  EXPECT_EQ(loop_gradients(f), right_gradients());
  EXPECT_FALSE(f.plan().plan.further.empty());
}

TEST(LoopDisk, IsWithinTheBudgetOfTheFunction) {
  const ScratchFolder folder;
  CompileOptions options = quick_disk();
  options.effort = 0.05;
  const auto smallest = compile(grad<0, 1>(loop_net({})), options).smallest(loop_weights(), loop_slices());
  for (const LoopOptions& loop : {states(30, 300, folder.path()),
                                  LoopOptions{.disk = Bytes(300 * state_bytes), .folder = folder.path()}}) {
    options.memory = Bytes(smallest.memory.count + 30 * state_bytes);
    const auto f = compile(grad<0, 1>(loop_net(loop)), options);
    for (int call = 0; call < 2; ++call) EXPECT_EQ(loop_gradients(f), right_gradients());
    EXPECT_LE(f.plan().peak(), *options.memory);
    EXPECT_EQ(f.arena_high_water().count, f.plan().plan.arena_bytes);
    ASSERT_EQ(f.plan().plan.further.size(), 1u) << f.plan().summary();
    EXPECT_LE(f.plan().plan.further[0].arena_bytes, 300 * state_bytes);
  }
}

TEST(LoopDisk, LiesInTheDiskOfTheFunctionWhereItHasOne) {
  const ScratchFolder folder;
  CompileOptions options = quick_disk();
  options.effort = 0.05;
  options.memory = 8_MiB;
  options.disk = DiskBudget{folder.path(), Bytes(50 * state_bytes)};
  for (const std::string& named : {std::string(), folder.path()}) {
    const auto f = compile(grad<0, 1>(loop_net(states(8, 300, named))), options);
    EXPECT_EQ(loop_gradients(f), right_gradients());
    ASSERT_EQ(f.plan().plan.further.size(), 1u);
    EXPECT_LE(f.plan().plan.further[0].arena_bytes, 50 * state_bytes);
  }
  const auto other = compile(grad<0, 1>(loop_net(states(8, 300, "/var/tmp"))), options);
  EXPECT_EQ(code_of([&] { loop_gradients(other); }), ErrorCode::bad_plan_option);
}

TEST(LoopDisk, LoopsOfOneFunctionShareAFolder) {
  const ScratchFolder folder;
  const auto two = [](LoopOptions a, LoopOptions b) {
    return grad<0, 1>([=](Tensor w, Tensor xs) { return loop_net(a)(w, xs) * loop_net(b)(w, xs * 0.5); });
  };
  const auto right = loop_gradients(compile(two({}, {})));
  const auto shared = compile(two(states(8, 40, folder.path()), states(8, 20, "")), quick_disk());
  EXPECT_EQ(loop_gradients(shared), right);
  ASSERT_EQ(shared.plan().plan.further.size(), 1u) << shared.plan().summary();
  EXPECT_LE(shared.plan().plan.further[0].arena_bytes, 60 * state_bytes);
  EXPECT_EQ(shared.plan().loops().size(), 2u) << shared.plan().summary();
  const auto apart = compile(two(states(8, 40, folder.path()), states(8, 20, "/var/tmp")), quick_disk());
  EXPECT_EQ(code_of([&] { loop_gradients(apart); }), ErrorCode::bad_plan_option);
}

TEST(LoopDisk, HasNoEffectInsideOfOtherLoops) {
  const auto outer = [](LoopOptions options) {
    return grad([=](Tensor w, Tensor xs) {
      return sum(repeat(
          3, [&](Tensor v) { return v * 0.5 + 1e-30 * loop_net(options)(w + v * 0.1, xs); }, w));
    });
  };
  const Tensor w = loop_weights(), xs = loop_slices(20);
  const auto f = compile(outer(states(4, 100, "/no/such/folder")), quick_disk());
  EXPECT_EQ(f(w, xs).to_vector(), compile(outer({}))(w, xs).to_vector());
  EXPECT_TRUE(f.plan().plan.further.empty());
  const std::vector<HintReport> idle = idle_hints(f.plan().plan);
  ASSERT_FALSE(idle.empty());
  EXPECT_EQ(idle[0].reason, "bodies of loops do not use the disk");
  EXPECT_THAT(f.plan().summary(), HasSubstr("bodies of loops do not use the disk"));
}

TEST(LoopDisk, AFolderThatIsNotThereIsNamed) {
  const LoopOptions missing = states(6, 10, "/no/such/folder");
  const auto f = compile(grad<0, 1>(loop_net(missing)), quick_disk());
  for (int call = 0; call < 2; ++call) {
    try {
      loop_gradients(f);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file);
      EXPECT_THAT(error.what(), HasSubstr("/no/such/folder"));
      EXPECT_THAT(std::string(error.where().file), HasSubstr("loop_disk_test.cc"));
    }
  }
}

TEST(LoopDisk, AFolderThatTakesNoFilesIsAnError) {
  const auto f = compile(grad<0, 1>(loop_net(states(6, 10, "/proc"))), quick_disk());
  for (int call = 0; call < 2; ++call)
    EXPECT_EQ(code_of([&] { loop_gradients(f); }), ErrorCode::disk_failure);
}

TEST(LoopDisk, AFailingDiskIsAnErrorAndTheFunctionGoesOnWhenItIsBack) {
  const ScratchFolder folder;
  const std::size_t files = testing::open_files();
  {
    const auto f = compile(grad<0, 1>(loop_net(states(6, 30, folder.path()))), quick_disk());
    EXPECT_EQ(loop_gradients(f), right_gradients());
    const int read_only = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    std::vector<std::pair<int, int>> struck;  // a file, and where it is kept meanwhile
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (!target.starts_with(folder.path() + "/")) continue;
      const int fd = std::stoi(entry.path().filename().string());
      struck.emplace_back(fd, ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
      ::dup3(read_only, fd, O_CLOEXEC);
    }
    ASSERT_FALSE(struck.empty());
    for (int call = 0; call < 2; ++call)
      EXPECT_EQ(code_of([&] { loop_gradients(f); }), ErrorCode::disk_failure);
    for (const auto& [fd, kept] : struck) ::dup3(kept, fd, O_CLOEXEC), ::close(kept);
    ::close(read_only);
    EXPECT_EQ(loop_gradients(f), right_gradients());
    EXPECT_TRUE(folder.empty());
  }
  EXPECT_EQ(testing::open_files(), files);
}

TEST(LoopDisk, ArgumentsMayBeDonated) {
  const ScratchFolder folder;
  const auto update = [](LoopOptions options) {
    return [options](Tensor w, Tensor xs) { return w - 1e-30 * grad(loop_net(options))(w, xs); };
  };
  CompileOptions options = quick_disk();
  options.donate = {0};
  const auto f = compile(update(states(8, 60, folder.path())), options);
  Tensor w = loop_weights() + 0, right = loop_weights() + 0;
  const auto plain = compile(update({}));
  for (int call = 0; call < 3; ++call) {
    w = f(w, loop_slices());
    right = plain(right, loop_slices());
    EXPECT_EQ(w.to_vector(), right.to_vector());
  }
  EXPECT_FALSE(f.plan().plan.further.empty());
}

TEST(LoopDisk, ThreadsCallTheSameFunction) {
  const ScratchFolder folder;
  const auto f = compile(grad<0, 1>(loop_net(states(8, 60, folder.path()))), quick_disk());
  std::vector<std::thread> threads;
  std::vector<int> wrong(3, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int call = 0; call < 2; ++call) wrong[t] += loop_gradients(f) != right_gradients();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0}));
  EXPECT_FALSE(f.plan().plan.further.empty());
}

}  // namespace
}  // namespace tidemark
