// The operations that simplification recognises or writes, found once by name. opt rests on ir and so cannot
// include ops/; this list is the one place where it names them. Rules compare pointers, and an op that the
// lookup does not know stays nullptr: its rules never match. (Every other pass reads facts through Op and
// needs no names.)
#pragma once
#include <string_view>

#include "tidemark/ir/graph.h"

namespace tidemark {

// clang-format off
#define TM_KNOWN_OPS(X)                                                                                 \
  X(constant) X(neg) X(abs) X(square) X(relu) X(floor) X(ceil) X(round) X(add) X(sub) X(mul) X(div)      \
  X(maximum) X(minimum) X(equal) X(not_equal) X(logical_not) X(logical_and) X(logical_or) X(select)      \
  X(cast) X(broadcast) X(reshape) X(transpose) X(slice) X(pad) X(concat) X(split) X(flip)                \
  X(reduce_max) X(reduce_min) X(reduce_prod) X(contract) X(take_add) X(stop_gradient) X(residual)        \
  X(reduce_sum) X(reduce_mean) X(conv) X(conv_input_grad) X(conv_weight_grad) X(conv_last)               \
  X(conv_last_input_grad) X(conv_last_weight_grad) X(batch_norm) X(batch_norm_grad)                      \
  X(batch_norm_params) X(max_pool) X(max_pool_grad) X(avg_pool) X(avg_pool_grad) X(greater) X(rsqrt)     \
  X(column_statistics) X(normalize_columns) X(column_slopes) X(normalize_columns_grad)     \
  X(fp8_scale) X(fp8_codes) X(fp8_product)
// clang-format on

struct KnownOps {
#define TM_KNOWN_OP(name) const Op* name = nullptr;
  TM_KNOWN_OPS(TM_KNOWN_OP)
#undef TM_KNOWN_OP
};

KnownOps known_ops(const Op* (*find)(std::string_view name));

// An attribute by its name; the op's schema says where it is.
const AttrValue& attribute(const Node& node, std::string_view name);
template <class T>
const T& attribute(const Node& node, std::string_view name) {
  return std::get<T>(attribute(node, name));
}
// The op's default attributes with some replaced.
struct NamedAttr {
  std::string_view name;
  AttrValue value;
};
Attrs attrs_with(const Op& op, std::initializer_list<NamedAttr> given);

}  // namespace tidemark
