// Pooling over windows of 1, 2 or 3 spatial dimensions of x (N, C, S…): P = (S + low + high - window) /
// stride + 1.
//
//   max_pool       the largest element and, as a second result (i32), its position in the flattened spatial
//                  dimensions;
//                  padding is never chosen, the first of equals is, NaN wins. Its gradient goes to that
//                  position.
//   max_pool_grad  y (N, C, P…) and the positions of its elements, each in its own window -> (N, C, S…), the
//                  gradient of max_pool; written with scatter_add where a target has no kernel for it.
//   avg_pool       the mean of the elements that lie inside of x: padding is not counted.
//   avg_pool_grad  the adjoint of avg_pool (N, C, P…) -> (N, C, S…); the two are each other's derivative.
#pragma once
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct PoolAttrs {
  Dims window = {}, stride = {}, low = {},
       high = {};  // one entry per spatial dimension; 0 ≤ padding < window
  TM_FIELDS(PoolAttrs, window, stride, low, high)
};
struct PoolGradAttrs {
  Dims window = {}, stride = {}, low = {}, high = {};
  Dims size = {};  // S
  TM_FIELDS(PoolGradAttrs, window, stride, low, high, size)
};

struct MaxPool {
  Var value, position;
};
// Empty lists in `attrs` mean stride = window, no padding.
MaxPool max_pool_with_position(const Var& x, PoolAttrs attrs);
Var max_pool(const Var& x, PoolAttrs attrs);
Var max_pool_grad(const Var& y, const Var& position, const Dims& input_size, const PoolAttrs& attrs);
Var avg_pool(const Var& x, PoolAttrs attrs);
Var avg_pool_grad(const Var& y, const Dims& input_size, const PoolAttrs& attrs);

}  // namespace tidemark
