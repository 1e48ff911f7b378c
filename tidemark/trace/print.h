// Tensors as text, as NumPy writes arrays: columns aligned, the fewest digits that tell the numbers of the
// dtype apart, large tensors abridged.
//
//   std::cout << x;   fmt::print("{}", x);   fmt::print("{:.3}", x);   to_string(x, {.precision = 3})
//
//   [[ 1.    2.25]
//    [-3.5   0.  ]]
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <iosfwd>
#include <string>

#include "tidemark/trace/view.h"

namespace tidemark {

struct PrintOptions {
  int precision = 8;              // digits behind the point, at most
  std::int64_t threshold = 1000;  // tensors of more elements are abridged
  std::int64_t edge = 3;          // what is left of a dimension then, at each end
  int width = 75;                 // of a line, where rows are broken
};

// A traced tensor is its type.
std::string to_string(const Tensor& tensor, const PrintOptions& options = {});
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

namespace detail {
[[noreturn]] void fail_tensor_format(const char* message);  // throws fmt::format_error
}

}  // namespace tidemark

// "{}", or "{:.3}": three digits behind the point.
template <>
struct fmt::formatter<tidemark::Tensor> {
  constexpr auto parse(fmt::format_parse_context& context) {
    auto at = context.begin();
    if (at == context.end() || *at == '}') return at;
    if (*at != '.') tidemark::detail::fail_tensor_format("a tensor takes {} or {:.DIGITS}");
    options.precision = 0;
    for (++at; at != context.end() && *at >= '0' && *at <= '9'; ++at) {
      options.precision = options.precision * 10 + (*at - '0');
      if (options.precision > 30) tidemark::detail::fail_tensor_format("a tensor takes at most 30 digits");
    }
    return at;
  }
  auto format(const tidemark::Tensor& tensor, fmt::format_context& context) const {
    const std::string text = tidemark::to_string(tensor, options);
    return std::copy(text.begin(), text.end(), context.out());
  }

  tidemark::PrintOptions options;
};

// A part of a tensor, as x.at(…) gives it.
template <>
struct fmt::formatter<tidemark::TensorView> : fmt::formatter<tidemark::Tensor> {
  auto format(const tidemark::TensorView& view, fmt::format_context& context) const {
    return fmt::formatter<tidemark::Tensor>::format(tidemark::Tensor(view), context);
  }
};
