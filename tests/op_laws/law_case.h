// One op on one sample in one dtype: what every law is checked on.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/literals.h"
#include "tidemark/ir/builder.h"

namespace tidemark::testing {

struct LawCase {
  const Op* op;
  Sample sample;
  DType dtype;        // what the sample's f64 operands were recast to
  std::size_t index;  // of the sample

  std::vector<Type> types() const;
  std::vector<Literal> operands(std::uint64_t seed = 1) const;
  Graph graph() const;  // the op alone
  std::string name() const;
};

// Every sample of the op in every dtype it takes.
std::vector<LawCase> cases_of(const Op& op);
// Only those on which derivatives are tested: f64, with a floating-point operand and result, differentiable.
std::vector<LawCase> smooth_cases_of(const Op& op);

// Runs the kernel directly with guards around results and scratch; throws on a broken guard. `fill` is what results
// and scratch hold beforehand.
struct KernelRun {
  std::vector<Literal> results;
  std::string broken;  // which guard was overwritten; "" when none
};
KernelRun run_kernel(const LawCase& law, const std::vector<Literal>& operands, std::byte fill, int threads,
                     int in_place_result = -1, int in_place_operand = -1);

// As run_kernel, but operand `strided` lies in memory with gaps, or backwards.
KernelRun run_kernel_strided(const LawCase& law, const std::vector<Literal>& operands, int strided,
                             bool backwards);

}  // namespace tidemark::testing
