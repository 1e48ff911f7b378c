// x limited to [low, high]. The slope is 1 inside and at the bounds, 0 outside.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct ClampAttrs {
  double low = 0, high = 0;  // low ≤ high; rounded to the operand's dtype
  TM_FIELDS(ClampAttrs, low, high)
};

}  // namespace tidemark
