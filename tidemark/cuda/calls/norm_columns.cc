// Sums of batch norms whose channels are columns (device/norm_columns.h).
#include "tidemark/ops/normalization/norm_columns.h"

#include <algorithm>
#include <bit>

#include "tidemark/cuda/calls/call_text.h"
#include "tidemark/cuda/calls/family.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

constexpr int column_threads = 256, total_columns = 4;  // as in device/norm_columns.h
constexpr std::int64_t busy_column_blocks = 1056;       // that keep a GPU busy
constexpr std::int64_t least_column_rows = 8;           // of a thread

// Slabs follow from the shape alone.
struct ColumnSlabs {
  std::int64_t rows, n, width, across, tiles, slabs, slab_rows;

  explicit ColumnSlabs(const Call& call) : rows(columns_form(call).rows), n(columns_form(call).columns) {
    width = pack_width(size_of(call.in[0].dtype), n);
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

KernelText write_columns(const Call& call, std::string_view name, std::string_view sums,
                         std::string_view totals) {
  CallText text(call, name, "norm_columns");
  const ColumnSlabs cut(call);
  text.type("T", call.in[0].dtype);
  text.real("eps", call.attrs_as<BatchNormAttrs>().eps);
  text.number("width", cut.width);
  text.number("across", cut.across);
  text.flag("masked", call.in.size() == masked_slopes_operands);
  text.count("rows", cut.rows);
  text.count("n", cut.n);
  text.count("tiles", cut.tiles);
  text.count("slabs", cut.slabs);
  text.count("slab_rows", cut.slab_rows);
  text.launch(sums, cut.tiles * cut.slabs, column_threads, true);
  text.launch(totals, (cut.n + total_columns - 1) / total_columns, column_threads, true);
  return text.finish();
}
KernelText write_statistics(const Call& call, std::string_view name) {
  return write_columns(call, name, "column_sums", "column_statistics");
}
KernelText write_slopes(const Call& call, std::string_view name) {
  return write_columns(call, name, "column_slope_sums", "column_slopes");
}

std::int64_t columns_scratch(const Call& call) {
  const ColumnSlabs cut(call);
  return cut.slabs * 2 * cut.n * 8;
}
bool has_elements(const Call& call) { return call.in[0].count() > 0; }

}  // namespace

std::span<const CallRow> norm_column_calls() {
  static const CallRow rows[] = {
      {&op::column_statistics, {.write = write_statistics, .scratch = columns_scratch, .can = has_elements}},
      {&op::column_slopes, {.write = write_slopes, .scratch = columns_scratch, .can = has_elements}},
  };
  return rows;
}

}  // namespace tidemark::cuda
