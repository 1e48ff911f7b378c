// Ops that read and write by integer positions.
#include <algorithm>

#include "tidemark/cuda/calls/call_text.h"
#include "tidemark/cuda/calls/family.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/index_cpu.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

void write_keys(CallText& text, const Call& call, int indices, std::int64_t bound) {
  text.type("Key", call.in[static_cast<std::size_t>(indices)].dtype);
  text.number("indices", indices);
  text.count("bound", bound);
}

KernelText write_take(const Call& call, std::string_view name) {
  CallText text(call, name, "indexing");
  const AroundAxis around(call.in[0].shape, static_cast<int>(call.attrs_as<TakeAttrs>().axis));
  const std::int64_t taken = call.in[1].count(), element = size_of(call.in[0].dtype),
                     row_bytes = around.inner * element,
                     chunk = row_bytes == 0 ? 1 : pack_width(1, row_bytes);
  write_keys(text, call, 1, around.size);
  text.number("element", element);
  text.number("chunk", chunk);
  text.count("row_bytes", row_bytes);
  text.count("outer", around.outer);
  text.count("taken", taken);
  text.launch_turns("take_rows", around.outer * taken * row_bytes / chunk);
  return text.finish();
}

KernelText write_take_add(const Call& call, std::string_view name) {
  CallText text(call, name, "indexing");
  const AroundAxis around(call.out[0].shape, static_cast<int>(call.attrs_as<TakeAddAttrs>().axis));
  const DType dtype = call.in[0].dtype;
  const std::int64_t taken = call.in[1].count(),
                     width = around.inner == 0 ? 1 : pack_width(size_of(dtype), around.inner);
  write_keys(text, call, 1, around.size);
  text.type("T", dtype);
  text.number("width", width);
  text.flag("onto", call.in.size() == 3);
  text.count("outer", around.outer);
  text.count("inner", around.inner);
  text.count("taken", taken);
  const std::int64_t lists = call.out[0].count() == 0 ? 0 : 1;  // else there is nothing to add up
  text.launch_turns("take_add_clear", lists * (2 * around.size + 1));
  text.launch_turns("take_add_count", taken);
  text.launch("take_add_start", lists * ((around.size + call_threads - 1) / call_threads), call_threads,
              true);
  text.launch_turns("take_add_place", lists * taken);
  text.launch_turns("take_add_sort", lists * taken);
  text.launch_turns("take_add_sum", call.out[0].count() / width);
  return text.finish();
}
// Lists of updates, in 32 bits: UpdateLists of device/indexing.h.
std::int64_t take_add_scratch(const Call& call) {
  return (3 * call.attrs_as<TakeAddAttrs>().axis_size + 1 + 2 * call.in[1].count()) * 4;
}
bool take_add_in_place(const Call&, int, int operand) { return operand == 2; }

KernelText write_gather(const Call& call, std::string_view name) {
  CallText text(call, name, "indexing");
  const auto axis = static_cast<int>(call.attrs_as<AxisAttrs>().axis);
  const AroundAxis from(call.in[0].shape, axis), to(call.out[0].shape, axis);
  write_keys(text, call, 1, from.size);
  text.number("element", size_of(call.in[0].dtype));
  text.count("taken", to.size);
  text.count("inner", to.inner);
  text.count("count", call.out[0].count());
  text.launch_turns("gather_elements", call.out[0].count());
  return text.finish();
}

KernelText write_scatter_add(const Call& call, std::string_view name) {
  CallText text(call, name, "indexing");
  const auto axis = static_cast<int>(call.attrs_as<AxisAttrs>().axis);
  const AroundAxis to(call.out[0].shape, axis), from(call.in[2].shape, axis);
  const DType dtype = call.in[0].dtype;
  const std::int64_t count = call.out[0].count();
  const bool narrow = is_float(dtype) && size_of(dtype) == 2;
  write_keys(text, call, 1, to.size);
  text.type("T", dtype);
  text.count("outer", to.outer);
  text.count("inner", to.inner);
  text.count("taken", from.size);
  text.count("count", count);
  text.launch_turns("scatter_add_begin", std::max(count, call.in[2].count()));
  text.launch_turns("scatter_add_columns", to.outer * to.inner);
  if (narrow) text.launch_turns("scatter_add_round", count);
  return text.finish();
}
bool scatter_add_in_place(const Call&, int, int operand) { return operand == 0; }

KernelText write_one_hot(const Call& call, std::string_view name) {
  CallText text(call, name, "indexing");
  write_keys(text, call, 0, call.attrs_as<OneHotAttrs>().classes);
  text.type("T", call.out[0].dtype);
  text.count("count", call.out[0].count());
  text.launch_turns("one_hot_elements", call.out[0].count());
  return text.finish();
}

// Indices are looked at where something is taken; with nothing to take, nobody would see that one is bad.
bool looks_at_indices(const Call& call) { return call.out[0].count() > 0 || call.in[1].count() == 0; }
// Lists of updates count in 32 bits.
bool counts_in_32_bits(const Call& call) {
  return call.in[1].count() < most_in_32_bits && call.attrs_as<TakeAddAttrs>().axis_size < most_in_32_bits;
}

}  // namespace

std::span<const CallRow> indexing_calls() {
  static const CallRow rows[] = {
      {&op::take, {.write = write_take, .can = looks_at_indices}},
      {&op::take_add,
       {.write = write_take_add,
        .scratch = take_add_scratch,
        .can = counts_in_32_bits,
        .may_overwrite = take_add_in_place}},
      {&op::gather, {.write = write_gather}},
      {&op::scatter_add,
       {.write = write_scatter_add, .scratch = wide_sums_scratch, .may_overwrite = scatter_add_in_place}},
      {&op::one_hot, {.write = write_one_hot}},
  };
  return rows;
}

}  // namespace tidemark::cuda
