#include "tidemark/runtime/executor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/cpu/device.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/plan/pipeline.h"

namespace tidemark {
namespace {

TEST(Executor, TellsAnObserverOfEveryStepInOrder) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {4}});
  graph.add_output((square(x) + neg(x)).id());
  const Plan plan = make_plan(graph);
  CpuDevice device(1);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, plan, device, arena);

  alignas(64) float data[4] = {1, 2, 3, 4};
  std::byte* const inputs[] = {reinterpret_cast<std::byte*>(data)};
  std::vector<std::size_t> seen;
  executor.run(inputs, [&](std::size_t step) { seen.push_back(step); });
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2}));

  float observed[4], plain[4];
  const std::byte* result = arena.base() + plan.buffers[plan.outputs[0].buffer.index].offset;
  std::memcpy(observed, result, sizeof(observed));
  executor.run(inputs);
  std::memcpy(plain, result, sizeof(plain));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(observed[i], data[i] * data[i] - data[i]);
    EXPECT_EQ(plain[i], observed[i]);
  }
}

}  // namespace
}  // namespace tidemark
