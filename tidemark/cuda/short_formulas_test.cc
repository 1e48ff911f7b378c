// The shorter formulas for 16 bits (device/short_formulas.h), on every number that there is: at most a unit
// of the last place from the CPU's, subnormal results too, on the host and on a GPU.
#include <gtest/gtest.h>

#include "tests/support/gpu.h"
#include "tests/support/group_values.h"
#include "tests/support/run_on_device.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/target.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

// The op on every bit pattern of the dtype.
std::vector<std::unique_ptr<OpGroup>> on_every_number() {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  std::vector<std::unique_ptr<OpGroup>> groups;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Literal every{dtype, {65536}, std::vector<std::byte>(2 * patterns.size())};
    std::memcpy(every.bytes.data(), patterns.data(), every.bytes.size());
    for (const Op* op : {&op::gelu, &op::gelu_slope, &op::sigmoid, &op::silu})
      groups.push_back(std::make_unique<OpGroup>(*op, std::vector{every}, Attrs{}));
  }
  return groups;
}

void expect_near_cpu(const OpGroup& group, const Literal& got) {
  const Op& op = *group.step.call.op;
  const Literal expected = run_kernel(op, group.operands, group.attrs).results[0];
  const std::vector<double> x = values_of(group.operands[0]), a = values_of(got), b = values_of(expected);
  // The slope of gelu goes through 0 as a difference. At infinity the CPU's is NaN, infinity times 0.
  const bool is_slope = &op == &op::gelu_slope;
  const double floor = is_slope ? 1 : 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_slope && std::isinf(x[i])) continue;
    ASSERT_LE(units_apart(got.dtype, a[i], b[i], floor), 1) << x[i] << ": " << a[i] << " and " << b[i];
  }
}

TEST(ShortFormulas, AreAUnitFromTheCpuOnTheHost) {
  const auto groups = on_every_number();
  std::vector<KernelText> kernels;
  for (const auto& group : groups)
    kernels.push_back(write_group(std::span(&group->step, 1), fmt::format("short{}", kernels.size())));
  const HostKernels compiled(kernels);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    SCOPED_TRACE(groups[g]->name);
    const void* const in = groups[g]->operands[0].bytes.data();
    Shifted memory(groups[g]->out[0].bytes(), 0);
    void* const out = memory.get();
    ASSERT_TRUE(compiled.run(g, std::span(&in, 1), std::span(&out, 1), nullptr));
    expect_near_cpu(*groups[g], literal_at(groups[g]->out[0], memory.get()));
  }
}

TEST(ShortFormulas, AreAUnitFromTheCpuOnAGpu) {
  TM_NEEDS_GPU();
  const std::shared_ptr<Device> gpu = device();
  for (const auto& group : on_every_number()) {
    SCOPED_TRACE(group->name);
    Graph graph;
    Builder builder(graph);
    graph.add_output(builder.call1(*group->step.call.op, {builder.input(group->in[0])}).id());
    const Plan plan = make_plan(graph, cuda_target());
    expect_near_cpu(*group, DeviceRun(*gpu, graph, plan).run(group->operands)[0]);
  }
}

}  // namespace
}  // namespace tidemark::cuda
