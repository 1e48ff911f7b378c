// Ops that depend on the order of rows: cumsum, sort, top_k.
#include "tidemark/cuda/calls/family.h"
#include "tidemark/cuda/calls/row_layout.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t sort_most = 4096;  // sort_most of device/order.h
constexpr std::int64_t most_turns = 256;  // beyond, looking for one after the other is too slow

// Rows along an axis, of the operand and of a result that may have another size there.
struct AxisRows {
  std::int64_t rows = 1, n, from_step, to_step;
  JoinedDimensions from{}, to{};

  AxisRows(const Call& call, std::int64_t axis) {
    const Shape& shape = call.in[0].shape;
    const Strides strides = operand_strides(call, 0), result = dense_strides(call.out[0].shape);
    n = shape[static_cast<int>(axis)];
    from_step = strides[static_cast<int>(axis)], to_step = result[static_cast<int>(axis)];
    for (int d = 0; d < shape.rank(); ++d) {
      if (d == axis) continue;
      rows *= shape[d];
      from.push(shape[d], strides[d]);
      to.push(shape[d], result[d]);
    }
  }
  void write_result(CallText& text) const {
    text.count("to_step", to_step);
    text.offset("to_row", to);
  }
  void write(CallText& text) const {
    text.count("rows", rows);
    text.count("n", n);
    text.count("from_step", from_step);
    text.offset("from_row", from);
    write_result(text);
  }
};

KernelText write_cumsum(const Call& call, std::string_view name) {
  constexpr std::int64_t short_row = 32;
  CallText text(call, name, "order");
  const auto attrs = call.attrs_as<CumsumAttrs>();
  const AxisRows along(call, attrs.axis);
  text.type("T", call.in[0].dtype);
  text.flag("reverse", attrs.reverse);
  along.write(text);
  if (along.n == 0) return text.finish();
  if (along.to_step == 1 && along.n > short_row) {
    text.launch("cumsum_rows", along.rows, 256, true);  // scan_threads of device/order.h
  } else {
    text.launch_turns("cumsum_columns", along.rows);
  }
  return text.finish();
}
bool cumsum_in_place(const Call& call, int, int) { return call.is_dense_operand(0); }

KernelText write_sort(const Call& call, std::string_view name) {
  CallText text(call, name, "order");
  const auto attrs = call.attrs_as<SortAttrs>();
  const AxisRows along(call, attrs.axis);
  text.type("T", call.in[0].dtype);
  text.flag("descending", attrs.descending);
  along.write(text);
  text.launch("sort_rows", along.n == 0 ? 0 : along.rows, 512, true);  // sort_threads
  return text.finish();
}
bool can_sort(const Call& call) {
  return call.in[0].shape[static_cast<int>(call.attrs_as<SortAttrs>().axis)] <= sort_most;
}

KernelText write_top_k(const Call& call, std::string_view name) {
  CallText text(call, name, "order");
  const auto attrs = call.attrs_as<TopKAttrs>();
  const Strides strides = operand_strides(call, 0);
  bool in_row[max_rank] = {};
  in_row[attrs.axis] = true;
  const RowLayout layout(call.in[0].shape, in_row, std::span(&strides, 1), 1, call.in[0].dtype);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0}, .writes = false, .along = {}});
  text.number("k", attrs.k);
  AxisRows(call, attrs.axis).write_result(text);
  text.launch("top_rows", attrs.k == 0 ? 0 : layout.blocks(), layout.threads, layout.team > 1);
  return text.finish();
}
bool can_take_top(const Call& call) { return call.attrs_as<TopKAttrs>().k <= most_turns; }

}  // namespace

std::span<const CallRow> order_calls() {
  static const CallRow rows[] = {
      {&op::cumsum,
       {.write = write_cumsum, .takes_strides = takes_any_strides, .may_overwrite = cumsum_in_place}},
      {&op::sort, {.write = write_sort, .can = can_sort, .takes_strides = takes_any_strides}},
      {&op::top_k, {.write = write_top_k, .can = can_take_top, .takes_strides = takes_any_strides}},
  };
  return rows;
}

}  // namespace tidemark::cuda
