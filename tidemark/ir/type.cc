#include "tidemark/ir/type.h"

#include <fmt/ranges.h>

namespace tidemark {

std::string to_string(const Type& type) {
  return fmt::format("{}[{}]", name_of(type.dtype), fmt::join(type.shape.begin(), type.shape.end(), ", "));
}

}  // namespace tidemark
