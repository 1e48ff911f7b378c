#include "tidemark/base/number.h"

#include <fmt/format.h>

namespace tidemark {

std::string to_string(const Number& number) {
  return number.is_whole() ? fmt::format("{}", number.whole()) : fmt::format("{}", number.real());
}

}  // namespace tidemark
