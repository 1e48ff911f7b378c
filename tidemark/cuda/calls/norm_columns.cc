#include "tidemark/cuda/calls/norm_columns.h"

#include <algorithm>
#include <bit>

#include "tidemark/cuda/calls/call_text.h"

namespace tidemark::cuda {
namespace {

constexpr int column_threads = 256, total_columns = 32;  // as in device/norm_columns.h
constexpr std::int64_t busy_column_blocks = 1056;        // that keep a GPU busy
constexpr std::int64_t least_column_rows = 8;            // of a thread

// Slabs follow from the shape alone.
struct ColumnSlabs {
  std::int64_t rows, n, width, across, tiles, slabs, slab_rows;

  ColumnSlabs(const NormForm& form, DType dtype) : rows(form.n), n(form.g) {
    width = pack_width(size_of(dtype), n);
    across = std::min<std::int64_t>(
        32, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n / width))));
    tiles = (n + across * width - 1) / (across * width);
    const std::int64_t in_turn = column_threads / across * least_column_rows;
    const std::int64_t wanted =
        std::max<std::int64_t>(1, std::min(busy_column_blocks / tiles, (rows + in_turn - 1) / in_turn));
    slab_rows = (rows + wanted - 1) / wanted;
    slabs = (rows + slab_rows - 1) / slab_rows;
  }
};

}  // namespace

bool are_columns(const NormForm& form) {
  return form.across_batch && form.s == 1 && form.k == 1 && form.n > 0 && form.g > 0;
}

KernelText write_norm_columns(const Call& call, const NormForm& form, NormPart part, std::string_view name) {
  CallText text(call, name, "norm_columns");
  const DType dtype = call.in[0].dtype;
  const ColumnSlabs cut(form, dtype);
  text.type("T", dtype);
  text.real("eps", form.eps);
  text.number("width", cut.width);
  text.number("across", cut.across);
  text.number("gradient", static_cast<std::int64_t>(call.in.size()) - 1);
  text.count("rows", cut.rows);
  text.count("n", cut.n);
  text.count("tiles", cut.tiles);
  text.count("slabs", cut.slabs);
  text.count("slab_rows", cut.slab_rows);
  const std::int64_t blocks = cut.tiles * cut.slabs, totals = (cut.n + total_columns - 1) / total_columns;
  switch (part) {
    case NormPart::forward:
      text.launch("norm_columns_sums", blocks, column_threads, true);
      text.launch("norm_columns_statistics", totals, column_threads, true);
      text.launch("norm_columns_apply", blocks, column_threads, false);
      break;
    case NormPart::gradient:
      text.launch("norm_columns_grad_sums", blocks, column_threads, true);
      text.launch("norm_columns_grad_totals", totals, column_threads, true);
      text.launch("norm_columns_grad", blocks, column_threads, false);
      break;
    case NormPart::parameters:
      text.launch("norm_columns_grad_sums", blocks, column_threads, true);
      text.launch("norm_columns_params", totals, column_threads, true);
      break;
  }
  return text.finish();
}

std::int64_t norm_columns_scratch(const Call& call, const NormForm& form) {
  const ColumnSlabs cut(form, call.in[0].dtype);
  return (cut.slabs + 1) * 2 * cut.n * 8;
}

}  // namespace tidemark::cuda
