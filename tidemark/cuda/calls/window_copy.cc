#include "tidemark/cuda/calls/window_copy.h"

#include <cstdlib>

namespace tidemark::cuda {
namespace {

constexpr std::int64_t least_side = 8;  // of a matrix that is worth tiles

bool divides(std::int64_t bytes, std::int64_t number) { return number % bytes == 0; }

}  // namespace

Window window_of(int number, const Strides& strides, const Dims& start, const Dims& step) {
  Window window{.number = number, .strides = strides};
  for (int d = 0; d < strides.rank(); ++d) {
    window.first += start[d] * strides[d];
    window.strides[d] = strides[d] * step[d];
  }
  return window;
}
Window whole_of(int number, const Strides& strides) { return {.number = number, .strides = strides}; }

WindowCopy::WindowCopy(const Shape& shape, DType dtype, const Window& from, const Window& to)
    : from_(from), to_(to), element_(size_of(dtype)) {
  join(shape);
  if (!is_transposed()) choose_chunk();
}

void WindowCopy::join(const Shape& shape) {
  for (int d = 0; d < shape.rank(); ++d) {
    count_ *= shape[d];
    if (shape[d] == 1) continue;
    const Dimension next{shape[d], from_.strides[d], to_.strides[d]};
    if (!dimensions_.empty() && dimensions_.back().from == next.size * next.from &&
        dimensions_.back().to == next.size * next.to) {
      dimensions_.back() = {dimensions_.back().size * next.size, next.from, next.to};
    } else {
      dimensions_.push_back(next);
    }
  }
}

// Is it a transposition of matrices, with neighbours along different dimensions?
bool WindowCopy::is_transposed() const {
  if (count_ == 0 || dimensions_.size() < 2) return false;
  const Dimension& last = dimensions_.back();
  if (last.to != 1 || last.from == 1 || last.size < least_side) return false;
  for (std::size_t d = 0; d + 1 < dimensions_.size(); ++d) {
    if (dimensions_[d].from == 1 && dimensions_[d].size >= least_side) return true;
  }
  return false;
}

void WindowCopy::choose_chunk() {
  chunk_ = element_;
  if (count_ == 0 || dimensions_.empty()) return;
  const Dimension& last = dimensions_.back();
  if (last.from != 1 || last.to != 1) return;
  const auto fits = [&](std::int64_t bytes) {
    bool all = divides(bytes, last.size * element_) && divides(bytes, from_.first * element_) &&
               divides(bytes, to_.first * element_);
    for (std::size_t d = 0; d + 1 < dimensions_.size(); ++d)
      all = all && divides(bytes, dimensions_[d].from * element_) &&
            divides(bytes, dimensions_[d].to * element_);
    return all;
  };
  while (chunk_ < most_pack_bytes && fits(2 * chunk_)) chunk_ *= 2;
}

void WindowCopy::write(CallText& text, std::string_view part) const {
  if (count_ == 0) return;
  std::int64_t reach = 0;
  for (const Dimension& d : dimensions_) reach += d.size * std::max(std::abs(d.from), std::abs(d.to));
  if (reach >= most_in_32_bits) text.widen_index();
  text.begin_part(part);
  text.number("operand", from_.number);
  text.number("result", to_.number);
  text.number("element", element_);
  text.line("  static constexpr long long from_first = {}, to_first = {};", from_.first, to_.first);
  if (chunk_ > 0) {
    write_chunks(text, part);
  } else {
    write_tiles(text, part);
  }
}

void WindowCopy::write_chunks(CallText& text, std::string_view part) const {
  const std::int64_t per_chunk = chunk_ / element_;
  JoinedDimensions from{}, to{};
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const bool last = d + 1 == dimensions_.size();
    const Dimension& dimension = dimensions_[d];
    const std::int64_t size = last ? dimension.size / per_chunk : dimension.size;
    from.push(size, last && per_chunk > 1 ? 1 : dimension.from / per_chunk);
    to.push(size, last && per_chunk > 1 ? 1 : dimension.to / per_chunk);
  }
  text.number("chunk", chunk_);
  text.count("count", count_ / per_chunk);
  text.offset("from_at", from);
  text.offset("to_at", to);
  text.end_part();
  text.launch_turns("copy_chunks", count_ / per_chunk, part);
}

void WindowCopy::write_tiles(CallText& text, std::string_view part) const {
  std::size_t across = 0;  // the dimension along which `from` has neighbours
  while (dimensions_[across].from != 1 || dimensions_[across].size < least_side) ++across;
  JoinedDimensions from{}, to{};
  std::int64_t batch = 1;
  for (std::size_t d = 0; d + 1 < dimensions_.size(); ++d) {
    if (d == across) continue;
    from.push(dimensions_[d].size, dimensions_[d].from);
    to.push(dimensions_[d].size, dimensions_[d].to);
    batch *= dimensions_[d].size;
  }
  const std::int64_t side = element_ <= 2 ? 64 : 32;  // tile_side of device/movement.h
  const std::int64_t rows = dimensions_[across].size, columns = dimensions_.back().size;
  const std::int64_t row_tiles = (rows + side - 1) / side, column_tiles = (columns + side - 1) / side;
  text.count("rows", rows);
  text.count("columns", columns);
  text.count("from_step", dimensions_.back().from);
  text.count("to_step", dimensions_[across].to);
  text.count("row_tiles", row_tiles);
  text.count("column_tiles", column_tiles);
  text.offset("from_at", from);
  text.offset("to_at", to);
  text.end_part();
  text.launch("transpose_tiles", batch * row_tiles * column_tiles, call_threads, true, part);
}

}  // namespace tidemark::cuda
