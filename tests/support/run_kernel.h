// Runs one op's CPU kernel the ways a plan may run it: operands dense or strided, a result over an operand,
// any number of threads. Operands, results and scratch lie between guards that must come back unharmed.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/literals.h"
#include "tidemark/ir/graph.h"

namespace tidemark::testing {

// Where an operand lies in its memory, in elements.
struct OperandLayout {
  Strides strides;
  std::int64_t first = 0;  // of the element with index 0
};
inline OperandLayout dense_layout(const Shape& shape) { return {dense_strides(shape)}; }
// From the first element to that with the row-major number `index`, in elements.
std::int64_t offset_of(const Shape& shape, const Strides& strides, std::int64_t index);

struct KernelOptions {
  int threads = 1;
  bool backwards = false;                   // one thread in fact, which takes the last task first
  std::vector<OperandLayout> layouts = {};  // of the operands; empty: all dense
  int result = 0;                           // the result that overwrites an operand
  int over = -1;                            // which; -1: none
  std::byte fill{0x5a};                     // what results, scratch and gaps between elements hold before
  bool may_fail = false;                    // errors are told, not thrown
  SourceLine where = {};
  std::vector<Graph> regions = {};  // run node by node
};

struct KernelRun {
  std::vector<Literal> results;
  std::int64_t scratch_bytes = 0;
  std::string broken;        // which guard was overwritten; "" when none
  std::int64_t tasks = 0;    // the most that work was cut into
  std::string failure = {};  // what was thrown; "" when nothing
};
KernelRun run_kernel(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs,
                     const KernelOptions& options = {});

// The results on dense operands; expects whole guards and the same bits for every number of threads.
std::vector<Literal> run(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs = {},
                         std::initializer_list<int> threads = {1, 2});
// The results of a graph, node by node; of what an op without a kernel is written in, for such.
std::vector<Literal> run(const Graph& graph, const std::vector<Literal>& operands);
std::vector<Literal> interpreted(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs);

// Runs the op in every way its facts allow, views included, and expects the same bits from each; returns
// them.
std::vector<Literal> expect_same_every_way(const Op& op, const std::vector<Literal>& operands,
                                           const Attrs& attrs);

}  // namespace tidemark::testing
