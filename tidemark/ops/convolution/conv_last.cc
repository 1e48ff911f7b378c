#include "tidemark/ops/convolution/conv_last.h"

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

Dims channels_last_order(int rank) {
  Dims order = {0};
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}
Dims channels_first_order(int rank) {
  Dims order = {0, rank - 1};
  for (int d = 1; d + 1 < rank; ++d) order.push_back(d);
  return order;
}

namespace {

Shape reordered(const Shape& shape, const Dims& order) {
  Shape result;
  for (const std::int64_t d : order) result.push_back(shape[static_cast<int>(d)]);
  return result;
}

// By the rule of the op with channels first, which says what is wrong.
template <const Op& first>
std::vector<Type> infer_last(const Call& call) {
  std::vector<Type> in(call.in.begin(), call.in.end());
  for (Type& type : in) {
    if (type.rank() >= 3) type.shape = reordered(type.shape, channels_first_order(type.rank()));
  }
  Call turned = call;
  turned.in = in;
  std::vector<Type> out = first.infer(turned);
  out[0].shape = reordered(out[0].shape, channels_last_order(out[0].rank()));
  return out;
}

template <const Op& first>
std::vector<Var> expand_last(const RuleCall& rule) {
  std::vector<Var> in;
  for (const Var& v : rule.in) in.push_back(transpose(v, channels_first_order(v.shape().rank())));
  const Var out = rule.builder.call(first, in, *rule.call.attrs).front();
  return {transpose(out, channels_last_order(out.shape().rank()))};
}

template <const Op& first>
std::vector<Sample> samples_last() {
  std::vector<Sample> list = first.samples();
  for (Sample& sample : list) {
    for (Sample::Operand& operand : sample.in)
      operand.type.shape = reordered(operand.type.shape, channels_last_order(operand.type.rank()));
  }
  return list;
}

template <class A, const Op& first>
constexpr Op last_of(std::string_view name) {
  return {.name = name,
          .kind = OpKind::contraction,
          .schema = &schema_of<A>,
          .infer = infer_last<first>,
          .expand = expand_last<first>,
          .tolerant = true,
          .samples = samples_last<first>};
}

}  // namespace

const Op op::conv_last = last_of<ConvAttrs, op::conv>("conv_last");
const Op op::conv_last_input_grad = last_of<ConvGradAttrs, op::conv_input_grad>("conv_last_input_grad");
const Op op::conv_last_weight_grad = last_of<ConvGradAttrs, op::conv_weight_grad>("conv_last_weight_grad");

}  // namespace tidemark
