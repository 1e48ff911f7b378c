#include "tools/spirals.h"

#include <cmath>
#include <numbers>

namespace tidemark::cli {

Spirals make_spirals(std::int64_t n, std::int64_t seed) {
  const Tensor random = key(seed);
  const Tensor label = arange(n, DType::f32) % spiral_classes;  // 0, 1, 2, 0, …
  const Tensor radius =
      sqrt(random_uniform(fold_in(random, 1), {n}, 0.01, 1.0));  // even density over the disc
  const Tensor noise = random_normal(fold_in(random, 2), {n}, 0, 0.06);
  const double turn = 2 * std::numbers::pi / spiral_classes;
  const Tensor angle = radius * 5.0 + label * turn + noise;
  return {stack({radius * cos(angle), radius * sin(angle)}, 1), cast(label, DType::i32)};
}

}  // namespace tidemark::cli
