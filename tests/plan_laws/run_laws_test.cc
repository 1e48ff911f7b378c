// What a planned run promises: the bits of the reference run, whatever passes are switched off, inside the arena the
// plan claimed. On random differentiable programs of real ops: views, in-place updates, fan-out, several results,
// random numbers, donated inputs.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/literals.h"
#include "tests/support/random_hints.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/contract.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/movement.h"
#include "tidemark/ops/reduce.h"

namespace tidemark::testing {
namespace {

// A random program over matrices: (inputs…) → a scalar and some of the intermediate values.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed), builder_(graph_) {
    const int inputs = 2 + draw(3);
    for (int i = 0; i < inputs; ++i) {
      pool_.emplace_back(builder_,
                         graph_.add_input({DType::f32, {1 + draw(6), 1 + draw(6)}}, "x", draw(3) == 0));
    }
    const int nodes = 5 + draw(40);
    for (int n = 0; n < nodes; ++n) step();
    Var loss = constant(builder_, DType::f32, 0);
    for (const Var& v : pool_) {
      if (draw(2)) loss = loss + reduce_sum(sin(v), all_axes(2));
    }
    graph_.add_output(loss.id());
    for (int i = 0; i < 2; ++i) graph_.add_output(pick().id());
  }

  // The program with the gradients of its loss.
  Graph joint() const {
    std::unique_ptr<bool[]> wrt(new bool[graph_.inputs().size()]);
    std::fill_n(wrt.get(), graph_.inputs().size(), true);
    return gradient_graph(graph_, {wrt.get(), graph_.inputs().size()});
  }

 private:
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Var pick() { return pool_[static_cast<std::size_t>(draw(static_cast<int>(pool_.size())))]; }

  void step() {
    const Var x = pick();
    const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
    switch (draw(12)) {
      case 0:
        return pool_.push_back(transpose(x, {1, 0}));
      case 1:
        return pool_.push_back(reshape(x, {columns, rows}));
      case 2:
        return pool_.push_back(slice_axis(x, 1, draw(static_cast<int>(columns)), columns, 1 + draw(2)));
      case 3:
        return pool_.push_back(flip(x, {draw(2)}));
      case 4:
        return pool_.push_back(
            contract(x, x, {.lhs_batch = {}, .rhs_batch = {}, .lhs_contract = {0}, .rhs_contract = {0}}));
      case 5: {
        const Var y = pick();
        if (x.shape() == y.shape())
          return pool_.push_back(draw(2) ? x * y : select(greater(x, y), x, y * 0.5));
        return pool_.push_back(tanh(x) * reduce_sum(y, {0, 1}, true) * 0.1);
      }
      case 6:
        return pool_.push_back(update_slice(x, slice_axis(x * 2.0, 0, 0, 1), {rows - 1, 0}, {1, 1}));
      case 7: {
        const std::vector<Var> parts = {x, cos(x)};
        return pool_.push_back(concat(parts, draw(2)));
      }
      case 8:
        return pool_.push_back(reduce_max(x, {draw(2)}, true));
      case 9: {
        if (columns < 2) return pool_.push_back(relu(x));
        for (const Var& part : split(x, 1, {1, columns - 1})) pool_.push_back(part);
        return;
      }
      case 10:
        return pool_.push_back(cumsum(sigmoid(x), draw(2)));
      default:
        return pool_.push_back(draw(2) ? relu(x - 0.25) : tanh(x));
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Builder builder_;
  std::vector<Var> pool_;
};

std::vector<Literal> inputs_of(const Graph& graph) {
  std::vector<Literal> inputs;
  for (const Input& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    inputs.push_back(random_literal(type.dtype, type.shape, 31 + inputs.size()));
  }
  return inputs;
}

Tensor tensor_of(const Literal& literal) {
  AlignedBytes memory = allocate_aligned(static_cast<std::int64_t>(literal.bytes.size()));
  std::copy(literal.bytes.begin(), literal.bytes.end(), memory.get());
  return Tensor::from_storage(
      {literal.dtype, literal.shape},
      std::make_shared<Storage>(std::move(memory), static_cast<std::int64_t>(literal.bytes.size())));
}

void expect_bits_of_reference(const Graph& graph, const ProgramOptions& options, const std::string& what) {
  static const auto device = std::make_shared<CpuDevice>(2);
  const std::vector<Literal> inputs = inputs_of(graph);
  const std::vector<Literal> expected =
      interpret(expand(graph, [](const Node& node) { return !find_cpu_kernel(*node.op) && node.op->expand; }),
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
  for (unsigned seed = 0; seed < 300; ++seed) {
    expect_bits_of_reference(RandomProgram(seed).joint(), {}, fmt::format("seed {}", seed));
    if (HasFatalFailure()) return;
  }
}

TEST(RunLaws, SoDoesOneWithAnyPassSwitchedOff) {
  for (const PassInfo& pass : pass_list()) {
    if (!pass.optional) continue;
    for (unsigned seed = 1000; seed < 1060; ++seed) {
      expect_bits_of_reference(RandomProgram(seed).joint(), {.plan = {.skip = {std::string(pass.name)}}},
                               fmt::format("seed {} without {}", seed, pass.name));
      if (HasFatalFailure()) return;
    }
  }
  for (std::string_view pass : opt_pass_names()) {
    for (unsigned seed = 2000; seed < 2030; ++seed) {
      expect_bits_of_reference(RandomProgram(seed).joint(), {.skip_optimisations = {std::string(pass)}},
                               fmt::format("seed {} without {}", seed, pass));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RunLaws, SoDoesOneWithAnyHints) {
  for (unsigned seed = 3000; seed < 3100; ++seed) {
    expect_bits_of_reference(with_random_hints(RandomProgram(seed).joint(), seed), {},
                             fmt::format("seed {} with hints", seed));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tidemark::testing
