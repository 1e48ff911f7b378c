#include "tidemark/autodiff/custom_vjp.h"

#include "tidemark/ir/builder.h"
#include "tidemark/ops/custom/custom_vjp.h"
#include "tidemark/ops/registry.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {
namespace {

// `source` over the operand list (arguments, function captures, pullback captures) followed by `extra`
// inputs. `position[i]` says which of those stands for input i of the source.
Graph over_operands(const Graph& source, std::span<const Type> operands, std::span<const Type> extra,
                    std::span<const std::size_t> position) {
  Graph region;
  Builder builder(region);
  std::vector<Var> all, inputs;
  for (const Type& type : operands) all.push_back(builder.input(type));
  for (const Type& type : extra) all.push_back(builder.input(type));
  for (std::size_t p : position) inputs.push_back(all[p]);
  for (const Var& output : inline_graph(builder, source, inputs)) region.add_output(output.id());
  return region;
}

}  // namespace

std::vector<Tensor> apply_custom_vjp(const Graph& function, std::span<const Tensor> function_inputs,
                                     const Graph& pullback, std::span<const Tensor> pullback_inputs,
                                     std::size_t arguments, SourceLine where) {
  const std::size_t results = function.outputs().size();
  if (pullback.outputs().size() != arguments) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("a custom pullback returned {} tensors", pullback.outputs().size()),
          .expected = fmt::format("a gradient for each of the {} argument tensors", arguments),
          .where = where});
  }
  for (std::size_t i = 0; i < arguments; ++i) {
    const Type given = pullback.type(pullback.outputs()[i]), expected = function_inputs[i].type();
    if (given == expected) continue;
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("a custom pullback returned a gradient {}", to_string(given)),
          .expected = to_string(expected),
          .where = where});
  }
  std::vector<Tensor> operands(function_inputs.begin(), function_inputs.end());
  const std::size_t pullback_captures =
      arguments + 2 * results;  // where they begin among the pullback's inputs
  operands.insert(operands.end(), pullback_inputs.begin() + static_cast<std::ptrdiff_t>(pullback_captures),
                  pullback_inputs.end());

  std::vector<Type> types, extra;
  for (const Tensor& tensor : operands) types.push_back(tensor.type());
  for (ValueId v : function.outputs()) extra.push_back(function.type(v));
  std::vector<std::size_t> seed_position;
  for (ValueId v :
       function.outputs()) {  // integer results carry no seed; the result itself stands in, unread
    seed_position.push_back(is_float(function.type(v).dtype) ? types.size() + extra.size() : types.size());
    if (is_float(function.type(v).dtype)) extra.push_back(function.type(v));
  }
  std::vector<std::size_t> of_function, of_pullback;
  for (std::size_t i = 0; i < function_inputs.size(); ++i) of_function.push_back(i);
  for (std::size_t i = 0; i < arguments; ++i) of_pullback.push_back(i);
  for (std::size_t i = 0; i < results; ++i) of_pullback.push_back(types.size() + i);
  of_pullback.insert(of_pullback.end(), seed_position.begin(), seed_position.end());
  for (std::size_t i = function_inputs.size(); i < operands.size(); ++i) of_pullback.push_back(i);

  Graph wrapper;
  Builder builder(wrapper);
  builder.set_where(where);
  std::vector<Var> inputs;
  for (const Type& type : types) inputs.push_back(builder.input(type));
  std::vector<Graph> regions;
  regions.push_back(over_operands(function, types, {}, of_function));
  regions.push_back(over_operands(pullback, types, extra, of_pullback));
  const CustomVjpAttrs attrs{.differentiable = static_cast<std::int64_t>(arguments)};
  for (const Var& result : builder.call(op::custom_vjp_call, inputs, pack(attrs), std::move(regions))) {
    wrapper.add_output(result.id());
  }
  return apply(wrapper, operands, where);
}

}  // namespace tidemark::detail
