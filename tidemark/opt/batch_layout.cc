#include "tidemark/opt/batch_layout.h"

namespace tidemark {
namespace {

std::int64_t size_before(const Shape& shape, int axis) {
  std::int64_t size = 1;
  for (int i = 0; i < axis; ++i) size *= shape[i];
  return size;
}

// With so many elements before the parts' positions: the layout along this axis.
std::optional<BatchLayout> layout_at(const Shape& shape, int axis, std::int64_t before, std::int64_t parts) {
  const std::int64_t outside = size_before(shape, axis);
  if (outside == 0 || before % outside != 0) return {};
  const std::int64_t outer = before / outside;
  if (outer == 0 || shape[axis] % (outer * parts) != 0) return {};
  return BatchLayout{.axis = axis, .outer = outer};
}

}  // namespace

std::optional<int> batch_axis(const Type& full, const Type& small, std::int64_t parts) {
  if (full.dtype != small.dtype || full.rank() != small.rank()) return {};
  std::optional<int> axis;
  for (int i = 0; i < full.rank(); ++i) {
    if (full.shape[i] == small.shape[i]) continue;
    if (axis || full.shape[i] != parts * small.shape[i]) return {};
    axis = i;
  }
  return axis;
}

bool fits(const BatchClass& c, const Type& full, const Type& small, std::int64_t parts) {
  if (!c.is(BatchRole::batched)) return full == small;
  const std::optional<int> axis = batch_axis(full, small, parts);
  return axis && *axis == c.layout.axis && c.layout.outer > 0 && small.shape[*axis] % c.layout.outer == 0;
}

std::optional<BatchLayout> common_layout(const BatchLayout& a, const BatchLayout& b) {
  if (a.axis != b.axis) return {};
  if (a.uniform) return b;
  if (b.uniform || a.outer == b.outer) return a;
  return {};
}

std::optional<BatchLayout> reshaped_layout(const BatchLayout& layout, const Shape& from, const Shape& to,
                                           int axis, std::int64_t parts) {
  const std::int64_t before = size_before(from, layout.axis) * layout.outer;
  std::optional<BatchLayout> result = layout_at(to, axis, before, parts);
  // What is the same along its axis may be cut as the result wants it.
  if (!result && layout.uniform && layout_at(from, layout.axis, size_before(to, axis), parts))
    result = BatchLayout{.axis = axis};
  if (result && layout.uniform) {
    // Still so if the axis itself stayed, with as many elements in front.
    result->uniform =
        from[layout.axis] == to[axis] && size_before(from, layout.axis) == size_before(to, axis);
  }
  return result;
}

PartsShape parts_shape(const BatchLayout& layout, const Shape& full, std::int64_t parts) {
  const std::int64_t before = size_before(full, layout.axis) * layout.outer;
  const std::int64_t count = element_count(full);
  return {.before = before, .after = before == 0 ? 0 : count / (before * parts)};
}

}  // namespace tidemark
