// Data written into the graph itself: C++ scalars, folded results. Values captured from outside are inputs
// instead.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct ConstantAttrs {
  Literal value;
  TM_FIELDS(ConstantAttrs, value)
};

}  // namespace tidemark
