#include "tidemark/cpu/calibrate_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tidemark {
namespace {

// Times as a machine with these rates takes them, for calls of many sizes and intensities.
std::vector<Measurement> times_of(const Machine& machine, WorkKind work, DType dtype = DType::f32) {
  std::vector<Measurement> list;
  for (double bytes = 1e3; bytes < 1e8; bytes *= 6) {
    for (const double intensity : {0.1, 1.0, 5.0, 40.0}) {
      const Cost cost{.flops = intensity * bytes, .bytes = bytes, .work = work};
      list.push_back({cost, dtype, seconds_of(machine, cost, dtype)});
    }
  }
  return list;
}

double worst_error(const WorkRates& rates, double overhead, const std::vector<Measurement>& list,
                   bool overlaps = false) {
  Machine machine;
  machine.overlaps = overlaps;
  machine.overhead = overhead;
  machine.work.fill(rates);
  double worst = 0;
  for (const Measurement& m : list) {
    worst = std::max(worst, std::abs(std::log(seconds_of(machine, m.cost, m.dtype) / m.seconds)));
  }
  return std::exp(worst);
}

TEST(CalibrateFit, FindsTheRatesThatMadeTheTimes) {
  const Machine& machine = reference_machine();
  for (const WorkKind work : {WorkKind::elementwise, WorkKind::contraction, WorkKind::convolution}) {
    const std::vector<Measurement> list = times_of(machine, work);
    EXPECT_LT(worst_error(fit_rates(list, machine.overhead), machine.overhead, list), 1.25) << name_of(work);
  }
}

TEST(CalibrateFit, FindsTheRatesWhereArithmeticOverlapsTheBytes) {
  Machine machine = reference_machine();
  machine.overlaps = true;
  const std::vector<Measurement> list = times_of(machine, WorkKind::contraction);
  EXPECT_LT(worst_error(fit_rates(list, machine.overhead, {}, true), machine.overhead, list, true), 1.25);
}

// As products are on a GPU: 16 bits are many times faster, and small ones take the time of their start.
TEST(CalibrateFit, FindsADtypeOfManyTimesTheSpeedWhereArithmeticOverlapsTheBytes) {
  Machine machine = reference_machine();
  machine.overlaps = true;
  machine[WorkKind::contraction] = {
      .flops = {{{0.5e6, 0.24e12}, {10e6, 2.6e12}, {180e6, 15e12}, {3.2e9, 50e12}}},
      .bytes = {{{25e3, 0.7e12}, {3.2e6, 3e12}, {400e6, 4e12}}},
      .speed = {1, 1, 15, 15, 1, 1, 1, 1}};
  std::vector<Measurement> list;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (double n = 64; n < 1e4; n *= 2) {
      for (const double depth : {n, 4 * n}) {
        const Cost cost{.flops = 2 * n * n * depth,
                        .bytes = 2.0 * (n * n + 2 * n * depth),
                        .work = WorkKind::contraction};
        list.push_back({cost, dtype, seconds_of(machine, cost, dtype)});
      }
    }
  }
  const WorkRates rates = fit_rates(list, machine.overhead, {}, true);
  EXPECT_LT(worst_error(rates, machine.overhead, list, true), 1.3);
  EXPECT_NEAR(rates.speed[static_cast<std::size_t>(DType::bf16)], 15, 3);
}

TEST(CalibrateFit, IsMovedLittleByOneDisturbedTime) {
  const Machine& machine = reference_machine();
  const std::vector<Measurement> clean = times_of(machine, WorkKind::rows);
  std::vector<Measurement> disturbed = clean;
  disturbed[disturbed.size() / 2].seconds *= 20;
  EXPECT_LT(worst_error(fit_rates(disturbed, machine.overhead), machine.overhead, clean), 1.3);
}

TEST(CalibrateFit, FindsTheSpeedOfADtype) {
  Machine machine = reference_machine();
  machine[WorkKind::contraction].speed[static_cast<std::size_t>(DType::bf16)] = 3;
  std::vector<Measurement> list = times_of(machine, WorkKind::contraction);
  for (const Measurement& m : times_of(machine, WorkKind::contraction, DType::bf16)) list.push_back(m);
  const WorkRates rates = fit_rates(list, machine.overhead);
  EXPECT_NEAR(rates.speed[static_cast<std::size_t>(DType::bf16)], 3, 0.3);
}

TEST(CalibrateFit, KeepsTheBandwidthItIsGivenWhereFlopsExplainTheTime) {
  const Curve bandwidth{{{1e3, 2e10}}};
  std::vector<Measurement> list;
  for (double flops = 1e5; flops < 1e9; flops *= 10) {
    const Cost cost{.flops = flops, .bytes = flops / 10, .work = WorkKind::attention};
    list.push_back({cost, DType::f32, 1e-6 + cost.flops / 5e9 + cost.bytes / 2e10});
  }
  const WorkRates rates = fit_rates(list, 1e-6, bandwidth);
  for (const Curve::Point& point : rates.bytes.points) EXPECT_NEAR(std::log(point.rate / 2e10), 0, 0.3);
  for (const Curve::Point& point : rates.flops.points) EXPECT_NEAR(std::log(point.rate / 5e9), 0, 0.1);
}

TEST(CalibrateFit, GivesAMachineFileWhateverTheTimes) {
  std::vector<Measurement> list;
  for (int i = 0; i < 30; ++i) {  // times without sense
    const Cost cost{
        .flops = std::pow(10, 2 + i % 7), .bytes = std::pow(10, 3 + i % 5), .work = WorkKind::sort};
    list.push_back({cost, DType::f32, std::pow(10, -7 + (i * 7) % 5)});
  }
  list.push_back({{.flops = 0, .bytes = 0, .work = WorkKind::sort}, DType::f32, 1e-7});
  Machine machine = reference_machine();
  machine[WorkKind::sort] = fit_rates(list, 1e-6);
  EXPECT_EQ(machine_from_json(to_json(machine)), machine) << "curves obey the rules of the file";
  machine[WorkKind::sort] = fit_rates(std::span(list).last(1), 1e-6);
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);
}

}  // namespace
}  // namespace tidemark
