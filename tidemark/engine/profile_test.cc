// Profiles of compiled functions. No time itself is looked at: only what must hold of any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/on_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using testing::ScratchFolder;

struct Net {
  std::vector<Tensor> weights;
  TM_FIELDS(Net, weights)
};
Tensor loss(const Net& net, Tensor x) {
  for (const Tensor& w : net.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}
Net net(int layers = 6, std::int64_t width = 64) {
  Net made;
  for (int i = 0; i < layers; ++i) made.weights.push_back(random_normal(key(i), {width, width}, 0, 0.1));
  return made;
}
Tensor batch(std::int64_t rows = 256, std::int64_t width = 64) {
  return random_normal(key(99), {rows, width});
}

// All that holds of a profile of this plan, whatever the clock said.
void expect_profile_of(const Profile& profile, const Plan& plan) {
  EXPECT_EQ(profile.plan_hash, hash_text(plan_hash(plan)));
  EXPECT_EQ(profile.body.steps.size(), plan.steps.size());
  EXPECT_EQ(profile.body.kernels.size(), kernel_count(plan));
  EXPECT_EQ(profile.lanes.size(), plan.lanes.size());
  ASSERT_EQ(profile.memories.size(), memory_count(plan));
  for (std::size_t m = 0; m < memory_count(plan); ++m) {
    const ProfileMemory& memory = profile.memories[m];
    EXPECT_EQ(memory.planned_peak(), memory_of(plan, m).peak());
    EXPECT_EQ(memory.peak(), memory.planned_peak()) << memory.name << ": used, and planned";
    for (const ProfileMemory::Point& point : memory.curve) {
      EXPECT_GE(point.bytes, memory.input_bytes);
      EXPECT_LE(point.bytes, memory.planned_peak());
      EXPECT_LE(point.seconds, profile.measured());
    }
    EXPECT_TRUE(std::ranges::is_sorted(memory.curve, {}, &ProfileMemory::Point::seconds));
  }
  for (const ProfileRun& run : profile.runs) {
    std::vector<double> free(plan.lanes.size(), 0);  // when what the lane has run has ended
    for (std::size_t k = 0; k < profile.body.kernels.size(); ++k) {
      const ProfileKernel& kernel = profile.body.kernels[k];
      EXPECT_LE(run.kernel_begin[k], run.kernel_end[k]);
      EXPECT_LE(run.kernel_end[k], run.seconds);
      double& lane = free[static_cast<std::size_t>(kernel.lane)];
      EXPECT_GE(run.kernel_begin[k], lane) << "kernel " << k;
      lane = run.kernel_end[k];
      for (std::int32_t s = kernel.first; s < kernel.last; ++s) {
        for (const std::int32_t wait : plan.steps[static_cast<std::size_t>(s)].waits) {
          const auto other =
              static_cast<std::size_t>(profile.body.steps[static_cast<std::size_t>(wait)].kernel);
          EXPECT_LE(run.kernel_end[other], run.kernel_begin[k]) << "kernel " << k << " waits for " << other;
        }
      }
    }
  }
  for (const ProfileKernel& kernel : profile.body.kernels) EXPECT_GT(kernel.predicted, 0);
  EXPECT_EQ(to_json(profile_from_json(to_json(profile))), to_json(profile));
}

TEST(Profiles, EveryKernelOfEveryCallHasItsPlaceInTime) {
  const Net n = net();
  const Tensor x = batch();
  const auto free = compile(value_and_grad(loss), {.effort = 0.05});
  const Bytes budget(free.smallest(n, x).memory.count * 11 / 10);
  const auto step = compile(value_and_grad(loss), {.memory = budget, .effort = 0.1});
  const auto expected = bits_of(step(n, x).second.weights[0]);  // not recorded
  step.record_profile();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bits_of(step(n, x).second.weights[0]), expected);
  step.record_profile(false);
  EXPECT_EQ(bits_of(step(n, x).second.weights[0]), expected);  // not recorded either
  const Profile profile = step.profile();
  EXPECT_EQ(profile.runs.size(), 5u);
  EXPECT_TRUE(std::ranges::is_sorted(profile.runs, {}, &ProfileRun::begin));
  const Plan& plan = step.plan().plan;
  expect_profile_of(profile, plan);
  EXPECT_EQ(profile.machine, "reference");
  // What is computed again names the step that computed it first.
  int again = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const std::int32_t origin = profile.body.steps[s].origin;
    if (origin < 0) continue;
    ++again;
    EXPECT_EQ(plan.steps[static_cast<std::size_t>(origin)].node, plan.steps[s].node);
  }
  EXPECT_GT(again, 0);
  EXPECT_THAT(profile.body.steps[0].file, ::testing::HasSubstr("profile_test.cc"));
  EXPECT_THAT(profile.summary(), ::testing::HasSubstr("as planned to the byte"));
}

TEST(Profiles, TheLatestRunsAreKeptAndSwitchingOnBeginsAnew) {
  const Net n = net(2);
  const auto step = compile(loss);
  step.record_profile();
  for (int i = 0; i < 40; ++i) step(n, batch(8));
  EXPECT_EQ(step.profile().runs.size(), 32u);
  const double last = step.profile().runs.back().begin;
  step(n, batch(8));
  EXPECT_LE(step.profile().runs[0].begin, last);
  step.record_profile();
  step(n, batch(8));
  EXPECT_EQ(step.profile().runs.size(), 1u);
  // Other types have a plan and a profile of their own.
  step(n, batch(4));
  step(n, batch(4));
  EXPECT_EQ(step.profile().runs.size(), 2u);
  step(n, batch(8));
  EXPECT_EQ(step.profile().runs.size(), 2u);
}

TEST(Profiles, WithoutARecordedCallThereIsNone) {
  const auto step = compile(loss);
  try {
    (void)step.profile();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::structure_mismatch);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("asked for its profile before its first call"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("record_profile()"));
  }
  step(net(2), batch(8));
  try {
    (void)step.profile();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("nothing was recorded"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("profile_test.cc"));
  }
}

TEST(Profiles, BodiesOfLoopsAddUpTheirIterations) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    const auto inner = [](const Tensor& state) { return sin(state) * 0.5; };
    return sum(repeat(
        7, [&](const Tensor& state) { return repeat(3, inner, tanh(matmul(state, w))); }, x));
  };
  const auto step = compile(f);
  const Tensor x = batch(64), w = net(1).weights[0];
  step.record_profile();
  step(x, w);
  const Profile profile = step.profile();
  expect_profile_of(profile, step.plan().plan);
  ASSERT_EQ(profile.body.bodies.size(), 1u);
  const ProfileBody& outer = profile.body.bodies[0];
  EXPECT_EQ(outer.iterations, 7);
  ASSERT_EQ(outer.bodies.size(), 1u);
  EXPECT_EQ(outer.bodies[0].iterations, 21);
  const auto sum_of = [](const ProfileBody& body) {
    double sum = 0;
    for (const ProfileKernel& kernel : body.kernels) sum += kernel.measured;
    return sum;
  };
  // What runs inside takes no longer than what it is inside of.
  const auto of_step = [](const ProfileBody& body, std::int32_t s) {
    return body.kernels[static_cast<std::size_t>(body.steps[static_cast<std::size_t>(s)].kernel)].measured;
  };
  constexpr double rounding = 1e-12;
  EXPECT_LE(sum_of(outer), of_step(profile.body, outer.step) + rounding);
  EXPECT_LE(sum_of(outer.bodies[0]), of_step(outer, outer.bodies[0].step) + rounding);
  EXPECT_GT(profile.body.steps[static_cast<std::size_t>(outer.step)].declared, 0);
  step(x, w);  // sums begin anew with each run
  EXPECT_EQ(step.profile().body.bodies[0].iterations, 7);
}

TEST(Profiles, LanesOfADiskAreTimedOnThemselves) {
  const ScratchFolder folder;
  const auto step =
      compile(value_and_grad(loss), {.memory = 14_MiB, .disk = {{folder.path(), 1_GiB}}, .effort = 0.1});
  const Net n = net(8, 256);
  const Tensor x = batch(2048, 256);
  step.record_profile();
  for (int i = 0; i < 2; ++i) (void)step(n, x);
  const Profile profile = step.profile();
  const Plan& plan = step.plan().plan;
  expect_profile_of(profile, plan);
  ASSERT_EQ(profile.memories.size(), 2u);
  EXPECT_EQ(profile.memories[1].name, "disk");
  int back = 0;
  for (const ProfileStep& s : profile.body.steps) {
    if (s.kind != StepKind::copy || s.from != 1) continue;
    ++back;
    ASSERT_GE(s.origin, 0) << "what comes back was taken out";
    const ProfileStep& out = profile.body.steps[static_cast<std::size_t>(s.origin)];
    EXPECT_EQ(out.kind, StepKind::copy);
    EXPECT_EQ(out.to, 1);
    EXPECT_EQ(out.bytes, s.bytes);
  }
  EXPECT_GT(back, 0);
}

TEST(Profiles, ACallThatFailsIsNotRecorded) {
  const auto f = [](const Tensor& a) { return sum(cholesky(a) * 2); };
  const auto step = compile(f);
  const Tensor good = eye(8), bad = eye(8) * -1;
  step.record_profile();
  EXPECT_NE(code_of([&] { step(bad); }), ErrorCode{0});
  EXPECT_EQ(code_of([&] { (void)step.profile(); }), ErrorCode::structure_mismatch);
  EXPECT_EQ(step(good).item(), 16);
  EXPECT_NE(code_of([&] { step(bad); }), ErrorCode{0});
  EXPECT_EQ(step.profile().runs.size(), 1u);
  expect_profile_of(step.profile(), step.plan().plan);
}

TEST(Profiles, ThreadsMayCallWhileItIsRecordedSwitchedAndAskedFor) {
  constexpr int calls = sanitized ? 10 : 60;
  const Net n = net(3, 32);
  const Tensor x = batch(64, 32);
  for (const bool in_turns : {false, true}) {
    const auto step =
        in_turns ? compile(grad(loss), {.memory = 8_MiB, .held_results = 4}) : compile(grad(loss));
    const auto expected = bits_of(step(n, x).weights[0]);
    step.record_profile();
    step(n, x);
    std::atomic<int> wrong = 0, odd = 0;
    on_threads(4, [&](int thread) {
      for (int i = 0; i < calls; ++i) {
        if (thread == 3 && i % 4 == 0) {  // one asks and switches meanwhile
          odd += step.profile().runs.empty();
          continue;
        }
        wrong += bits_of(step(n, x).weights[0]) != expected;
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(odd, 0);
    expect_profile_of(step.profile(), step.plan().plan);
    std::atomic<bool> done = false;
    std::thread switching([&] {
      for (int i = 0; !done; ++i) step.record_profile(i % 2 == 0);
    });
    on_threads(2, [&](int) {
      for (int i = 0; i < calls; ++i) wrong += bits_of(step(n, x).weights[0]) != expected;
    });
    done = true;
    switching.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Profiles, AFileWithATraceIsWritten) {
  const ScratchFolder folder;
  const auto step = compile(loss);
  step.record_profile();
  step(net(2), batch(8));
  const Profile profile = step.profile();
  profile.write(folder.path() + "/profile.json");
  profile.write_trace(folder.path() + "/trace.json");
  EXPECT_EQ(to_json(load_profile(folder.path() + "/profile.json")), to_json(profile));
  EXPECT_EQ(code_of([&] { load_profile(folder.path() + "/trace.json"); }), ErrorCode::bad_plan_file);
  EXPECT_EQ(code_of([&] { load_profile(folder.path() + "/none.json"); }), ErrorCode::bad_file);
  try {
    load_profile(folder.path() + "/trace.json");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("trace.json:"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark
