// The kernels of a language model's head, compiled for the host, and the forms of its products.
#include <gtest/gtest.h>

#include "tests/support/host_kernels.h"
#include "tests/support/literals.h"
#include "tidemark/cuda/compiler.h"
#include "tidemark/cuda/head_form.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ir/graph.h"
#include "tidemark/ops/normalization/linear_cross_entropy.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

Graph head_graph(DType dtype, std::int64_t examples, std::int64_t classes, std::int64_t width,
                 const LinearCrossEntropyAttrs& attrs) {
  Graph graph;
  Builder builder(graph);
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Shape w = attrs.columns ? Shape{width, classes} : Shape{classes, width};
  const Var operands[] = {Var(builder, graph.add_input({dtype, {examples, width}}, "x")),
                          Var(builder, graph.add_input({dtype, w}, "w")),
                          Var(builder, graph.add_input({DType::i32, {examples}}, "labels")),
                          Var(builder, graph.add_input({wide, {examples}}, "weights"))};
  for (const Var& out : builder.call(op::linear_cross_entropy, operands, pack(attrs)))
    graph.add_output(out.id());
  return graph;
}

TEST(CudaHead, ChunksAreOfRowsThatFitAndCoverAll) {
  const Graph graph = head_graph(DType::bf16, 16384, 50257, 768, {.x_gradient = true, .w_gradient = true});
  const HeadForm form = head_form(NodeCall(graph, graph.nodes().back()));
  EXPECT_EQ(form.leading, 50304);
  EXPECT_EQ(form.chunks(), 7);
  EXPECT_LE(form.logits_bytes, std::int64_t{256} << 20);
  EXPECT_GE(form.chunks() * form.rows, form.examples);
  const Graph small = head_graph(DType::f32, 5, 7, 3, {});
  const HeadForm one = head_form(NodeCall(small, small.nodes().back()));
  EXPECT_EQ(one.chunks(), 1);
  EXPECT_EQ(one.rows, 5);
}

TEST(CudaHead, RowsGiveLossesAndTheGradientOfTheirSum) {
  constexpr std::int64_t rows = 4, classes = 1100;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(name_of(dtype));
    const Graph graph =
        head_graph(dtype, rows, classes, 3, {.ignore = true, .ignore_index = -1, .x_gradient = true});
    const NodeCall call(graph, graph.nodes().back());
    const HeadForm form = head_form(call);
    const HostKernels kernels({write_head_rows(call, rows, "rows"), write_head_total(call, "total")});
    std::vector<double> logits(static_cast<std::size_t>(rows * form.leading));
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = 3 * std::sin(0.37 * static_cast<double>(i));
    Literal memory = literal_of(dtype, {rows, form.leading}, logits);
    logits = values_of(memory);  // as rounded
    const std::vector<std::int32_t> labels = {5, 1099, -1, 0};
    const std::vector<float> weights = {0.5f, 2, 1, 0.25f};
    std::vector<float> loss(rows);
    unsigned failed = 0;
    const void* in[] = {labels.data(), weights.data()};
    void* out[] = {memory.bytes.data(), loss.data()};
    ASSERT_TRUE(kernels.run(0, in, out, nullptr, false, &failed));
    EXPECT_EQ(failed, 0u);
    const std::vector<double> got = values_of(memory);
    double total = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = static_cast<std::size_t>(r);
      const double* x = logits.data() + r * form.leading;
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(x[c]);
      const bool counts = labels[row] >= 0;
      const double expected = counts ? std::log(sum) - x[labels[row]] : 0;
      EXPECT_NEAR(loss[row], expected, 1e-4);
      total += expected * static_cast<double>(weights[row]);
      for (std::int64_t c = 0; c < classes; ++c) {
        const double slope = std::exp(x[c]) / sum - (c == labels[row] ? 1 : 0);
        EXPECT_NEAR(got[static_cast<std::size_t>(r * form.leading + c)],
                    counts ? static_cast<double>(weights[row]) * slope : 0,
                    dtype == DType::f32 ? 1e-6 : 1e-2);
      }
    }
    float sum = 0;
    void* end[] = {&sum, loss.data()};
    ASSERT_TRUE(kernels.run(1, in, end, nullptr, false, &failed));
    EXPECT_NEAR(sum, total, 1e-4);
  }
}

TEST(CudaHead, ALabelThatIsNoneIsTold) {
  const Graph graph = head_graph(DType::f32, 2, 9, 3, {.x_gradient = true});
  const NodeCall call(graph, graph.nodes().back());
  const HostKernels kernels({write_head_rows(call, 2, "rows")});
  std::vector<float> logits(static_cast<std::size_t>(2 * head_form(call).leading), 1), loss(2), weights(2, 1);
  const std::vector<std::int32_t> labels = {3, 9};
  unsigned failed = 0;
  const void* in[] = {labels.data(), weights.data()};
  void* out[] = {logits.data(), loss.data()};
  ASSERT_TRUE(kernels.run(0, in, out, nullptr, false, &failed));
  EXPECT_EQ(failed, 1u);
}

TEST(CudaHead, CompilesForGpus) {
  if (!compiler_version()) GTEST_SKIP() << compiler_version().error();
  const Graph graph = head_graph(DType::bf16, 256, 50257, 64, {.x_gradient = true, .w_gradient = true});
  const NodeCall call(graph, graph.nodes().back());
  for (const Architecture architecture : {Architecture{8, 0}, Architecture{9, 0}, Architecture{10, 0}}) {
    EXPECT_FALSE(compile(write_head_rows(call, 128).source, architecture).empty());
    EXPECT_FALSE(compile(write_head_total(call).source, architecture).empty());
  }
}

}  // namespace
}  // namespace tidemark::cuda
