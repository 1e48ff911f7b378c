// Conversion between dtypes. To a float: rounded once, to nearest even. From a float to an integer: towards
// zero; NaN gives 0 and what is out of range the nearest bound. Between integers: wraps. To bool: whether it
// differs from zero.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct CastAttrs {
  DType dtype = DType::f32;
  TM_FIELDS(CastAttrs, dtype)
};

}  // namespace tidemark
