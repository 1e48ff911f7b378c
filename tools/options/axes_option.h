// Sizes of a built-in model that vary: "batch,context=128:1024", names of sizes, each with or without a
// range.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tidemark/nn/zoo.h"
#include "tools/options/model_option.h"

namespace tidemark::cli {

struct AxisOption {
  nn::ZooAxis axis = nn::ZooAxis::batch;
  std::optional<std::pair<std::int64_t, std::int64_t>> range = {};  // none: from half the size to twice
};

// Throws Error on a name that is none or stands twice, and on a range that is none.
std::vector<AxisOption> parse_axes(std::string_view option, std::string_view text);

// The sizes that a model may have in a range: from the first that is one of them to the last. Without a
// range, from half the size that `model` has to twice that, a context not beyond the model's own; sides of
// images in steps of 32 pixels where there is room for some. Throws Error where the model does not have such
// a size, or none in the range.
struct AxisSizes {
  std::int64_t least = 0, most = 0, step = 1;
};
AxisSizes axis_sizes(const ModelOption& model, const AxisOption& axis);

}  // namespace tidemark::cli
