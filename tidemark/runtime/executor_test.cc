#include "tidemark/runtime/executor.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/cpu/device.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

TEST(Executor, TellsAnObserverOfEveryStepInOrder) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {4}});
  graph.add_output((square(x) + neg(x)).id());
  const Plan plan = make_plan(graph, test_target());
  CpuDevice device(1);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, verified(graph, plan, test_target()), device, arena);

  alignas(64) float data[4] = {1, 2, 3, 4};
  const Address inputs[] = {host_address(data)};
  std::vector<std::size_t> seen;
  executor.run(inputs, [&](std::size_t step) { seen.push_back(step); });
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2}));

  float observed[4], plain[4];
  const std::byte* result = host_pointer(arena.base() + plan.buffers[plan.outputs[0].buffer.index].offset);
  std::memcpy(observed, result, sizeof(observed));
  executor.run(inputs);
  std::memcpy(plain, result, sizeof(plain));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(observed[i], data[i] * data[i] - data[i]);
    EXPECT_EQ(plain[i], observed[i]);
  }
}

TEST(Executor, AGroupHasTheBitsOfItsStepsOneByOne) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {40, 70}}), row = builder.input({DType::f32, {70}});
  const Var a = exp(x * 0.5) + row;
  const Var b = tanh(a) * row;  // a is wanted too: stored, and used from the tile
  graph.add_output(a.id());
  graph.add_output((b - x).id());
  const Plan grouped = make_plan(graph, test_target()),
             single = make_plan(graph, test_target(), {.skip = {"fuse"}});
  EXPECT_EQ(group_end(grouped, 0), grouped.steps.size());

  alignas(64) static float data[40 * 70], shift[70];
  for (int i = 0; i < 40 * 70; ++i) data[i] = static_cast<float>(i % 97) * 0.03f - 1;
  for (int i = 0; i < 70; ++i) shift[i] = static_cast<float>(i) * 0.01f;
  const Address inputs[] = {host_address(data), host_address(shift)};
  CpuDevice device(2);
  Arena one(device, grouped.arena_bytes), other(device, single.arena_bytes);
  Executor(graph, verified(graph, grouped, test_target()), device, one).run(inputs);
  Executor(graph, verified(graph, single, test_target()), device, other).run(inputs);
  EXPECT_EQ(one.high_water(), grouped.arena_bytes);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::byte* first =
        host_pointer(one.base() + grouped.buffers[grouped.outputs[i].buffer.index].offset);
    const std::byte* second =
        host_pointer(other.base() + single.buffers[single.outputs[i].buffer.index].offset);
    EXPECT_EQ(std::memcmp(first, second, sizeof(data)), 0) << "output " << i;
  }
}

}  // namespace
}  // namespace tidemark
