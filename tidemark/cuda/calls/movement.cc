// Ops that move elements, where they are no views.
#include "tidemark/ops/movement/movement.h"

#include <algorithm>
#include <cstring>

#include "tidemark/cuda/calls/family.h"
#include "tidemark/cuda/calls/window_copy.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/constant.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

Window whole_result(const Call& call, int r = 0) {
  return whole_of(r, dense_strides(call.out[static_cast<std::size_t>(r)].shape));
}
Dims all(int rank, std::int64_t value) { return Dims::filled(rank, value); }

// The whole result from a window of the first operand.
KernelText write_copy(const Call& call, std::string_view name, const Window& from) {
  CallText text(call, name, "movement");
  WindowCopy(call.out[0].shape, call.out[0].dtype, from, whole_result(call)).write(text, "Copy");
  return text.finish();
}

// The result has the operand's row-major order, so it may be seen in the operand's shape.
KernelText write_reshape(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  const Shape& shape = call.in[0].shape;
  WindowCopy(shape, call.out[0].dtype, whole_of(0, operand_strides(call, 0)),
             whole_of(0, dense_strides(shape)))
      .write(text, "Copy");
  return text.finish();
}
KernelText write_transpose(const Call& call, std::string_view name) {
  const Strides strides = operand_strides(call, 0);
  const Dims order = call.attrs_as<TransposeAttrs>().order;
  Window from = whole_of(0, strides);
  for (int d = 0; d < order.rank(); ++d) from.strides[d] = strides[static_cast<int>(order[d])];
  return write_copy(call, name, from);
}
KernelText write_slice(const Call& call, std::string_view name) {
  const auto attrs = call.attrs_as<SliceAttrs>();
  return write_copy(call, name, window_of(0, operand_strides(call, 0), attrs.start, attrs.step));
}
KernelText write_flip(const Call& call, std::string_view name) {
  const Shape& shape = call.in[0].shape;
  Dims start = all(shape.rank(), 0), step = all(shape.rank(), 1);
  for (const std::int64_t axis : call.attrs_as<AxesAttrs>().axes) {
    start[static_cast<int>(axis)] = std::max<std::int64_t>(0, shape[static_cast<int>(axis)] - 1);
    step[static_cast<int>(axis)] = -1;
  }
  return write_copy(call, name, window_of(0, operand_strides(call, 0), start, step));
}

KernelText write_concat(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  text.join_turns();
  const Shape& shape = call.out[0].shape;
  const auto axis = static_cast<int>(call.attrs_as<AxisAttrs>().axis);
  Dims start = all(shape.rank(), 0);
  for (int i = 0; i < static_cast<int>(call.in.size()); ++i) {
    const Shape& part = call.in[static_cast<std::size_t>(i)].shape;
    WindowCopy(part, call.out[0].dtype, whole_of(i, operand_strides(call, i)),
               window_of(0, dense_strides(shape), start, all(shape.rank(), 1)))
        .write(text, fmt::format("Part{}", i));
    start[axis] += part[axis];
  }
  return text.finish();
}
KernelText write_split(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  text.join_turns();
  const int rank = call.in[0].rank();
  const auto axis = static_cast<int>(call.attrs_as<SplitAttrs>().axis);
  Dims start = all(rank, 0);
  for (int r = 0; r < static_cast<int>(call.out.size()); ++r) {
    const Shape& part = call.out[static_cast<std::size_t>(r)].shape;
    WindowCopy(part, call.in[0].dtype, window_of(0, operand_strides(call, 0), start, all(rank, 1)),
               whole_result(call, r))
        .write(text, fmt::format("Part{}", r));
    start[axis] += part[axis];
  }
  return text.finish();
}

// All is filled; then element e of the operand lands at low + e (interior + 1), if that is inside.
KernelText write_pad(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  const auto attrs = call.attrs_as<PadAttrs>();
  const Shape &from = call.in[0].shape, &to = call.out[0].shape;
  const std::int64_t element = size_of(call.out[0].dtype), count = call.out[0].count();
  text.number("element", element);
  text.count("count", count);
  text.launch_turns("fill_elements", (count * element + 15) / 16);
  const int rank = to.rank();
  Dims from_start = all(rank, 0), to_start = from_start, step = from_start;
  Shape window = from_start;
  for (int d = 0; d < rank; ++d) {
    step[d] = attrs.interior[d] + 1;
    from_start[d] = attrs.low[d] < 0 ? (-attrs.low[d] + step[d] - 1) / step[d] : 0;
    to_start[d] = attrs.low[d] + from_start[d] * step[d];
    const std::int64_t room = to[d] - to_start[d];
    window[d] = room <= 0 ? 0
                          : std::max<std::int64_t>(
                                0, std::min(from[d] - from_start[d], (room + step[d] - 1) / step[d]));
  }
  WindowCopy(window, call.out[0].dtype, window_of(0, operand_strides(call, 0), from_start, all(rank, 1)),
             window_of(0, dense_strides(to), to_start, step))
      .write(text, "Copy");
  return text.finish();
}

KernelText write_update_slice(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  const auto attrs = call.attrs_as<UpdateSliceAttrs>();
  const Strides dense = dense_strides(call.out[0].shape);
  WindowCopy(call.out[0].shape, call.out[0].dtype, whole_of(0, operand_strides(call, 0)), whole_of(0, dense))
      .write(text, "Whole");
  WindowCopy(call.in[1].shape, call.out[0].dtype, whole_of(1, operand_strides(call, 1)),
             window_of(0, dense, attrs.start, attrs.step))
      .write(text, "Update");
  return text.finish();
}
bool update_in_place(const Call& call, int, int operand) { return operand == 0 && call.is_dense_operand(0); }

KernelText write_iota(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  const auto attrs = call.attrs_as<IotaAttrs>();
  const auto axis = static_cast<int>(attrs.axis);
  const std::int64_t count = call.out[0].count();
  text.type("T", attrs.dtype);
  text.count("count", count);
  text.count("size", attrs.shape[axis]);
  text.count("inner", dense_strides(attrs.shape)[axis]);
  text.launch_turns("count_along_axis", count);
  return text.finish();
}

// Of several elements, which stand in the kernel's text by their bits: as many as that is no burden for. One
// element is a step of its readers' kernels.
constexpr std::int64_t most_written_bytes = 4096;
bool is_written(const Call& call) {
  return call.out[0].count() != 1 && call.out[0].bytes() <= most_written_bytes;
}
KernelText write_constant(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  const Literal value = call.attrs_as<ConstantAttrs>().value;
  const std::int64_t size = size_of(value.dtype), count = call.out[0].count();
  std::string list;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value.bytes.data() + i * size, static_cast<std::size_t>(size));
    list += fmt::format("{}{}u", i > 0 ? ", " : "", bits);
  }
  text.line("  using Bits = std::uint{}_t;", 8 * size);
  text.line("  static Bits bits(Index i) {{\n    constexpr Bits all[] = {{{}}};\n    return all[i];\n  }}",
            list.empty() ? "0" : list);
  text.count("count", count);
  text.launch_turns("write_bits", count);
  return text.finish();
}

template <bool lower>
KernelText write_triangle(const Call& call, std::string_view name) {
  CallText text(call, name, "movement");
  const Shape& shape = call.in[0].shape;
  const Strides strides = operand_strides(call, 0);
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back(), count = call.out[0].count();
  JoinedDimensions from{};
  for (int d = 0; d < shape.rank(); ++d) from.push(shape[d], strides[d]);
  text.number("element", size_of(call.out[0].dtype));
  text.flag("lower", lower);
  text.count("count", count);
  text.count("rows", rows);
  text.count("columns", columns);
  // Beyond the matrix all diagonals are alike.
  text.count("diagonal", std::clamp(call.attrs_as<TriangleAttrs>().diagonal, -rows - 1, columns + 1));
  text.offset("from_at", from);
  text.launch_turns("keep_triangle", count);
  return text.finish();
}
bool dense_in_place(const Call& call, int, int) { return call.is_dense_operand(0); }

}  // namespace

std::span<const CallRow> movement_calls() {
  static const CallRow rows[] = {
      {&op::reshape,
       {.write = write_reshape, .takes_strides = takes_any_strides, .may_overwrite = dense_in_place}},
      {&op::transpose, {.write = write_transpose, .takes_strides = takes_any_strides}},
      {&op::slice, {.write = write_slice, .takes_strides = takes_any_strides}},
      {&op::pad, {.write = write_pad, .takes_strides = takes_any_strides}},
      {&op::concat, {.write = write_concat, .takes_strides = takes_any_strides}},
      {&op::split, {.write = write_split, .takes_strides = takes_any_strides}},
      {&op::flip, {.write = write_flip, .takes_strides = takes_any_strides}},
      {&op::tril,
       {.write = write_triangle<true>, .takes_strides = takes_any_strides, .may_overwrite = dense_in_place}},
      {&op::triu,
       {.write = write_triangle<false>, .takes_strides = takes_any_strides, .may_overwrite = dense_in_place}},
      {&op::iota, {.write = write_iota}},
      {&op::constant, {.write = write_constant, .can = is_written}},
      {&op::update_slice,
       {.write = write_update_slice, .takes_strides = takes_any_strides, .may_overwrite = update_in_place}},
  };
  return rows;
}

}  // namespace tidemark::cuda
