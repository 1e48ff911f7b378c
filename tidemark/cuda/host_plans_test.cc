// Plans for a GPU, run by their kernels on the host: what no test of a kernel alone can see.
#include "tests/support/host_plans.h"

#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/scalar/constant.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

// What `arange(2)` is folded to, what a loop of no steps hands over, and more than is written into a kernel.
TEST(HostPlans, ConstantsOfSeveralElementsKeepThemAll) {
  HostPlans plans;
  std::vector<Graph> graphs;
  std::vector<Literal> inputs;
  for (const DType dtype : every_dtype) {
    for (const std::int64_t count : {0, 1, 3, 9000}) {
      Graph& graph = graphs.emplace_back();
      Builder builder(graph);
      const Literal numbers = counting(dtype, {count});
      const Var x = builder.input({dtype, {count}}), c = constant(builder, numbers);
      graph.add_output(c.id());
      graph.add_output(equal(x, c).id());
      inputs.push_back(counting(dtype, {count}, 2));
      plans.add(graph, verified(graph, make_plan(graph, cuda_target()), cuda_target()));
    }
  }
  plans.compile();
  ThreadPool pool(1);
  for (std::size_t g = 0; g < graphs.size(); ++g)
    EXPECT_EQ(bit_difference(plans.run(g, {inputs[g]}, false), interpret(graphs[g], {&inputs[g], 1}, pool)),
              "");
}

}  // namespace
}  // namespace tidemark::cuda
