// Conversion between dtypes. To a float: rounded to nearest even. To an integer: towards zero; NaN gives 0 and what
// is out of range gives the nearest bound. To bool: whether it differs from zero.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct CastAttrs {
  DType dtype = DType::f32;
  TM_FIELDS(CastAttrs, dtype)
};

}  // namespace tidemark
