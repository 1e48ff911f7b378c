#include "tidemark/kernel/walk.h"

#include <algorithm>

namespace tidemark {
namespace {

// Rows at least this long are taken one by one, so that a dense row needs no copy.
constexpr std::int64_t long_row = 64;

Strides broadcast_strides(const TensorRef& operand, const Shape& shape) {
  Strides strides = Strides::filled(shape.rank(), 0);
  const int offset = shape.rank() - operand.shape.rank();
  for (int i = 0; i < operand.shape.rank(); ++i) {
    if (operand.shape[i] != 1) strides[offset + i] = operand.strides[i];
  }
  return strides;
}

// Drops dimensions of size 1 and merges neighbours that every operand walks as one.
void merge_dimensions(Walk& walk, const Shape& shape) {
  std::vector<Strides> merged(walk.operands.size());
  const auto mergeable = [&](int dimension) {
    for (std::size_t k = 0; k < merged.size(); ++k) {
      if (merged[k].back() != walk.operands[k].strides[dimension] * shape[dimension]) return false;
    }
    return true;
  };
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const bool merge = !walk.shape.empty() && mergeable(i);
    for (std::size_t k = 0; k < merged.size(); ++k) {
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
  for (std::size_t k = 0; k < merged.size(); ++k) walk.operands[k].strides = merged[k];
}

WalkedOperand::Kind kind_of(const WalkedOperand& operand, const Walk& walk) {
  if (std::ranges::all_of(operand.strides, [](std::int64_t s) { return s == 0; }))
    return walk.count == 1 ? WalkedOperand::dense : WalkedOperand::uniform;
  return is_dense(walk.shape, operand.strides) ? WalkedOperand::dense : WalkedOperand::strided;
}

}  // namespace

Walk::Walk(const Shape& whole, std::span<const TensorRef> refs) : count(element_count(whole)) {
  for (const TensorRef& ref : refs) {
    operands.push_back({.size = size_of(ref.dtype), .strides = broadcast_strides(ref, whole)});
  }
  merge_dimensions(*this, whole);
  inner = shape.empty() ? 1 : shape.back();
  for (WalkedOperand& operand : operands) {
    operand.kind = kind_of(operand, *this);
    if (operand.kind != WalkedOperand::strided || inner < long_row) continue;
    operand.direct_in_rows = operand.strides.back() == 1;
    operand.uniform_in_rows = operand.strides.back() == 0;
    cut_rows |= operand.direct_in_rows || operand.uniform_in_rows;
  }
}

WalkRows::WalkRows(const Walk& walk, const WalkedOperand& operand, std::int64_t row)
    : shape_(walk.shape), strides_(operand.strides) {
  at_ = Dims::filled(shape_.rank(), 0);
  for (int d = shape_.rank() - 2; d >= 0; --d) {
    at_[d] = row % shape_[d];
    row /= shape_[d];
    offset_ += at_[d] * strides_[d];
  }
}

void WalkRows::next() {
  for (int d = shape_.rank() - 2; d >= 0; --d) {
    offset_ += strides_[d];
    if (++at_[d] < shape_[d]) return;
    offset_ -= at_[d] * strides_[d];
    at_[d] = 0;
  }
}

}  // namespace tidemark
