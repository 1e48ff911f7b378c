// The cost of what cannot be.
#pragma once
#include <limits>

namespace tidemark {

inline constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace tidemark
