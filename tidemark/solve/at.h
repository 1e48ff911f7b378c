// Tasks, items and runs are numbered by ints, which may be -1; containers are indexed without a sign.
#pragma once
#include <cstddef>

namespace tidemark {

constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace tidemark
