// Reverse mode as a graph-to-graph transformation.
//
//   f: (x…) → (y…)        vjp_graph(f, wrt): (x…, ȳ…) → (y…, x̄ for each wanted x)
//
// One seed ȳ per floating-point output; integer outputs carry none. The result is an ordinary graph: it can
// be differentiated again, optimised and planned, and what its backward part reads is what must live.
#pragma once
#include <span>
#include <vector>

#include "tidemark/ir/builder.h"

namespace tidemark {

Graph vjp_graph(const Graph& f, std::span<const bool> wrt);

// Brought to the rules of ops that have regions. Its vjp takes further inputs after the seeds, one for each
// input marked in `accumulated`: the gradient begins as that, so that gradients of a loop's iterations are
// added in the order of the unrolled code. Effects that rules write into a region's gradient must read a
// gradient.
extern const Calculus calculus;

// f's outputs, then the gradient of its first output (a scalar) for each wanted input; the other outputs
// carry none.
Graph gradient_graph(const Graph& f, std::span<const bool> wrt);

// Appends to the builder's graph the gradients of ⟨outputs, seeds⟩ with respect to `inputs`; an empty Var is
// zero.
std::vector<Var> pull_back(Builder& builder, std::span<const Var> outputs, std::span<const Var> seeds,
                           std::span<const Var> inputs);

// Which nodes a reverse mode wrote, and for which inputs: for one around it, all of that is its forward pass.
void forget_reverse(Graph& graph);

// A graph cut in two: `forward` gives f's outputs and the residuals, `backward` turns residuals and seeds to
// gradients.
struct SplitVjp {
  Graph forward;   // (x…) → (y…, residuals…)
  Graph backward;  // (residuals…, ȳ…) → (x̄…)
  std::size_t outputs = 0, residuals = 0;
};
SplitVjp split_vjp(const Graph& f, std::span<const bool> wrt);

}  // namespace tidemark
