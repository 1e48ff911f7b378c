// The demo's built-in data set: three interleaved spirals in the plane, one class each.
#pragma once
#include <cstdint>

#include "tidemark/tidemark.h"

namespace tidemark::cli {

inline constexpr int spiral_classes = 3;

struct Spirals {
  Tensor points;  // (n, 2), within [-1, 1]
  Tensor labels;  // (n), i32
};
Spirals make_spirals(std::int64_t n, std::int64_t seed);  // n a multiple of the classes

}  // namespace tidemark::cli
