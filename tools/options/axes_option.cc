#include "tools/options/axes_option.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

constexpr const char* names_there_are = "some of batch, context, width, layers, as in batch,context=128:1024";

AxisOption parse_axis(std::string_view option, std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  const auto axis = std::ranges::find(nn::zoo_axes, name, [](nn::ZooAxis a) { return nn::name_of(a); });
  if (axis == std::end(nn::zoo_axes)) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("{} {}", option, text.substr(0, 60)), .expected = names_there_are});
  }
  AxisOption parsed{.axis = *axis};
  if (name.size() == text.size()) return parsed;
  const std::string_view range = text.substr(name.size() + 1);
  const auto colon = range.find(':');
  if (colon == std::string_view::npos) {
    fail(ErrorCode::bad_plan_option, {.what = fmt::format("{} {}", option, text.substr(0, 60)),
                                      .expected = "the least and the largest, as in batch=4:32"});
  }
  constexpr CountRange counts{1, 1 << 20};
  parsed.range = {parse_count(option, range.substr(0, colon), counts),
                  parse_count(option, range.substr(colon + 1), counts)};
  return parsed;
}

}  // namespace

std::vector<AxisOption> parse_axes(std::string_view option, std::string_view text) {
  std::vector<AxisOption> axes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const AxisOption axis = parse_axis(option, text.substr(begin, end - begin));
    if (std::ranges::find(axes, axis.axis, &AxisOption::axis) != axes.end()) {
      fail(ErrorCode::bad_plan_option, {.what = fmt::format("{} {}", option, text.substr(0, 60)),
                                        .expected = fmt::format("{} once", nn::name_of(axis.axis))});
    }
    axes.push_back(axis);
    begin = end + 1;
  }
  return axes;
}

AxisSizes axis_sizes(const ModelOption& model, const AxisOption& axis) {
  const nn::ZooModel* known = nn::find_in_zoo(model.model);
  TM_CHECK(known != nullptr);
  const nn::ZooSize size = known->size(axis.axis);
  const std::string_view name = nn::name_of(axis.axis);
  if (!size.exists()) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("{} has no {} that could vary", model.model, name),
          .help = "leave it out, or see `tidemark plan --help` for other models"});
  }
  const std::int64_t given = ModelOption(model).size(axis.axis).value_or(size.standard);
  AxisSizes sizes{.least = std::max(size.least, given / 2),
                  .most = std::min(size.most, 2 * given),
                  .step = size.multiple_of};
  if (axis.axis == nn::ZooAxis::context && given <= size.standard)
    sizes.most = std::min(sizes.most, size.standard);
  if (axis.range) {
    sizes.least = std::max(size.least, axis.range->first);
    sizes.most = std::min(size.most, axis.range->second);
  }
  // Images are halved up to five times; of other sizes the last maps are rounded.
  constexpr std::int64_t halved = 32;
  if (size.unit == "pixels" && halved % sizes.step == 0 && sizes.most - sizes.least >= 3 * halved)
    sizes.step = halved;
  sizes.least = (sizes.least + sizes.step - 1) / sizes.step * sizes.step;
  sizes.most = sizes.most / sizes.step * sizes.step;
  if (sizes.least > sizes.most) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("{} has no {} in that range", model.model, name),
          .expected = fmt::format("sizes from {} to {}{}, the smaller first", size.least, size.most,
                                  sizes.step > 1 ? fmt::format(", multiples of {}", sizes.step) : "")});
  }
  return sizes;
}

}  // namespace tidemark::cli
