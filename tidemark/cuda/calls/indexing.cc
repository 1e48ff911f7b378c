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

// Of take_add (device/indexing.h). A list of up to so many updates is one sum; one thread adds as many while
// others add those of other pieces. Words of a text have some longer lists at most.
constexpr std::int64_t piece = 256;
// Counting takes each update of a list as long as the list is: with so many, as long as adding up a piece.
constexpr std::int64_t most_sorted = 2048;

// In scratch: lists of updates, in 32 bits, then sums of pieces.
struct TakeAddScratch {
  std::int64_t long_blocks = 0;  // there may be so many lists longer than most_sorted
  std::int64_t lists_bytes = 0, pieces_bytes = 0;

  explicit TakeAddScratch(const Call& call) {
    const auto attrs = call.attrs_as<TakeAddAttrs>();
    const std::int64_t taken = call.in[1].count();
    const AroundAxis around(call.out[0].shape, static_cast<int>(attrs.axis));
    const DType dtype = call.in[0].dtype;
    const std::int64_t sum = is_float(dtype) ? std::max<std::int64_t>(4, size_of(dtype)) : size_of(dtype);
    long_blocks = taken / (most_sorted + 1);
    lists_bytes = align_up((3 * around.size + 3 + 2 * taken + long_blocks) * 4, 256);
    if (taken > piece) pieces_bytes = 2 * ((taken + piece - 1) / piece) * around.outer * around.inner * sum;
  }
};

KernelText write_take_add(const Call& call, std::string_view name) {
  CallText text(call, name, "indexing");
  const AroundAxis around(call.out[0].shape, static_cast<int>(call.attrs_as<TakeAddAttrs>().axis));
  const TakeAddScratch scratch(call);
  const DType dtype = call.in[0].dtype;
  const std::int64_t taken = call.in[1].count(),
                     width = around.inner == 0 ? 1 : pack_width(size_of(dtype), around.inner);
  write_keys(text, call, 1, around.size);
  text.type("T", dtype);
  text.number("width", width);
  text.number("threads", call_threads);
  text.number("piece", piece);
  text.number("most_sorted", most_sorted);
  text.number("long_blocks", scratch.long_blocks);
  text.flag("onto", call.in.size() == 3);
  text.count("outer", around.outer);
  text.count("inner", around.inner);
  text.count("taken", taken);
  text.line("  static constexpr long long lists_bytes = {};", scratch.lists_bytes);
  const std::int64_t lists = call.out[0].count() == 0 ? 0 : 1;  // else there is nothing to add up
  text.launch_turns("take_add_clear", lists * (2 * around.size + 3));
  text.launch_turns("take_add_count", taken);
  text.launch("take_add_start", lists * ((around.size + call_threads - 1) / call_threads), call_threads,
              true);
  text.launch_turns("take_add_place", lists * taken);
  text.launch("take_add_sort", lists * (scratch.long_blocks + (taken + call_threads - 1) / call_threads),
              call_threads, scratch.long_blocks > 0);
  if (taken > piece)
    text.launch_turns("take_add_pieces",
                      lists * ((taken + piece - 1) / piece) * around.outer * around.inner / width);
  text.launch_turns("take_add_sum", call.out[0].count() / width);
  return text.finish();
}
std::int64_t take_add_scratch(const Call& call) {
  const TakeAddScratch scratch(call);
  return scratch.lists_bytes + scratch.pieces_bytes;
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
