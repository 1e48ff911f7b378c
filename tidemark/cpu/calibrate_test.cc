#include "tidemark/cpu/calibrate.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include <set>

#include "tidemark/base/error.h"
#include "tidemark/cpu/calibrate_links.h"
#include "tidemark/cpu/calibrate_probes.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ir/codec.h"

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
    all.insert(test_target().cost(call).work);
    if (probe.quick) quick.insert(test_target().cost(call).work);
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(work_count - 2)) << "all but by_kind and opaque";
  EXPECT_EQ(quick, all);
}

TEST(Calibrate, GivesAMachineThatPlansCanUse) {
  CpuDevice device(1);
  int last = -1, reports = 0;
  const std::string folder = ::testing::TempDir();
  const Machine machine = calibrate(device, {.effort = Effort::quick,
                                             .progress = [&](int done, int) { last = done; },
                                             .report =
                                                 [&](const ProbeReport& probe) {
                                                   ++reports;
                                                   EXPECT_GT(probe.measured, 0) << probe.call;
                                                   EXPECT_GT(probe.predicted, 0) << probe.call;
                                                 },
                                             .disk_folder = folder});
  EXPECT_GT(last, 0);
  EXPECT_GT(reports, 10);
  EXPECT_EQ(machine.threads, 1);
  EXPECT_GT(machine.memory_bytes, 0);
  EXPECT_EQ(machine_from_json(to_json(machine)), machine);
  for (const auto& [from, to] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0)})
    EXPECT_NE(find_link(machine, from, to), nullptr) << from << " to " << to;
  ASSERT_EQ(machine.further.size(), 1u);
  EXPECT_EQ(machine.further[0].name, "disk");
  EXPECT_EQ(machine.codecs.size(), codecs().size());
}

TEST(Calibrate, ADiskThatCannotBeUsedIsAnError) {
  CpuDevice device(1);
  Machine machine;
  EXPECT_THROW(measure_links(machine, device, "/no/such/folder"), Error);
  EXPECT_THROW(measure_links(machine, device, "/proc"), Error);
}

TEST(Calibrate, ADiskTakesThePlaceOfOneThatTheMachineHas) {
  CpuDevice device(1);
  Machine machine = reference_machine();
  machine.further.insert(machine.further.begin(), {.name = "near", .bytes = 1});
  for (Link& link : machine.links) link = {.from = 2 * link.from, .to = 2 * link.to};
  const std::size_t links = machine.links.size();
  measure_disk(machine, device, ::testing::TempDir());
  ASSERT_EQ(machine.further.size(), 2u);
  EXPECT_EQ(machine.further[1].name, "disk");
  EXPECT_EQ(machine.links.size(), links);
  for (const auto& [from, to] : {std::pair(0, 2), std::pair(2, 0)}) {
    ASSERT_NE(find_link(machine, from, to), nullptr);
    EXPECT_GT(find_link(machine, from, to)->beside_compute, 0);
  }
  EXPECT_THROW(measure_disk(machine, device, "/no/such/folder"), Error);
}

TEST(Calibrate, WithoutADiskThereAreCopiesAndCodecs) {
  CpuDevice device(2);
  Machine machine;
  measure_links(machine, device, "");
  EXPECT_TRUE(machine.further.empty());
  ASSERT_EQ(machine.links.size(), 1u);
  EXPECT_GT(machine.links[0].beside_compute, 0);
}

}  // namespace
}  // namespace tidemark
