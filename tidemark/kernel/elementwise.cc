#include "tidemark/kernel/elementwise.h"

#include <algorithm>
#include <cstring>

#include "tidemark/kernel/tile_convert.h"

namespace tidemark {
namespace {

constexpr std::int64_t task_elements = 16384;
// Rows at least this long are handed to the tile row by row, so that a dense row needs no copy.
constexpr std::int64_t long_row = 64;

struct alignas(buffer_alignment) TileBuffer {
  std::byte bytes[tile_elements * 8];
  const std::byte* filled_with = nullptr;  // the element that the whole buffer repeats, if one does
};

struct Operand {
  enum Kind : std::uint8_t { dense, uniform, strided } kind = dense;
  const std::byte* data = nullptr;
  std::int64_t size = 0;  // bytes of a stored element
  Strides strides;        // along Walk::shape, in elements
  TileLoad load = nullptr;
  bool staged = false;  // stored otherwise than the tile reads
};

// The whole run, with dimensions merged where every operand allows it. Shared read-only by the tasks.
struct Walk {
  Shape shape;
  std::int64_t inner = 1;  // size of the last dimension
  std::array<Operand, max_tile_operands> operands;
  int count = 0;
  std::byte* out = nullptr;
  std::int64_t out_size = 0;
  TileStore store = nullptr;  // nullptr: the tile writes the result itself
  Tile tile = nullptr;
  const void* attributes = nullptr;
  bool cut_rows = false;    // tiles end at row ends
  bool any_buffer = false;  // some operand or the result passes through a buffer, which limits a tile
};

Strides broadcast_strides(const TensorRef& operand, const Shape& shape) {
  Strides strides = Strides::filled(shape.rank(), 0);
  const int offset = shape.rank() - operand.shape.rank();
  for (int i = 0; i < operand.shape.rank(); ++i) {
    if (operand.shape[i] != 1) strides[offset + i] = operand.strides[i];
  }
  return strides;
}

// Drops dimensions of size 1 and merges neighbours that every operand walks as one.
void collapse(Walk& walk, const Shape& shape) {
  std::array<Strides, max_tile_operands> merged;
  const auto mergeable = [&](int dimension) {
    for (int o = 0; o < walk.count; ++o) {
      const auto k = static_cast<std::size_t>(o);
      if (merged[k].back() != walk.operands[k].strides[dimension] * shape[dimension]) return false;
    }
    return true;
  };
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const bool merge = !walk.shape.empty() && mergeable(i);
    for (int o = 0; o < walk.count; ++o) {
      const auto k = static_cast<std::size_t>(o);
      const std::int64_t stride = walk.operands[k].strides[i];
      if (merge) {
        merged[k].back() = stride;
      } else {
        merged[k].push_back(stride);
      }
    }
    if (merge) {
      walk.shape.back() *= shape[i];
    } else {
      walk.shape.push_back(shape[i]);
    }
  }
  for (int o = 0; o < walk.count; ++o)
    walk.operands[static_cast<std::size_t>(o)].strides = merged[static_cast<std::size_t>(o)];
  walk.inner = walk.shape.empty() ? 1 : walk.shape.back();
}

Operand::Kind kind_of(const Operand& operand, const Shape& shape) {
  if (std::all_of(operand.strides.begin(), operand.strides.end(), [](std::int64_t s) { return s == 0; })) {
    return element_count(shape) == 1 ? Operand::dense : Operand::uniform;
  }
  return is_dense(shape, operand.strides) ? Operand::dense : Operand::strided;
}

// One element for a whole row.
bool uniform_in_rows(const Operand& operand) {
  return operand.kind == Operand::strided && operand.strides.back() == 0;
}
bool direct_in_rows(const Operand& operand) {
  return operand.kind == Operand::strided && operand.strides.back() == 1 && !operand.staged;
}

Walk make_walk(const KernelArgs& args, Tile tile, Staging staging) {
  const bool widen = staging == Staging::compute;
  Walk walk;
  walk.tile = tile;
  walk.attributes = args.attributes;
  const TensorRef& out = args.out[0];
  walk.out = out.data;
  walk.out_size = size_of(out.dtype);
  walk.store = widen ? tile_store(out.dtype) : nullptr;
  walk.count = static_cast<int>(args.in.size());
  TM_CHECK(walk.count <= max_tile_operands);
  for (std::size_t k = 0; k < args.in.size(); ++k) {
    const TensorRef& in = args.in[k];
    walk.operands[k] = {.data = in.data,
                        .size = size_of(in.dtype),
                        .strides = broadcast_strides(in, out.shape),
                        .load = tile_load(in.dtype, widen),
                        .staged = widen && compute_dtype(in.dtype) != in.dtype};
  }
  collapse(walk, out.shape);
  walk.any_buffer = walk.store != nullptr;
  for (std::size_t k = 0; k < args.in.size(); ++k) {
    Operand& operand = walk.operands[k];
    operand.kind = kind_of(operand, walk.shape);
    walk.cut_rows |= walk.inner >= long_row && (direct_in_rows(operand) || uniform_in_rows(operand));
  }
  for (std::size_t k = 0; k < args.in.size(); ++k) {
    const Operand& operand = walk.operands[k];
    const bool direct =
        operand.kind == Operand::dense ? !operand.staged : walk.cut_rows && direct_in_rows(operand);
    walk.any_buffer |= !direct;
  }
  return walk;
}

// Steps through the rows of a strided operand.
class Rows {
 public:
  Rows(const Walk& walk, const Operand& operand, std::int64_t row)
      : shape_(walk.shape), strides_(operand.strides) {
    at_ = Dims::filled(shape_.rank(), 0);
    for (int d = shape_.rank() - 2; d >= 0; --d) {
      at_[d] = row % shape_[d];
      row /= shape_[d];
      offset_ += at_[d] * strides_[d];
    }
  }
  std::int64_t offset() const { return offset_; }
  void next() {
    for (int d = shape_.rank() - 2; d >= 0; --d) {
      offset_ += strides_[d];
      if (++at_[d] < shape_[d]) return;
      offset_ -= at_[d] * strides_[d];
      at_[d] = 0;
    }
  }

 private:
  const Shape& shape_;
  const Strides& strides_;
  Dims at_;
  std::int64_t offset_ = 0;
};

// A buffer full of one element, filled only when the element changes.
const std::byte* repeat(const Operand& operand, const std::byte* element, TileBuffer& buffer) {
  if (buffer.filled_with != element) operand.load(element, 0, tile_elements, buffer.bytes);
  buffer.filled_with = element;
  return buffer.bytes;
}

// Elements [begin, begin + n) of the operand, as the tile reads them: in place where possible, else in `buffer`.
const std::byte* fetch(const Walk& walk, const Operand& operand, std::int64_t begin, std::int64_t n,
                       TileBuffer& buffer) {
  if (operand.kind == Operand::uniform) return repeat(operand, operand.data, buffer);
  if (operand.kind == Operand::dense) {
    const std::byte* data = operand.data + begin * operand.size;
    if (!operand.staged) return data;
    operand.load(data, 1, n, buffer.bytes);
    return buffer.bytes;
  }
  const std::int64_t stride = operand.strides.back();
  Rows rows(walk, operand, begin / walk.inner);
  std::int64_t column = begin % walk.inner;
  const auto address = [&] { return operand.data + (rows.offset() + column * stride) * operand.size; };
  if (walk.cut_rows && direct_in_rows(operand)) return address();
  if (walk.cut_rows && uniform_in_rows(operand)) return repeat(operand, address(), buffer);
  const std::int64_t width = operand.staged ? size_of(DType::f32) : operand.size;
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t piece = std::min(n - done, walk.inner - column);
    operand.load(address(), stride, piece, buffer.bytes + done * width);
    done += piece;
    column = 0;
    rows.next();
  }
  return buffer.bytes;
}

void run_task(const Walk& walk, std::int64_t begin, std::int64_t end) {
  TileBuffer buffers[max_tile_operands];
  TileBuffer result;
  TileArgs args{.attributes = walk.attributes};
  while (begin < end) {
    std::int64_t n = end - begin;
    if (walk.any_buffer) n = std::min(n, tile_elements);
    if (walk.cut_rows) n = std::min(n, walk.inner - begin % walk.inner);
    for (int o = 0; o < walk.count; ++o) {
      const auto k = static_cast<std::size_t>(o);
      args.in[k] = fetch(walk, walk.operands[k], begin, n, buffers[k]);
    }
    std::byte* const out = walk.out + begin * walk.out_size;
    args.out = walk.store ? result.bytes : out;
    args.n = n;
    walk.tile(args);
    if (walk.store) walk.store(result.bytes, n, out);
    begin += n;
  }
}

}  // namespace

void run_elementwise(const KernelArgs& args, Tile tile, Staging staging) {
  const Walk walk = make_walk(args, tile, staging);
  parallel_for(*args.pool, args.out[0].count(), task_elements,
               [&](std::int64_t begin, std::int64_t end) { run_task(walk, begin, end); });
}

}  // namespace tidemark
