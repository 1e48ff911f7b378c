// A call whose derivative the user wrote. Region 0 is the function: operands → results. Region 1 is its
// pullback: operands, results, seeds → one gradient for each of the first `differentiable` operands. It has
// no kernel: it becomes region 0 before planning.
#pragma once
#include "tidemark/base/attrs.h"

namespace tidemark {

struct CustomVjpAttrs {
  std::int64_t differentiable = 0;
  TM_FIELDS(CustomVjpAttrs, differentiable)
};

}  // namespace tidemark
