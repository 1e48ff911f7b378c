// The few operations that cutting a batch writes itself.
#pragma once
#include <string_view>

#include "tidemark/ir/builder.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

class SplitOps {
 public:
  explicit SplitOps(const Op* (*find)(std::string_view name));

  KnownOps known;
  const Op *loop, *sum, *iota;

  // They write nothing where nothing is to be done.
  Var cast_to(const Var& x, DType dtype) const;
  Var reshaped(const Var& x, const Shape& shape) const;
  Var swapped(const Var& x) const;  // the first two of three axes
  Var number(Builder& builder, DType dtype, const Number& value) const;
  Var zeros(Builder& builder, const Type& type) const;
};

// Of a sum over micro-batches: 16-bit numbers are added up in f32.
Type carried_type(Type type);

}  // namespace tidemark
