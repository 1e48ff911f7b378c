// What a planned run promises: the bits of the reference run, whatever passes are switched off, inside the
// arena the plan claimed. On random differentiable programs of real ops: views, in-place updates, fan-out,
// several results, random numbers, donated inputs.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/random_hints.h"
#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/trace/storage.h"

namespace tidemark::testing {
namespace {

void expect_bits_of_reference(const Graph& graph, const ProgramOptions& options, const std::string& what) {
  static const auto device = std::make_shared<CpuDevice>(2);
  const std::vector<Literal> inputs = inputs_of(graph);
  const std::vector<Literal> expected =
      interpret(expand(graph, [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; }),
                inputs, device->pool());
  Program program(graph, options, device);
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> tensors;
    for (const Literal& input : inputs) tensors.push_back(tensor_of(input));
    const std::vector<Tensor> results = program.run(tensors, {});
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::byte* bytes = results[i].bytes();
      const Literal given{results[i].dtype(), results[i].shape(), {bytes, bytes + results[i].type().bytes()}};
      ASSERT_EQ(bit_difference(given, expected[i]), "") << what << ", run " << run << ", output " << i;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (graph.inputs()[i].donated) continue;
      ASSERT_EQ(std::memcmp(tensors[i].storage()->data(), inputs[i].bytes.data(), inputs[i].bytes.size()), 0)
          << what << ": an input that was not donated was written";
    }
  }
  EXPECT_EQ(program.arena_high_water(), program.plan().arena_bytes) << what;
  EXPECT_GE(program.plan().peak(), program.plan().lower_bound) << what;
  EXPECT_LE(program.plan().peak(),
            program.plan().store_all_bytes + 64 * static_cast<std::int64_t>(graph.values().size()))
      << what;
}

TEST(RunLaws, APlannedRunHasTheBitsOfTheReferenceRun) {
  for (unsigned seed = 0; seed < seeds(300); ++seed) {
    expect_bits_of_reference(RandomProgram(seed).joint(), {}, fmt::format("seed {}", seed));
    if (HasFatalFailure()) return;
  }
}

TEST(RunLaws, SoDoesOneWithAnyPassSwitchedOff) {
  for (const PassInfo& pass : pass_list()) {
    if (!pass.optional) continue;
    for (unsigned seed = 1000; seed < 1000 + seeds(60); ++seed) {
      expect_bits_of_reference(RandomProgram(seed).joint(), {.plan = {.skip = {std::string(pass.name)}}},
                               fmt::format("seed {} without {}", seed, pass.name));
      if (HasFatalFailure()) return;
    }
  }
  for (const PassInfo& pass : opt_pass_list()) {
    for (unsigned seed = 2000; seed < 2000 + seeds(30); ++seed) {
      expect_bits_of_reference(RandomProgram(seed).joint(), {.skip_optimisations = {std::string(pass.name)}},
                               fmt::format("seed {} without {}", seed, pass.name));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RunLaws, SoDoesOneWithAnyHints) {
  for (unsigned seed = 3000; seed < 3000 + seeds(100); ++seed) {
    expect_bits_of_reference(with_random_hints(RandomProgram(seed).joint(), seed), {},
                             fmt::format("seed {} with hints", seed));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tidemark::testing
