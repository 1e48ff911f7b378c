#include "tidemark/cpu/fit_profiles.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/plan/costs.h"

namespace tidemark {
namespace {

// A profile whose kernels take what `truth` says, of these costs.
struct Kernel {
  std::vector<StepCost> steps;
  double noise = 1;  // a factor
};

Profile profile_of(const Machine& truth, const std::vector<Kernel>& kernels) {
  Profile profile{.plan_hash = "0", .target = "cpu", .machine = "somebody's", .lanes = {"compute"}};
  profile.memories = {{.name = "ram"}, {.name = "disk"}};
  profile.runs = {{}};
  for (const Kernel& kernel : kernels) {
    KernelSum sum(truth);
    const auto first = static_cast<std::int32_t>(profile.body.steps.size());
    for (const StepCost& step : kernel.steps) {
      profile.body.steps.push_back({.op = "an op",
                                    .kernel = static_cast<std::int32_t>(profile.body.kernels.size()),
                                    .work = step.cost.work,
                                    .dtype = step.dtype,
                                    .flops = step.cost.flops,
                                    .bytes = step.cost.bytes});
      kernel.steps.size() > 1 ? sum.add_to_group(step.cost, step.dtype)
                              : sum.add_alone(step.cost, step.dtype);
    }
    profile.body.kernels.push_back({.first = first,
                                    .last = static_cast<std::int32_t>(profile.body.steps.size()),
                                    .measured = kernel.noise * sum.seconds()});
  }
  return profile;
}

StepCost product(double flops, DType dtype = DType::f32) {
  return {{.flops = flops, .bytes = std::pow(flops, 2.0 / 3), .work = WorkKind::contraction}, dtype};
}
StepCost elements(double bytes) {
  return {{.flops = bytes / 2, .bytes = bytes, .work = WorkKind::elementwise}};
}
StepCost sums(double bytes) { return {{.flops = bytes / 4, .bytes = 0, .work = WorkKind::reduction}}; }

Machine slower(double products, double bytes) {
  Machine machine = reference_machine();
  for (Curve::Point& point : machine[WorkKind::contraction].flops.points) point.rate /= products;
  for (Curve::Point& point : machine[WorkKind::elementwise].bytes.points) point.rate /= bytes;
  return machine;
}

const FitError& error_of(const FittedMachine& fitted, const std::string& kind) {
  for (const FitError& error : fitted.errors) {
    if (error.kind == kind) return error;
  }
  throw std::logic_error("no errors of " + kind);
}

TEST(FitProfiles, WhatAnotherMachineTookIsPredictedAfterwards) {
  const Machine truth = slower(3, 8);
  std::vector<Kernel> kernels;
  for (double size = 1e3; size < 1e9; size *= 3) {
    kernels.push_back({{product(size)}});
    kernels.push_back({{elements(size)}});
    kernels.push_back({{elements(size), elements(0), sums(size)}});
  }
  const FittedMachine fitted = fit_profiles(reference_machine(), std::vector{profile_of(truth, kernels)});
  for (const char* kind : {"contraction", "elementwise"}) {
    const FitError& error = error_of(fitted, kind);
    EXPECT_GT(error.median_before, 1.3) << kind;
    EXPECT_LT(error.median_after, 1.1) << kind;
    EXPECT_LT(error.worst_after, 1.6) << kind;
    EXPECT_LT(error.worst_after, error.worst_before) << kind;
  }
  EXPECT_EQ(fitted.all.kernels, static_cast<int>(kernels.size()));
  EXPECT_LT(fitted.all.median_after, 1.1);
  EXPECT_EQ(fitted.machine.name, "reference (fitted to 1 profile)");
  EXPECT_EQ(machine_from_json(to_json(fitted.machine)), fitted.machine) << "a file that is accepted";
}

TEST(FitProfiles, WhatWasNotMeasuredKeepsItsRates) {
  const Machine& base = reference_machine();
  const FittedMachine fitted =
      fit_profiles(base, std::vector{profile_of(slower(3, 1), {{{product(1e7)}}, {{product(2e7)}}})});
  for (int w = 1; w < work_count; ++w) {
    const auto work = static_cast<WorkKind>(w);
    EXPECT_EQ(fitted.machine[work] == base[work], work != WorkKind::contraction) << name_of(work);
  }
  EXPECT_EQ(fitted.machine.overhead, base.overhead);
  EXPECT_EQ(fitted.machine.links, base.links);
}

TEST(FitProfiles, AFewMeasurementsMoveACurveAsAWhole) {
  const FittedMachine fitted =
      fit_profiles(reference_machine(), std::vector{profile_of(slower(3, 1), {{{product(1e7)}}})});
  const Curve& before = reference_machine()[WorkKind::contraction].flops;
  const Curve& after = fitted.machine[WorkKind::contraction].flops;
  for (std::size_t i = 0; i < before.points.size(); ++i) {
    EXPECT_LT(after.points[i].rate, 0.8 * before.points[i].rate) << i;  // also where nothing was measured
    EXPECT_GT(after.points[i].rate, 0.2 * before.points[i].rate) << i;
  }
  EXPECT_LT(error_of(fitted, "contraction").worst_after, 1.1);
}

TEST(FitProfiles, AnOutlierDoesNotLeadAwayTheRest) {
  std::vector<Kernel> kernels;
  for (double size = 1e4; size < 1e9; size *= 1.5) kernels.push_back({{product(size)}});
  kernels[7].noise = 300;
  kernels[20].noise = 1e-3;
  const FittedMachine fitted =
      fit_profiles(reference_machine(), std::vector{profile_of(slower(3, 1), kernels)});
  EXPECT_LT(error_of(fitted, "contraction").median_after, 1.1);
}

TEST(FitProfiles, TheStartOfAKernelComesFromThoseThatDoLittleElse) {
  Machine truth = reference_machine();
  truth.overhead = 2e-6;
  std::vector<Kernel> kernels;
  for (double size = 64; size < 2e3; size *= 1.5) kernels.push_back({{elements(size)}});
  const FittedMachine fitted = fit_profiles(reference_machine(), std::vector{profile_of(truth, kernels)});
  EXPECT_NEAR(fitted.machine.overhead, 2e-6, 4e-7);
}

TEST(FitProfiles, BodiesCountByIteration) {
  Profile profile = profile_of(slower(2, 1), {{{product(1e6)}}, {{product(1e7)}}});
  ProfileBody body = profile.body;
  body.iterations = 50;
  for (ProfileKernel& kernel : body.kernels) kernel.measured *= 50;
  ProfileStep loop = body.steps[0];
  loop.op = "loop", loop.declared = 1;
  profile.body = {.steps = {loop}, .kernels = {{.first = 0, .last = 1, .measured = 1}}, .bodies = {body}};
  const FittedMachine fitted = fit_profiles(reference_machine(), std::vector{profile});
  EXPECT_EQ(fitted.all.kernels, 2);  // the loop itself has no rate
  EXPECT_LT(fitted.all.worst_after, 1.1);
}

TEST(FitProfiles, LinksAndCodecsFollowWhatWasMoved) {
  Profile profile = profile_of(reference_machine(), {});
  for (int i = 0; i < 3; ++i) {
    const double bytes = 1e7 * (i + 1);
    profile.body.steps.push_back(
        {.kind = StepKind::copy, .op = "copy", .kernel = i, .bytes = bytes, .from = 0, .to = 1});
    profile.body.kernels.push_back({.first = i, .last = i + 1, .measured = 60e-6 + bytes / 0.3e9});
  }
  const FittedMachine fitted = fit_profiles(reference_machine(), std::vector{profile});
  const Link& link = *find_link(fitted.machine, 0, 1);
  EXPECT_NEAR(link.beside_compute, 0.3e9, 1e6);
  EXPECT_NEAR(link.bandwidth, 1e9 / 3, 1e6);
  EXPECT_EQ(*find_link(fitted.machine, 1, 0), *find_link(reference_machine(), 1, 0));
  EXPECT_LT(error_of(fitted, "copy ram → disk").worst_after, 1.01);
}

TEST(FitProfiles, NoFileMakesAMachineThatIsNone) {
  for (const double seconds : {1e-12, 1e9}) {
    for (const double size : {0.0, 1e-300, 1e300}) {
      Profile profile = profile_of(reference_machine(), {{{product(1e7)}}});
      for (int i = 0; i < 8; ++i) {
        profile.body.steps.push_back({.op = "an op", .kernel = i + 1, .work = WorkKind::rows, .flops = size});
        profile.body.steps.back().bytes = i % 2 == 0 ? size : 0;
        profile.body.kernels.push_back({.first = i + 1, .last = i + 2, .measured = seconds});
      }
      const Machine machine = fit_profiles(reference_machine(), std::vector{profile}).machine;
      EXPECT_EQ(machine_from_json(to_json(machine)), machine) << seconds << ", " << size;
    }
  }
}

TEST(FitProfiles, TheSameProfilesGiveTheSameMachine) {
  const std::vector profiles = {profile_of(slower(3, 2), {{{product(1e5)}}, {{elements(1e6)}}})};
  EXPECT_EQ(fit_profiles(reference_machine(), profiles).machine,
            fit_profiles(reference_machine(), profiles).machine);
}

}  // namespace
}  // namespace tidemark
