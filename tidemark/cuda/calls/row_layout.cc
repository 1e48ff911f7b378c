#include "tidemark/cuda/calls/row_layout.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tidemark::cuda {
namespace {

constexpr int warp = 32, most_threads = 1024, usual_threads = 256, streaming_threads = 512;
constexpr int column_team = 8;
// Blocks of few rows end one by one and leave room for the next: an H200 normalises rows of 2 KiB 9 to 13%
// faster with two in a block than with eight. With less than this in a block, beginning blocks takes longest.
constexpr std::int64_t least_block_bytes = 3 << 10;
constexpr std::int64_t long_row = 2048;  // from here on it pays to look for an aligned beginning

// Elements of a row that a thread should hold: an H200 goes over rows of 16-bit elements 5 to 10% faster with
// two packs in each thread than with four, and than with one.
constexpr std::int64_t preferred_held = 16;
// Those that it may hold without running out of registers.
std::int64_t most_held(std::int64_t size, int team, int reads) {
  return (size == 8 ? 16 : 32) / (team > usual_threads ? reads : 1);
}

bool steps_in(const JoinedDimensions& dimensions, int from, std::int64_t width) {
  for (int d = from; d >= 0; --d) {
    if (dimensions.step[d] % width != 0) return false;
  }
  return true;
}

}  // namespace

RowLayout::RowLayout(const Shape& shape, std::span<const bool> in_row, std::span<const Strides> strides,
                     int read, DType dtype, RowPasses passes)
    : reads(read) {
  for (const Strides& list : strides) {
    JoinedDimensions kept{}, elements{};
    for (int d = 0; d < shape.rank(); ++d)
      (in_row[static_cast<std::size_t>(d)] ? elements : kept).push(shape[d], list[d]);
    rows = kept.count, n = elements.count;
    row_dims.push_back(kept), element_dims.push_back(elements);
  }
  const std::int64_t size = size_of(dtype);
  const int widest = static_cast<int>(most_pack_bytes / size);
  width = widest;
  while (width > 1 && !moves_in_packs(width)) width /= 2;
  if (n == 0 || rows == 0) {
    width = 1;
    return;
  }
  if (width < widest && n >= long_row && is_dense()) {
    width = widest, shifted = true, team = threads = streaming_threads;
    return;
  }
  choose_team(size, passes);
}

bool RowLayout::moves_in_packs(std::int64_t of_width) const {
  for (std::size_t k = 0; k < row_dims.size(); ++k) {
    const JoinedDimensions& elements = element_dims[k];
    const int last = elements.rank - 1;
    if (last < 0 || elements.step[last] != 1 || elements.size[last] % of_width != 0) return false;
    if (!steps_in(elements, last - 1, of_width) || !steps_in(row_dims[k], row_dims[k].rank - 1, of_width))
      return false;
  }
  return true;
}

bool RowLayout::is_dense() const {
  for (std::size_t k = 0; k < row_dims.size(); ++k) {
    const JoinedDimensions &elements = element_dims[k], &kept = row_dims[k];
    if (elements.rank != 1 || elements.step[0] != 1 || kept.rank > 1) return false;
    if (kept.rank == 1 && kept.step[0] != n) return false;
  }
  return true;
}

void RowLayout::choose_team(std::int64_t size, RowPasses passes) {
  const JoinedDimensions &kept = row_dims[0], &elements = element_dims[0];
  columns = width == 1 && kept.rank > 0 && elements.rank > 0 &&
            std::abs(kept.step[kept.rank - 1]) < std::abs(elements.step[elements.rank - 1]);
  if (columns) {
    team = n >= 4 * column_team ? column_team : 1;
    return;
  }
  const std::int64_t in_packs = (n + width - 1) / width;
  const auto held_by = [&](int threads_of_team) {
    return (in_packs + threads_of_team - 1) / threads_of_team * width;
  };
  const auto may_hold = [&](int threads_of_team) {
    return held_by(threads_of_team) <= most_held(size, threads_of_team, reads);
  };
  const int largest = passes == RowPasses::one ? usual_threads : most_threads;
  // Half a warp at least, if there are so many packs: neighbours read neighbours.
  team = static_cast<int>(std::min<std::int64_t>(
      warp / 2, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(in_packs)))));
  while (team < largest && !(held_by(team) <= preferred_held && may_hold(team))) team *= 2;
  // Half as many, where only of so many none has less to do.
  if (team > warp / 2 && in_packs % team != 0 && in_packs % (team / 2) == 0 && may_hold(team / 2)) team /= 2;
  if (may_hold(team)) {
    packs = static_cast<int>((in_packs + team - 1) / team);
  } else {
    team = streaming_threads;
  }
  if (team > warp) threads = team;
  if (team <= warp && packs > 0) {
    const std::int64_t wanted = (least_block_bytes + n * size - 1) / (n * size);
    const auto teams = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
    threads = static_cast<int>(std::clamp<std::int64_t>(team * teams, 2 * warp, usual_threads));
  }
}

void RowLayout::write(CallText& text) const {
  for (std::size_t k = 0; k < row_dims.size(); ++k) {
    std::int64_t reach = 0;
    for (const JoinedDimensions* list : {&row_dims[k], &element_dims[k]}) {
      for (int d = 0; d < list->rank; ++d) reach += std::abs(list->step[d]) * (list->size[d] - 1);
    }
    if (reach >= most_in_32_bits) text.widen_index();
  }
  text.count("rows", rows);
  text.count("n", n);
  text.number("reads", reads);
  text.number("width", width);
  text.number("team", team);
  text.number("threads", threads);
  text.number("packs", packs);
  text.flag("columns", columns);
  text.flag("shifted", shifted);
  std::string row_at = "0", element_at = "0";
  for (std::size_t k = row_dims.size(); k-- > 0;) {
    text.offset(fmt::format("row_at{}", k), row_dims[k]);
    text.offset(fmt::format("element_at{}", k), element_dims[k]);
    row_at = fmt::format("k == {} ? row_at{}(i) : {}", k, k, row_at);
    element_at = fmt::format("k == {} ? element_at{}(i) : {}", k, k, element_at);
  }
  text.line("  static Index row_at(int k, Index i) {{ return {}; }}", row_at);
  text.line("  static Index element_at(int k, Index i) {{ return {}; }}", element_at);
}

void write_rows(CallText& text, const RowLayout& layout, DType dtype, const RowOperands& operands) {
  constexpr std::int64_t short_sum = 256;  // of one thread, for the sake of digits
  text.type("T", dtype);
  const bool in_double = dtype == DType::f64 || layout.n / layout.team > short_sum;
  text.type("Sum", in_double ? DType::f64 : DType::f32);
  layout.write(text);
  std::string number = "0", aligned = "true";
  const auto align = [&](std::string_view place, int i) {
    if (layout.width > 1)
      aligned += fmt::format(" && is_aligned<width>(static_cast<const T*>(at.{}[{}]))", place, i);
  };
  for (std::size_t k = 0; k < operands.reads.size(); ++k) {
    number = fmt::format("k == {} ? {} : {}", k, operands.reads[k], number);
    align("in", operands.reads[k]);
  }
  for (const int operand : operands.along) align("in", operand);
  if (operands.writes) align("out", 0);
  text.line("  static constexpr int operand(int k) {{ return {}; }}", number);
  text.line("  static bool aligned(const Pointers& at) {{ return {}; }}", aligned);
}

std::int64_t RowLayout::blocks() const {
  const std::int64_t per_block = threads / team;
  return (rows + per_block - 1) / per_block;
}

RowLayout rows_along(const Shape& shape, std::int64_t axis, int reads, int writes, DType dtype,
                     RowPasses passes) {
  bool in_row[max_rank] = {};
  in_row[axis] = true;
  const std::vector<Strides> strides(static_cast<std::size_t>(reads + writes), dense_strides(shape));
  return {shape, in_row, strides, reads, dtype, passes};
}

}  // namespace tidemark::cuda
