// Rules of contractions, convolutions, pooling, attention and normalisations: one product of everything
// instead of one per example.
#include "tidemark/autodiff/vmap/map_graph.h"
#include "tidemark/autodiff/vmap/rules.h"
#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark::vmap_rule_of {
namespace {

Dims one_further(Dims axes) {
  for (std::int64_t& axis : axes) ++axis;
  return axes;
}

// Operands in `shared` are the same for all examples, or the rule does not hold; the others have the examples
// in their first dimension, before their own.
std::vector<MappedVar> first_dimension(const VmapCall& call, std::span<const std::size_t> shared) {
  std::vector<Var> operands(call.in.size());
  for (const std::size_t i : shared) {
    if (call.is_mapped(i)) return {};
    operands[i] = call.in[i].var;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) operands[i] = call.merged(i, 0);
  }
  const std::vector<Var> found = call.again(operands);
  std::vector<MappedVar> results;
  for (std::size_t r = 0; r < found.size(); ++r) results.push_back(call.split(r, found[r], 0));
  return results;
}

// Where gain and bias stand: x, gain[, bias], or x[, mean], second, gain, ȳ.
std::vector<std::size_t> shared_by_norm(const VmapCall& call) {
  const bool forward = call.call.out.size() > 1;
  if (!forward) return {call.in.size() - 2};
  return call.in.size() > 2 ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{1};
}

}  // namespace

// Examples of both are a dimension that the product goes along; of one, a dimension that it leaves free.
std::vector<MappedVar> contract(const VmapCall& call) {
  auto dims = call.call.attrs_as<ContractAttrs>();
  const bool left = call.is_mapped(0), right = call.is_mapped(1);
  const Var a = call.front(0), b = call.front(1);
  const int batch = dims.lhs_batch.rank();
  int axis = batch;
  if (left) dims.lhs_batch = one_further(dims.lhs_batch), dims.lhs_contract = one_further(dims.lhs_contract);
  if (right) dims.rhs_batch = one_further(dims.rhs_batch), dims.rhs_contract = one_further(dims.rhs_contract);
  Var product;
  if (left && right) {
    dims.lhs_batch.insert(0, 0);
    dims.rhs_batch.insert(0, 0);
    axis = 0;
    product = tidemark::contract(a, b, dims);
  } else if (right && call.call.in[1].rank() == batch + dims.rhs_contract.rank()) {
    // A vector for each example: with the factors in the other order, examples come before what is left.
    product =
        tidemark::contract(b, a, {dims.rhs_batch, dims.lhs_batch, dims.rhs_contract, dims.lhs_contract});
  } else if (left || right) {
    if (right) axis = call.call.in[0].rank() - dims.lhs_contract.rank();
    product = tidemark::contract(a, b, dims);
  } else {
    product = tidemark::contract(a, b, dims);
    axis = -1;
  }
  if (call.in.size() < 3) return {{product, axis}};
  if (axis < 0) {
    const Var sum = call.front(2);
    return {{sum + product, 0}};
  }
  const Var sum = call.whole(2, axis);
  return {{sum + product, axis}};
}

// With one filter for all, examples are more of the batch. With a filter each they are groups of channels.
std::vector<MappedVar> conv(const VmapCall& call) {
  const std::size_t filter = 1;
  if (!call.is_mapped(filter)) return first_dimension(call, std::span(&filter, 1));
  const AttrSchema& schema = call.call.op->schema();
  Attrs attrs = *call.call.attrs;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == "groups") std::get<std::int64_t>(attrs[i]) *= call.size;
  }
  if (call.size == 0) return {};
  const Var x = call.merged(0, 1), w = call.merged(filter, 0);
  const Var operands[] = {x, w};
  return {call.split(0, call.again(operands, attrs).front(), 1)};
}

std::vector<MappedVar> conv_weight_grad(const VmapCall& call) {
  if (call.size == 0) return {};
  auto attrs = call.call.attrs_as<ConvGradAttrs>();
  attrs.groups *= call.size;
  const Var x = call.merged(0, 1), y = call.merged(1, 1);
  const Var operands[] = {x, y};
  return {call.split(0, call.again(operands, pack(attrs)).front(), 0)};
}

std::vector<MappedVar> batches(const VmapCall& call) { return first_dimension(call, {}); }

std::vector<MappedVar> attention(const VmapCall& call) {
  const AttentionForm form = attention_form(call.call);
  if (form.key >= 0) return one_by_one(call);  // what is dropped depends on the place in the batch
  const auto mask = static_cast<std::size_t>(form.mask);
  if (form.mask < 0) return first_dimension(call, {});
  const Shape& given = call.call.in[mask].shape;
  if (!call.is_mapped(mask) && (given.rank() < 4 || given[0] == 1))
    return first_dimension(call, std::span(&mask, 1));
  // Broadcast to the batch of each example, since the examples come in between.
  std::vector<MappedVar> in(call.in.begin(), call.in.end());
  std::vector<Type> types(call.call.in.begin(), call.call.in.end());
  Shape shape = given;
  while (shape.rank() < 4) shape.insert(0, 1);
  Shape behind = shape;
  behind.insert(0, call.size);
  const Var masks = tidemark::reshape(call.whole(mask), behind);
  behind[1] = shape[0] = form.batch;
  in[mask] = {tidemark::broadcast(masks, behind), 0};
  types[mask].shape = shape;
  Call with_mask = call.call;
  with_mask.in = types;
  return first_dimension({call.builder, with_mask, in, call.size}, {});
}

std::vector<MappedVar> trailing_norm(const VmapCall& call) {
  std::vector<Var> operands(call.in.size());
  for (const std::size_t i : shared_by_norm(call)) {
    if (call.is_mapped(i)) return {};
    operands[i] = call.in[i].var;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) operands[i] = call.whole(i);
  }
  return mapped_at(call.again(operands), 0);
}

std::vector<MappedVar> group_norm(const VmapCall& call) {
  return first_dimension(call, shared_by_norm(call));
}

// It is over the batch, channel by channel: the channels of other examples are more channels.
std::vector<MappedVar> batch_norm(const VmapCall& call) {
  const auto channels = [](const Type& type) { return type.rank() > 1 ? 1 : 0; };
  std::vector<Var> operands;
  for (std::size_t i = 0; i < call.in.size(); ++i)
    operands.push_back(call.merged(i, channels(call.call.in[i])));
  const std::vector<Var> found = call.again(operands);
  std::vector<MappedVar> results;
  for (std::size_t r = 0; r < found.size(); ++r)
    results.push_back(call.split(r, found[r], channels(call.call.out[r])));
  return results;
}

}  // namespace tidemark::vmap_rule_of
