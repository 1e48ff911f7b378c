#include "tidemark/trace/control_flow.h"

#include <numeric>

#include "tidemark/ops/control/cond.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/registry.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {
namespace {

// The body must hand on what it was given.
void check_carry(std::string_view name, const Graph& body, const Carried& carry, bool only,
                 SourceLine where) {
  const std::size_t count = carry.tensors.size(), given = body.outputs().size();
  if (given < count || (only && given > count)) {
    fail(ErrorCode::structure_mismatch, {.what = fmt::format("{}: the body returns {} tensors", name, given),
                                         .expected = fmt::format("the {} that are carried", count),
                                         .where = where});
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Type enters = carry.tensors[i].type(), leaves = body.type(body.outputs()[i]);
    if (enters == leaves) continue;
    const std::string label = carry.paths[i].empty() ? "" : fmt::format(" `{}`", carry.paths[i]);
    const SourceLine made =
        body.is_input(body.outputs()[i]) ? SourceLine() : body[body[body.outputs()[i]].producer].where;
    ErrorParts parts{.what = fmt::format("{}: the carried tensor{} enters the body as {} and leaves it as {}",
                                         name, label, to_string(enters), to_string(leaves)),
                     .expected = to_string(enters),
                     .where = where,
                     .help = "what is carried keeps its shape and dtype from step to step"};
    if (made.known()) parts.notes.push_back(fmt::format("made: {}", short_form(made)));
    fail(enters.dtype == leaves.dtype ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch, parts);
  }
}

// `tensors` as inputs of a graph that holds one node, which is then applied.
template <class Write>
std::vector<Tensor> apply_node(std::span<const Tensor> tensors, SourceLine where, const Write& write) {
  Graph wrapper;
  Builder builder(wrapper);
  builder.set_where(where);
  std::vector<Var> inputs;
  for (const Tensor& tensor : tensors) {
    if (tensor.empty())
      fail(ErrorCode::foreign_tensor, {.what = "an empty tensor is used as an operand", .where = where});
    inputs.push_back(builder.input(tensor.type()));
  }
  for (const Var& result : write(builder, std::span<const Var>(inputs))) wrapper.add_output(result.id());
  return apply(wrapper, tensors, where);
}

std::vector<std::size_t> numbers_to(std::size_t count) {
  std::vector<std::size_t> list(count);
  std::iota(list.begin(), list.end(), std::size_t{0});
  return list;
}

// A region over `types` whose first `own` are its arguments and whose captures lie `skipped` places later.
Graph with_captures_at(const Graph& region, std::span<const Type> types, std::size_t own,
                       std::size_t skipped) {
  std::vector<std::size_t> order(region.inputs().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i < own ? i : i + skipped;
  return regrouped(region, types, order, numbers_to(region.outputs().size()));
}

std::vector<Type> types_of(std::span<const Tensor> tensors) {
  std::vector<Type> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

}  // namespace

Tensor slice_type(const Tensor& xs) { return Tensor::of_type(slice_of(xs.type())); }

std::int64_t scanned_length(const Carried& xs, SourceLine where) {
  if (xs.tensors.empty()) {
    fail(ErrorCode::structure_mismatch, {.what = "scan: there is no tensor to scan over",
                                         .where = where,
                                         .help = "repeat(n, step, u) loops without one"});
  }
  const std::string no_path;
  for (std::size_t i = 0; i < xs.tensors.size(); ++i) {
    const Type& type = xs.tensors[i].type();
    if (type.rank() > 0 && type.shape[0] == xs.tensors[0].type().shape[0]) continue;
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("scan: xs {} is {}",
                              xs.paths[i].empty() ? "" : fmt::format("`{}`", xs.paths[i]), to_string(type)),
          .expected = type.rank() == 0 ? "at least one dimension, over which to scan"
                                       : fmt::format("a first dimension of {}, like the others",
                                                     xs.tensors[0].type().shape[0]),
          .where = where});
  }
  return xs.tensors[0].type().shape[0];
}

std::vector<Tensor> apply_loop(const Graph& body, const Carried& carry, std::int64_t trips,
                               std::span<const Tensor> xs, std::span<const Tensor> captured,
                               const LoopOptions& options, SourceLine where) {
  const std::int64_t least_bytes = std::min(options.memory.value_or(Bytes()).count, options.disk.count);
  if (trips < 0 || least_bytes < 0) {
    fail(ErrorCode::bad_attribute, {.what = trips < 0 ? fmt::format("a loop of {} steps", trips)
                                                      : fmt::format("a loop with {} bytes", least_bytes),
                                    .expected = "0 or more",
                                    .where = where});
  }
  check_carry("a loop", body, carry, false, where);
  std::vector<Tensor> operands = carry.tensors;
  operands.insert(operands.end(), xs.begin(), xs.end());
  operands.insert(operands.end(), captured.begin(), captured.end());
  const LoopAttrs attrs{.trips = trips,
                        .carries = static_cast<std::int64_t>(carry.tensors.size()),
                        .scanned = static_cast<std::int64_t>(xs.size()),
                        .memory = options.memory ? options.memory->count : -1,
                        .disk = options.disk.count,
                        .folder = options.folder};
  return apply_node(operands, where, [&](Builder& builder, std::span<const Var> in) {
    return builder.call(op::loop, in, pack(attrs), {body});
  });
}

std::vector<Tensor> apply_while(const Graph& test, std::span<const Tensor> test_captures, const Graph& body,
                                std::span<const Tensor> body_captures, const Carried& carry,
                                const WhileOptions& options, SourceLine where) {
  check_carry("while_loop", body, carry, true, where);
  const std::size_t carries = carry.tensors.size();
  std::vector<Tensor> operands = carry.tensors;
  operands.insert(operands.end(), test_captures.begin(), test_captures.end());
  operands.insert(operands.end(), body_captures.begin(), body_captures.end());
  const std::vector<Type> types = types_of(operands);
  const WhileAttrs attrs{.carries = static_cast<std::int64_t>(carries),
                         .max_steps = options.max_steps.value_or(-1),
                         .memory = options.memory ? options.memory->count : -1};
  std::vector<Tensor> results = apply_node(operands, where, [&](Builder& builder, std::span<const Var> in) {
    std::vector<Graph> regions;
    regions.push_back(with_captures_at(test, types, carries, 0));
    regions.push_back(with_captures_at(body, types, carries, test_captures.size()));
    return builder.call(op::while_loop, in, pack(attrs), std::move(regions));
  });
  results.resize(carries);
  return results;
}

std::vector<Tensor> apply_cond(const Tensor& predicate, const Graph& when_true,
                               std::span<const Tensor> true_inputs, const Graph& when_false,
                               std::span<const Tensor> false_inputs, std::size_t arguments,
                               SourceLine where) {
  std::vector<Tensor> operands = {predicate};
  operands.insert(operands.end(), true_inputs.begin(), true_inputs.end());
  operands.insert(operands.end(), false_inputs.begin() + static_cast<std::ptrdiff_t>(arguments),
                  false_inputs.end());
  const std::vector<Type> types = types_of(std::span(operands).subspan(1));
  return apply_node(operands, where, [&](Builder&, std::span<const Var> in) {
    return cond(in[0], in.subspan(1), with_captures_at(when_true, types, arguments, 0),
                with_captures_at(when_false, types, arguments, true_inputs.size() - arguments));
  });
}

}  // namespace tidemark::detail
