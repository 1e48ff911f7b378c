// Calibration goes through the ordinary interface of a device: here of one whose addresses are no pointers.
// Nothing is asserted about how fast it is.
#include "tidemark/engine/calibrate_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/toy_target/toy_device.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

DeviceCalibrationOptions small_options() {
  return {.name = "toy", .memory_bytes = 1 << 30, .largest_bytes = 300'000, .effort = Effort::quick};
}

TEST(CalibrateDevice, MeasuresThroughTheOrdinaryInterface) {
  ToyDevice device;
  DeviceCalibrationOptions options = small_options();
  options.effort = Effort::normal;
  std::vector<ProbeReport> reports;
  int last_done = 0, last_total = 0;
  options.report = [&](const ProbeReport& report) { reports.push_back(report); };
  options.progress = [&](int done, int total) { last_done = done, last_total = total; };
  const Machine machine = calibrate(device, options);
  EXPECT_EQ(machine.name, "toy");
  EXPECT_EQ(machine.memory_bytes, 1 << 30);
  EXPECT_GT(machine.overhead, 0);
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);  // a machine that can be kept
  std::set<WorkKind> kinds;
  for (const ProbeReport& report : reports) {
    EXPECT_GT(report.measured, 0) << report.call;
    EXPECT_GT(report.predicted, 0) << report.call;
    kinds.insert(report.work);
  }
  EXPECT_EQ(last_done, last_total);
  EXPECT_EQ(static_cast<std::size_t>(last_total), reports.size());
  for (const WorkKind work : {WorkKind::elementwise, WorkKind::reduction, WorkKind::rows,
                              WorkKind::contraction, WorkKind::random, WorkKind::sort})
    EXPECT_TRUE(kinds.contains(work)) << name_of(work);
  EXPECT_EQ(device.counts().bytes, 0);  // all of its memory was given back
}

// What was not measured is what was known: calls too large, and those that the CPU runs for the device.
TEST(CalibrateDevice, KeepsWhatIsNotMeasured) {
  static const Target on_host = [] {
    Target target = toy_target();
    target.find = [](const Op& op) -> const ExecutionFacts* {
      const ExecutionFacts* found = toy_target().find(op);
      static ExecutionFacts sorting;
      if (!found || std::string_view(op.name) != "sort") return found;
      sorting = *found;
      sorting.on_host = [](const Call&) { return true; };
      return &sorting;
    };
    return target;
  }();
  ToyDevice device(on_host);
  DeviceCalibrationOptions options = small_options();
  std::vector<std::string> calls;
  options.report = [&](const ProbeReport& report) { calls.push_back(report.call); };
  const Machine machine = calibrate(device, options);
  EXPECT_EQ(machine[WorkKind::sort], device.machine()[WorkKind::sort]);
  EXPECT_EQ(machine[WorkKind::factorization], device.machine()[WorkKind::factorization]);
  EXPECT_EQ(machine[WorkKind::contraction].speed[1], device.machine()[WorkKind::contraction].speed[1]);
  EXPECT_NE(machine[WorkKind::elementwise], device.machine()[WorkKind::elementwise]);
  for (const std::string& call : calls)
    EXPECT_THAT(call, ::testing::Not(::testing::StartsWith("sort"))) << call;
}

TEST(CalibrateDevice, LinksToTheHostsMemoryAreMeasuredEachWay) {
  Machine before = reference_machine();
  before.further = {{.name = "host", .bytes = 1 << 30}};
  before.links = {{.from = 0, .to = 1, .latency = 1, .bandwidth = 10, .beside_compute = 5},
                  {.from = 1, .to = 0, .latency = 1, .bandwidth = 10, .beside_compute = 5}};
  ToyDevice device;
  device.set_machine(before);
  const Machine machine = calibrate(device, small_options());
  EXPECT_GT(device.counts().copies, 0);
  ASSERT_EQ(machine.links.size(), 2u);
  for (const Link& link : machine.links) {
    EXPECT_LT(link.latency, 1);
    EXPECT_GT(link.bandwidth, 10);
    EXPECT_DOUBLE_EQ(link.beside_compute, link.bandwidth / 2);  // not measured: the share that it was
  }
}

TEST(CalibrateDevice, TheCpuIsADeviceToo) {
  CpuDevice device(1);
  const Machine machine = calibrate(static_cast<Device&>(device), small_options());
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);
}

}  // namespace
}  // namespace tidemark::testing
