// Data written into the graph itself: C++ scalars, folded results. Values captured from outside are inputs instead.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct ConstantAttrs {
  Literal value;
  TM_FIELDS(ConstantAttrs, value)
};

// A rank-0 literal of the dtype, rounded to it.
Literal scalar_literal(DType dtype, double value);

}  // namespace tidemark
