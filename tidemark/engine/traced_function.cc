#include "tidemark/engine/traced_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

// The length of the first axis of all tensors of an argument; 0 when they have none in common.
std::int64_t first_axis(const TracedFunction& function, std::size_t argument) {
  std::int64_t size = 0;
  for (std::size_t i = function.argument_begin(argument); i < function.argument_ends[argument]; ++i) {
    const Shape& shape = function.types[i].shape;
    if (shape.empty() || (size != 0 && shape[0] != size)) return 0;
    size = shape[0];
  }
  return size;
}

template <class Has>
BatchAxis axis_of(const TracedFunction& function, std::int64_t size, const Has& has) {
  BatchAxis axis{.size = size, .has = std::vector<bool>(function.types.size(), false)};
  for (std::size_t a = 0; a < function.argument_ends.size(); ++a) {
    if (!has(a)) continue;
    for (std::size_t i = function.argument_begin(a); i < function.argument_ends[a]; ++i) axis.has[i] = true;
  }
  return axis;
}

}  // namespace

std::vector<Type> BatchAxis::resized(std::span<const Type> types, std::int64_t batch) const {
  std::vector<Type> result(types.begin(), types.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (has[i]) result[i].shape[0] = batch;
  }
  return result;
}

std::optional<BatchAxis> find_batch(const TracedFunction& function, const std::vector<int>& arguments,
                                    SourceLine where) {
  if (!arguments.empty()) {
    const std::int64_t size = first_axis(function, static_cast<std::size_t>(arguments[0]));
    for (int a : arguments) {
      if (const auto k = static_cast<std::size_t>(a); size > 0 && first_axis(function, k) == size) continue;
      fail(
          ErrorCode::shape_mismatch,
          {.what = fmt::format("argument {} is said to hold a batch, and its tensors do not agree on one", a),
           .expected = "the same first axis in all tensors of all batch_arguments",
           .where = where});
    }
    return axis_of(function, size,
                   [&](std::size_t a) { return std::ranges::count(arguments, static_cast<int>(a)) > 0; });
  }
  std::vector<std::int64_t> tried;
  for (std::size_t a = function.argument_ends.size(); a-- > 0;) {
    const std::int64_t size = function.donated[a] ? 0 : first_axis(function, a);
    if (size == 0 || std::ranges::count(tried, size) > 0) continue;
    tried.push_back(size);
    BatchAxis axis = axis_of(function, size, [&](std::size_t other) {
      return !function.donated[other] && first_axis(function, other) == size;
    });
    try {
      function.trace(axis.resized(function.types, size > 1 ? size / 2 : 2));
      return axis;
    } catch (const Error&) {  // not a batch: the function needs this very length
    }
  }
  return {};
}

}  // namespace tidemark
