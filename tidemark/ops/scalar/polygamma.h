// The derivatives of digamma, each the slope of the one before: a family closed under differentiation, so
// that lgamma and digamma have derivatives of every order up to the bound.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct PolygammaAttrs {
  std::int64_t order = 1;  // in [1, max_polygamma_order]
  TM_FIELDS(PolygammaAttrs, order)
};

// Values grow like the factorial of the order: beyond this they tell nobody anything.
inline constexpr std::int64_t max_polygamma_order = 100;

}  // namespace tidemark
