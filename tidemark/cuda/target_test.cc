// Plans for a GPU are made and verified where there is none.
#include "tidemark/cuda/target.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/law_case.h"
#include "tests/support/random_programs.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cuda/command_source.h"
#include "tidemark/cuda/compiler.h"
#include "tidemark/cuda/product_form.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

Graph for_the_gpu(const Graph& graph) {
  return expand(
      graph, [](const Node& node) { return node.op->expand && !cuda_target().runs(*node.op); },
      ExpandRegions::inside);
}

TEST(CudaTarget, EveryOpCanBePlanned) {
  for (const Op* op : all_ops()) {
    if (!runs_on_cpu(*op)) continue;
    for (const LawCase& law : cases_of(*op)) {
      const Graph graph = for_the_gpu(law.graph());
      const Plan plan = make_plan(graph, cuda_target());
      EXPECT_TRUE(problems(graph, plan, cuda_target()).empty()) << law.name();
    }
  }
}

TEST(CudaTarget, RandomProgramsArePlannedWithinBudgets) {
  int fitted = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Graph graph = for_the_gpu(RandomProgram(seed).joint());
    const Plan free = make_plan(graph, cuda_target());
    EXPECT_EQ(free.target, "cuda");
    const std::int64_t budget = free.peak() * 9 / 10;
    const auto planned = try_plan(graph, cuda_target(), {.memory = budget, .floor = false});
    if (!planned) continue;
    ++fitted;
    EXPECT_LE(planned.value().peak(), budget);
    EXPECT_TRUE(problems(graph, planned.value(), cuda_target()).empty());
  }
  EXPECT_GT(fitted, 5);
}

// The kernels of all commands, in regions too.
void write_all(const Commands& commands);
void write_kernels(const Command& command) {
  for (const Commands& region : command.regions) write_all(region);
  if (!has_kernel(command)) return;
  const KernelText kernel = write_command(command);
  EXPECT_FALSE(kernel.source.empty());
  EXPECT_GE(kernel.operands, static_cast<int>(command.in.size()));
  EXPECT_GE(kernel.results, static_cast<int>(command.out.size()));
  EXPECT_TRUE(kernel.scratch_bytes == 0 || command.scratch);
}
void write_all(const Commands& commands) {
  for (const Command& command : commands.list) write_kernels(command);
}

void plan_and_write(const Graph& graph) {
  const Plan plan = make_plan(graph, cuda_target());
  const VerifiedPlan good = verified(graph, plan, cuda_target());
  CommandStream commands(graph, good);
  while (const Command* command = commands.next()) write_kernels(*command);
}

TEST(CudaTarget, ModelsArePlannedWithTheirKernels) {
  for (const char* name : {"mlp", "transformer", "gpt", "lstm"}) {
    SCOPED_TRACE(name);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const nn::ZooModel& model = *nn::find_in_zoo(name);
      nn::ZooOptions options{.batch = 2, .dtype = dtype};
      if (!model.context.unit.empty()) options.context = 16;
      const Graph traced = model.training_step(options);
      plan_and_write(prepare_graph(traced, {}, nullptr, {}, cuda_target()));
    }
  }
}

void compile_kernels(const Command& command, std::set<std::string>& known) {
  if (!has_kernel(command)) return;
  const KernelText kernel = write_command(command);
  if (kernel.launches.empty() || !known.insert(kernel.source).second) return;
  EXPECT_FALSE(compile(kernel.source, {9, 0}).empty());
}

TEST(CudaTarget, KernelsOfAModelCompile) {
  if (!compiler_version()) GTEST_SKIP() << compiler_version().error();
  const Graph traced =
      nn::find_in_zoo("gpt")->training_step({.batch = 1, .context = 16, .dtype = DType::bf16});
  const Graph graph = prepare_graph(traced, {}, nullptr, {}, cuda_target());
  const Plan plan = make_plan(graph, cuda_target());
  const VerifiedPlan good = verified(graph, plan, cuda_target());
  CommandStream commands(graph, good);
  std::set<std::string> known;
  int rows = 0;
  while (const Command* command = commands.next()) {
    compile_kernels(*command, known);
    if (command->is_group || command->kind != StepKind::compute) continue;
    const std::optional<ProductForm> form = product_form(command->steps[0].call);
    rows += form && form->adds_row;
    EXPECT_FALSE(form && form->copies_sum);
  }
  EXPECT_GT(known.size(), 20u);
  EXPECT_GT(rows, 4);  // the biases of every block
}

TEST(CudaTarget, EveryCommandOfAPlanHasItsKernel) {
  for (const Op* op : all_ops()) {
    if (!runs_on_cpu(*op)) continue;
    for (const LawCase& law : cases_of(*op)) {
      SCOPED_TRACE(law.name());
      plan_and_write(for_the_gpu(law.graph()));
    }
  }
  for (unsigned seed = 0; seed < 20; ++seed) plan_and_write(for_the_gpu(RandomProgram(seed).joint()));
}

Graph product(const Shape& lhs, const Shape& rhs, const ContractAttrs& attrs, DType dtype = DType::f32) {
  Graph graph;
  Builder builder(graph);
  const Var a(builder, graph.add_input({dtype, lhs}, "a")), b(builder, graph.add_input({dtype, rhs}, "b"));
  graph.add_output(contract(a, b, attrs).id());
  return graph;
}

TEST(CudaTarget, ProductsAreThoseOfColumnMajorMatrices) {
  // (m, k) × (k, n): the result's transpose is rhsᵀ × lhsᵀ, and both lie in memory as they are read.
  const Graph plain = product({5, 7}, {7, 3}, {{}, {}, {1}, {0}});
  const ProductForm form = *product_form(NodeCall(plain, plain.nodes().back()));
  EXPECT_EQ(form.m, 5);
  EXPECT_EQ(form.n, 3);
  EXPECT_EQ(form.k, 7);
  EXPECT_FALSE(form.left.transposed);
  EXPECT_FALSE(form.right.transposed);
  EXPECT_EQ(form.left.leading, 3);
  EXPECT_EQ(form.right.leading, 7);
  // (k, m) and (n, k) are read the other way.
  const Graph turned = product({7, 5}, {3, 7}, {{}, {}, {0}, {1}}, DType::bf16);
  const ProductForm other = *product_form(NodeCall(turned, turned.nodes().back()));
  EXPECT_TRUE(other.left.transposed);
  EXPECT_TRUE(other.right.transposed);
  EXPECT_EQ(other.left.leading, 7);
  EXPECT_EQ(other.right.leading, 5);
  // Two batch dimensions that do not merge are several products.
  const Graph batched = product({2, 4, 5, 7}, {4, 2, 7, 3}, {{0, 1}, {1, 0}, {3}, {2}});
  const ProductForm parts = *product_form(NodeCall(batched, batched.nodes().back()));
  EXPECT_EQ(parts.batch, 4);
  ASSERT_EQ(parts.parts.size(), 2u);
  EXPECT_EQ(parts.parts[1].lhs, 4 * 5 * 7);
  EXPECT_EQ(parts.parts[1].rhs, 7 * 3);
  EXPECT_EQ(parts.parts[1].out, 4 * 5 * 3);
  EXPECT_EQ(parts.left.batch_stride, 2 * 7 * 3);
  // Whole numbers are not the library's; dimensions that do not merge are brought together first.
  const Graph whole = product({5, 7}, {7, 3}, {{}, {}, {1}, {0}}, DType::i32);
  EXPECT_FALSE(product_form(NodeCall(whole, whole.nodes().back())));
  const Graph apart = product({2, 5, 7}, {2, 3, 7}, {{}, {}, {0, 2}, {0, 2}});
  const ProductForm packed = *product_form(NodeCall(apart, apart.nodes().back()));
  ASSERT_EQ(packed.packed.size(), 2u);  // the contracted dimensions of neither are neighbours
  EXPECT_EQ(packed.packed[0].order, (Dims{1, 0, 2}));
  EXPECT_EQ(packed.packed[1].order, (Dims{0, 2, 1}));
  EXPECT_EQ(packed.scratch_bytes, align_up(2 * 5 * 7 * 4, 256) + align_up(2 * 3 * 7 * 4, 256));
}

// Of no more than a dimension of the grid has blocks.
TEST(CudaTarget, BatchesOfProductsAreCut) {
  const Graph even = product({200000, 2, 3}, {200000, 3, 4}, {{0}, {0}, {2}, {1}});
  const ProductForm parts = *product_form(NodeCall(even, even.nodes().back()));
  EXPECT_EQ(parts.batch, 50000);
  ASSERT_EQ(parts.parts.size(), 4u);
  EXPECT_EQ(parts.parts[3].lhs, 150000 * 2 * 3);
  EXPECT_EQ(parts.parts[3].rhs, 150000 * 3 * 4);
  EXPECT_EQ(parts.parts[3].out, 150000 * 2 * 4);
  // A number that cannot be cut evenly is not the library's.
  const Graph prime = product({65537, 2, 3}, {65537, 3, 4}, {{0}, {0}, {2}, {1}});
  EXPECT_EQ(route_of(NodeCall(prime, prime.nodes().back())), Route::product);
  const Graph whole = product({65535, 2, 3}, {65535, 3, 4}, {{0}, {0}, {2}, {1}});
  EXPECT_EQ(product_form(NodeCall(whole, whole.nodes().back()))->batch, 65535);
}

}  // namespace
}  // namespace tidemark::cuda
