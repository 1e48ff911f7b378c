#include "tidemark/opt/split_ops.h"

namespace tidemark {

SplitOps::SplitOps(const Op* (*find)(std::string_view name))
    : known(known_ops(find)), loop(find("loop")), sum(find("reduce_sum")), iota(find("iota")) {}

Var SplitOps::cast_to(const Var& x, DType dtype) const {
  if (x.dtype() == dtype) return x;
  return x.builder().call1(*known.cast, {x}, attrs_with(*known.cast, {{"dtype", dtype}}));
}

Var SplitOps::reshaped(const Var& x, const Shape& shape) const {
  if (x.shape() == shape) return x;
  return x.builder().call1(*known.reshape, {x}, attrs_with(*known.reshape, {{"shape", shape}}));
}

Var SplitOps::swapped(const Var& x) const {
  return x.builder().call1(*known.transpose, {x}, attrs_with(*known.transpose, {{"order", Dims{1, 0, 2}}}));
}

Var SplitOps::number(Builder& builder, DType dtype, const Number& value) const {
  return builder.call1(*known.constant, {},
                       attrs_with(*known.constant, {{"value", scalar_literal(dtype, value)}}));
}

Var SplitOps::zeros(Builder& builder, const Type& type) const {
  const Var zero = number(builder, type.dtype, 0);
  if (type.rank() == 0) return zero;
  return builder.call1(*known.broadcast, {zero}, attrs_with(*known.broadcast, {{"shape", type.shape}}));
}

Type carried_type(Type type) {
  if (is_float(type.dtype) && size_of(type.dtype) == 2) type.dtype = DType::f32;
  return type;
}

}  // namespace tidemark
