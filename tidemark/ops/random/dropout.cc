#include "tidemark/ops/random/dropout.h"

#include "tidemark/base/error.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {

Var dropout(const Var& x, double rate, const Var& key) {
  if (!(rate >= 0 && rate < 1)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("dropout: rate {}", rate),
                                    .expected = "0 ≤ rate < 1",
                                    .where = x.builder().where()});
  }
  if (!is_float(x.dtype())) {
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("dropout: the operand is {}", name_of(x.dtype())),
                                     .expected = "a floating-point tensor",
                                     .where = x.builder().where()});
  }
  if (rate == 0) return x;
  const Var keep = random_bernoulli(key, {.shape = x.shape(), .p = 1 - rate});
  const Var scaled = x * (1 / (1 - rate));
  return select(keep, scaled, constant_like(x, 0));
}

}  // namespace tidemark
