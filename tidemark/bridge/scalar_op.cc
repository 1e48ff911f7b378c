#include "tidemark/bridge/scalar_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/scalar/tape.h"

namespace tidemark {
namespace {

// One scalar_op, and how its operands lie. Kept for ever, as the operations are.
struct ScalarOp {
  std::string name;
  std::size_t operands = 0;
  detail::ScalarFunction function;
  ScalarOpOptions options;

  std::int64_t results() const { return std::max<std::int64_t>(1, options.results); }

  [[noreturn]] void refuse(std::string what, std::string expected,
                           ErrorCode code = ErrorCode::shape_mismatch) const {
    fail(code, {.what = fmt::format("{}: {}", name, what), .expected = std::move(expected)});
  }

  Shape cases_of(const Type& operand) const {
    Shape cases;
    for (int i = 0; i + 1 < operand.shape.rank(); ++i) cases.push_back(operand.shape[i]);
    return cases;
  }

  // The result's type.
  Type check(std::span<const Type> in) const {
    for (std::size_t i = 0; i < operands; ++i) {
      if (in[i].dtype != DType::f64 && in[i].dtype != DType::f32)
        refuse(fmt::format("operand {} is of {}", i, name_of(in[i].dtype)), "f64 or f32",
               ErrorCode::dtype_mismatch);
      if (in[i].dtype != in[0].dtype)
        refuse(fmt::format("operands of {} and {}", name_of(in[0].dtype), name_of(in[i].dtype)),
               "operands of one dtype", ErrorCode::dtype_mismatch);
      if (in[i].shape.rank() == 0)
        refuse(fmt::format("operand {} has no dimensions", i), "an array of arguments in the last dimension");
      if (i > 0 && in[i].shape.rank() > 1 && cases_of(in[i]) != cases_of(in[0]))
        refuse(fmt::format("operand {} is {} beside {}", i, to_string(in[i].shape), to_string(in[0].shape)),
               "the same dimensions before the last, or the last alone");
    }
    Shape shape = cases_of(in[0]);
    if (options.results > 0) shape.push_back(options.results);
    return {in[0].dtype, shape};
  }

  void call(std::span<const std::span<const Real>> in, std::span<Real> out) const {
    try {
      function(in, out);
    } catch (std::size_t returned) {
      refuse(fmt::format("the function returned {} numbers", returned),
             fmt::format("{}, as ScalarOpOptions::results says", results()), ErrorCode::bad_attribute);
    }
  }
};

double read(const TensorRef& tensor, std::int64_t i) {
  return tensor.dtype == DType::f64 ? tensor.as<const double>()[i] : tensor.as<const float>()[i];
}
void write(const TensorRef& tensor, std::int64_t i, double value) {
  if (tensor.dtype == DType::f64)
    tensor.as<double>()[i] = value;
  else
    tensor.as<float>()[i] = static_cast<float>(value);
}

// Goes over the cases: `each(k)` with the operands of case k in `arguments`.
class Cases {
 public:
  Cases(const ScalarOp& op, std::span<const TensorRef> in) : in_(in.first(op.operands)) {
    for (const TensorRef& operand : in_)
      arguments.emplace_back(static_cast<std::size_t>(operand.shape.back()));
    const TensorRef& first = in_[0];
    count = 1;
    for (int i = 0; i + 1 < first.shape.rank(); ++i) count *= first.shape[i];
    for (const std::vector<Real>& variables : arguments) spans.emplace_back(variables);
  }
  // Where the arguments of operand i in case k begin.
  std::int64_t offset(std::size_t i, std::int64_t k) const {
    return in_[i].shape.rank() > 1 || i == 0 ? k * static_cast<std::int64_t>(arguments[i].size()) : 0;
  }
  void load(std::int64_t k, scalars::Tape* tape) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      for (std::size_t j = 0; j < arguments[i].size(); ++j) {
        const double value = read(in_[i], offset(i, k) + static_cast<std::int64_t>(j));
        arguments[i][j] = tape ? tape->input(value) : Real(value);
      }
  }

  std::int64_t count = 1;
  std::vector<std::vector<Real>> arguments;
  std::vector<std::span<const Real>> spans;

 private:
  std::span<const TensorRef> in_;
};

void run_values(const ScalarOp& op, std::span<const TensorRef> in, const TensorRef& out) {
  const auto passive = scalars::Tape::pause();
  Cases cases(op, in);
  std::vector<Real> results(static_cast<std::size_t>(op.results()));
  for (std::int64_t k = 0; k < cases.count; ++k) {
    cases.load(k, nullptr);
    op.call(cases.spans, results);
    for (std::int64_t j = 0; j < op.results(); ++j)
      write(out, k * op.results() + j, results[static_cast<std::size_t>(j)].value());
  }
}

// Operands and the adjoint of the result; a gradient for each operand.
void run_gradient(const ScalarOp& op, std::span<const TensorRef> in, std::span<const TensorRef> out) {
  scalars::Tape tape({.memory = op.options.memory});
  Cases cases(op, in);
  std::vector<Real> results(static_cast<std::size_t>(op.results()));
  std::vector<std::vector<double>> sums;  // of operands that all cases share
  for (const auto& arguments : cases.arguments) sums.emplace_back(arguments.size(), 0.0);
  std::vector<scalars::Tape::Seed> seeds(results.size());
  const TensorRef& adjoint = in[op.operands];
  for (std::int64_t k = 0; k < cases.count; ++k) {
    tape.clear();
    cases.load(k, &tape);
    op.call(cases.spans, results);
    for (std::size_t j = 0; j < results.size(); ++j)
      seeds[j] = {results[j], read(adjoint, k * op.results() + static_cast<std::int64_t>(j))};
    tape.reverse(seeds);
    for (std::size_t i = 0; i < cases.arguments.size(); ++i)
      for (std::size_t j = 0; j < cases.arguments[i].size(); ++j) {
        const double slope = tape.gradient(cases.arguments[i][j]);
        if (i == 0 || in[i].shape.rank() > 1)
          write(out[i], cases.offset(i, k) + static_cast<std::int64_t>(j), slope);
        else
          sums[i][j] += slope;
      }
  }
  for (std::size_t i = 1; i < sums.size(); ++i)
    if (in[i].shape.rank() == 1)
      for (std::size_t j = 0; j < sums[i].size(); ++j)
        write(out[i], static_cast<std::int64_t>(j), sums[i][j]);
}

// Operands and their tangents; the result's tangent, a reversal for each of its numbers.
void run_tangent(const ScalarOp& op, std::span<const TensorRef> in, const TensorRef& out) {
  scalars::Tape tape({.memory = op.options.memory});
  Cases cases(op, in);
  std::vector<Real> results(static_cast<std::size_t>(op.results()));
  for (std::int64_t k = 0; k < cases.count; ++k) {
    tape.clear();
    cases.load(k, &tape);
    op.call(cases.spans, results);
    for (std::size_t r = 0; r < results.size(); ++r) {
      tape.reverse(results[r]);
      double along = 0;
      for (std::size_t i = 0; i < cases.arguments.size(); ++i)
        for (std::size_t j = 0; j < cases.arguments[i].size(); ++j)
          along += tape.gradient(cases.arguments[i][j]) *
                   read(in[op.operands + i], cases.offset(i, k) + static_cast<std::int64_t>(j));
      write(out, k * op.results() + static_cast<std::int64_t>(r), along);
    }
  }
}

// What it costs: so many times the function itself, for each case.
std::function<Cost(const Call&)> cost_of(const ScalarOp& op, double times) {
  return [&op, times](const Call& call) {
    Cost cost = plain_cost(call);
    double cases = 1;
    const Shape shape = op.cases_of(call.in[0]);
    for (int i = 0; i < shape.rank(); ++i) cases *= static_cast<double>(shape[i]);
    cost.flops = static_cast<decltype(cost.flops)>(cases * op.options.flops * times);
    return cost;
  };
}

}  // namespace

const Op& detail::make_scalar_op(std::string name, std::size_t operands, ScalarFunction function,
                                 const ScalarOpOptions& options, SourceLine where) {
  if (options.results < 0)
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{}: {} results", name, options.results),
          .expected = "a number of results, or 0 for a function that returns a Real",
          .where = where});
  // Rules point at it as long as the process lives.
  const auto& op = *new ScalarOp{std::move(name), operands, std::move(function), options};
  constexpr double gradient_work = 5, tangent_work = 5;  // in function calls
  const Op& gradient =
      make_custom_op({.name = op.name + "_gradient",
                      .infer =
                          [&op](std::span<const Type> in) {
                            return std::vector<Type>(in.begin(), in.begin() + op.operands);
                          },
                      .kernel = [&op](std::span<const TensorRef> in,
                                      std::span<const TensorRef> out) { run_gradient(op, in, out); },
                      .cost = cost_of(op, gradient_work)},
                     where);
  const Op& tangent =
      make_custom_op({.name = op.name + "_tangent",
                      .infer = [&op](std::span<const Type> in) { return std::vector<Type>{op.check(in)}; },
                      .kernel = [&op](std::span<const TensorRef> in,
                                      std::span<const TensorRef> out) { run_tangent(op, in, out[0]); },
                      .cost = cost_of(op, tangent_work * static_cast<double>(op.results()))},
                     where);
  return make_custom_op(
      {.name = op.name,
       .infer =
           [&op](std::span<const Type> in) {
             if (in.size() != op.operands)
               op.refuse(fmt::format("{} operands", in.size()),
                         fmt::format("{}, one for each span that the function takes", op.operands),
                         ErrorCode::wrong_operand_count);
             return std::vector<Type>{op.check(in)};
           },
       .kernel = [&op](std::span<const TensorRef> in,
                       std::span<const TensorRef> out) { run_values(op, in, out[0]); },
       .vjp =
           [&gradient](const RuleCall& r) {
             std::vector<Var> operands(r.in.begin(), r.in.end());
             operands.push_back(r.seed[0]);
             return r.builder.call(gradient, operands);
           },
       .jvp =
           [&tangent](const RuleCall& r) {
             std::vector<Var> operands(r.in.begin(), r.in.end());
             for (std::size_t i = 0; i < r.in.size(); ++i)
               operands.push_back(r.seed[i] ? r.seed[i] : zeros_like(r.in[i]));
             return r.builder.call(tangent, operands);
           },
       .cost = cost_of(op, 1)},
      where);
}

}  // namespace tidemark
