#include "tidemark/nn/inputs.h"

#include <fmt/format.h>

namespace tidemark::nn {
namespace {

[[noreturn]] void refuse(std::string_view model, const Operand& given, bool good_dtype, std::string expected,
                         std::string help = "") {
  const Type& type = given.tensor().type();
  const bool number = given.is_number() || given.tensor().empty();
  fail(good_dtype ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch,
       {.what = fmt::format("{} over {}", model, number ? "no tensor" : to_string(type)),
        .expected = std::move(expected),
        .where = given.where(),
        .help = std::move(help)});
}

}  // namespace

void check_tokens(std::string_view model, const Operand& tokens, std::string_view layout,
                  std::optional<std::int64_t> most) {
  const Tensor& t = tokens.tensor();
  const bool integers = is_integer(t.dtype());
  const bool fits = t.rank() == 2 && (!most || t.size(1) <= *most);
  if (integers && fits) return;
  const std::string expected =
      fmt::format("tokens {}, integers{}", layout, most ? fmt::format(", T at most {}", *most) : "");
  refuse(model, tokens, integers, expected, integers ? "" : "cast them, cast(tokens, DType::i64)");
}

void check_sequence(std::string_view layer, const Operand& x, std::int64_t width) {
  const Tensor& t = x.tensor();
  if (t.rank() == 3 && t.size(2) == width && is_float(t.dtype())) return;
  refuse(layer, x, is_float(t.dtype()), fmt::format("floating-point (B, T, {})", width));
}

void check_images(std::string_view model, const Operand& images, const ImageSizes& sizes) {
  const Tensor& t = images.tensor();
  const auto is_good = [&](std::int64_t side) { return side >= 1 && side % sizes.multiple == 0; };
  if (t.rank() == 4 && t.size(1) == sizes.channels && is_float(t.dtype()) && is_good(t.size(2)) &&
      is_good(t.size(3))) {
    return;
  }
  const std::string multiple =
      sizes.multiple > 1 ? fmt::format(", H and W multiples of {}", sizes.multiple) : "";
  refuse(model, images, is_float(t.dtype()),
         fmt::format("floating-point images (N, {}, H, W){}", sizes.channels, multiple),
         is_float(t.dtype()) ? "" : "cast them, cast(images, DType::f32), and scale them");
}

}  // namespace tidemark::nn
