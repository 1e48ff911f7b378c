#include "tidemark/cpu/calibrate.h"

#include <gtest/gtest.h>

#include <set>

#include "tidemark/cpu/calibrate_probes.h"
#include "tidemark/cpu/device.h"

namespace tidemark {
namespace {

TEST(Calibrate, ProbesEveryKindOfWorkAtEitherEffort) {
  std::set<WorkKind> all, quick;
  for (const Probe& probe : calibration_probes()) {
    Graph graph;
    Builder builder(graph);
    probe.build(builder);
    ASSERT_EQ(graph.nodes().size(), 1u);
    const NodeCall call(graph, graph.nodes()[0]);
    all.insert(cost_of(call).work);
    if (probe.quick) quick.insert(cost_of(call).work);
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(work_count - 2)) << "all but by_kind and opaque";
  EXPECT_EQ(quick, all);
}

TEST(Calibrate, GivesAMachineThatPlansCanUse) {
  CpuDevice device(1);
  int last = -1, reports = 0;
  const Machine machine = calibrate(device, {.effort = CalibrationEffort::quick,
                                             .progress = [&](int done, int) { last = done; },
                                             .report =
                                                 [&](const ProbeReport& probe) {
                                                   ++reports;
                                                   EXPECT_GT(probe.measured, 0) << probe.call;
                                                   EXPECT_GT(probe.predicted, 0) << probe.call;
                                                 }});
  EXPECT_GT(last, 0);
  EXPECT_GT(reports, 10);
  EXPECT_EQ(machine.threads, 1);
  EXPECT_GT(machine.memory_bytes, 0);
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);
}

}  // namespace
}  // namespace tidemark
