// Every pointwise op in every dtype that it takes, each as a group of one step with operands to run it on.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "tests/support/literals.h"
#include "tidemark/cuda/element_code.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/cast.h"
#include "tidemark/runtime/commands.h"

namespace tidemark::testing {

// Are the results of all calls rounded once, so that every machine must agree on their bits?
inline bool is_exact(const Op& op) {
  static constexpr std::pair<const Op*, std::string_view> families[] = {
#define TM_UNARY(name, Formula, family, ...) {&op::name, #family},
#define TM_BINARY(name, Formula, family, ...) {&op::name, #family},
#include "tidemark/ops/scalar/elementwise.def"
  };
  for (const auto& [row, family] : families) {
    if (row == &op) return family != "math";
  }
  return &op != &op::polygamma;
}

struct OpGroup {
  std::string name;
  std::vector<Literal> operands;
  Attrs attrs;
  std::vector<Type> in, out;
  GroupStep step;

  OpGroup(const Op& op, std::vector<Literal> literals, Attrs attributes)
      : operands(std::move(literals)), attrs(std::move(attributes)) {
    name = op.name;
    for (const Literal& literal : operands) {
      in.push_back({literal.dtype, literal.shape});
      step.in.push_back({GroupRef::operand, static_cast<int>(step.in.size())});
      name += fmt::format("_{}", name_of(literal.dtype));
    }
    step.call = {.op = &op, .in = in, .attrs = &attrs};
    out = op.infer(step.call);
    step.call.out = out;
    step.out = {{GroupRef::result, 0}};
    if (&op == &op::cast) name += fmt::format("_to_{}", name_of(out[0].dtype));
  }
  OpGroup(const OpGroup&) = delete;
  OpGroup& operator=(const OpGroup&) = delete;
};

// Numbers of the sample's range, and at the beginning those on which formulas go wrong: the last ones are
// halfway between two 16-bit numbers once they were rounded to f32.
inline Literal with_hard_cases(Literal literal, bool hard) {
  static constexpr double reals[] = {0.0,
                                     -0.0,
                                     inf,
                                     -inf,
                                     nan,
                                     1e-40,
                                     -1e-40,
                                     3e38,
                                     -3e38,
                                     0.5,
                                     -0.5,
                                     2.5,
                                     65520,
                                     1e-8,
                                     255.5,
                                     -1,
                                     0x1.01p0 + 0x1p-30};
  static constexpr double wholes[] = {0, 1, 255, 2, 7, 16842753};
  if (!hard || literal.dtype == DType::boolean) return literal;
  const std::span<const double> cases = is_float(literal.dtype) ? std::span<const double>(reals) : wholes;
  const std::int64_t count = std::min<std::int64_t>(std::ssize(cases), element_count(literal.shape));
  for (std::int64_t i = 0; i < count; ++i) {
    write_element(literal.dtype, cases[static_cast<std::size_t>(i)],
                  literal.bytes.data() + i * size_of(literal.dtype));
  }
  return literal;
}

// Of `n` elements. Constants and broadcasts, which random groups have, are left out, and so is what the CPU
// expands.
inline std::vector<std::unique_ptr<OpGroup>> every_op_group(std::int64_t n,
                                                            std::span<const DType> dtypes = every_dtype) {
  std::vector<std::unique_ptr<OpGroup>> groups;
  for (const Op* op : all_ops()) {
    if (!cuda::has_element_code(*op) || op == &op::constant || op == &op::broadcast || !runs_on_cpu(*op))
      continue;
    const Sample sample = op->samples()[0];
    for (const DType dtype : dtypes) {
      if (!op->dtypes.contains(dtype)) continue;
      std::vector<Literal> operands;
      for (Sample::Operand operand : sample.in) {
        const bool data = operand.type.dtype == DType::f64;
        if (data) operand.type.dtype = dtype;
        operand.type.shape = {n};
        operand.diagonal = 0;
        operands.push_back(with_hard_cases(draw(operand, 7 + operands.size()), is_exact(*op) && data));
      }
      if (op != &op::cast) {
        groups.push_back(std::make_unique<OpGroup>(*op, operands, sample.attrs));
        continue;
      }
      for (const DType to : every_dtype)
        groups.push_back(std::make_unique<OpGroup>(*op, operands, pack(CastAttrs{to})));
    }
  }
  return groups;
}

}  // namespace tidemark::testing
