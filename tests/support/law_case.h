// One op on one sample in one dtype: what every law is checked on.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/run_kernel.h"
#include "tidemark/ir/builder.h"

namespace tidemark::testing {

struct LawCase {
  const Op* op;
  Sample sample;
  DType dtype;        // what the sample's f64 operands were recast to
  std::size_t index;  // of the sample
  std::vector<Graph> regions = {};
  bool expands = true;

  std::vector<Type> types() const;
  std::vector<Literal> operands(std::uint64_t seed = 1) const;
  Graph graph() const;  // the op alone
  KernelRun run(const std::vector<Literal>& operands, const KernelOptions& options = {}) const;
  std::string name() const;
};

// Every sample of the op in every dtype it takes.
std::vector<LawCase> cases_of(const Op& op);
std::vector<LawCase> cases_of(const Op& op, const std::vector<Sample>& samples);
// Only those on which derivatives are tested: f64, with a floating-point operand and result, differentiable.
std::vector<LawCase> smooth_cases_of(const Op& op);

}  // namespace tidemark::testing
