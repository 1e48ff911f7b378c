// What models are called with, looked at before anything is computed: an error then says what the model takes
// and not which of its operations could not take it.
#pragma once
#include <optional>
#include <string_view>

#include "tidemark/trace/tensor.h"

namespace tidemark::nn {

// Tokens of integers, two dimensions named by `layout`, the last of which has at most `most` places.
void check_tokens(std::string_view model, const Operand& tokens, std::string_view layout = "(B, T)",
                  std::optional<std::int64_t> most = {});
// (B, T, width), floating-point.
void check_sequence(std::string_view layer, const Operand& x, std::int64_t width);
// Floating-point images (N, channels, H, W), H and W multiples of a number.
struct ImageSizes {
  std::int64_t channels = 3;
  std::int64_t multiple = 1;
};
void check_images(std::string_view model, const Operand& images, const ImageSizes& sizes);

}  // namespace tidemark::nn
