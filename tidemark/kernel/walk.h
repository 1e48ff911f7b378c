// One shape walked in row-major order by operands that are broadcast to it or lie in memory with strides.
// Made once, before anything runs: dimensions are merged wherever every operand allows it.
#pragma once
#include <vector>

#include "tidemark/kernel/args.h"

namespace tidemark {

struct WalkedOperand {
  enum Kind : std::uint8_t {
    dense,    // element k of the walk is element k in memory
    uniform,  // one element for the whole walk
    strided,
  };
  Kind kind = dense;
  std::int64_t size = 0;  // bytes of an element
  Strides strides;        // along Walk::shape, in elements
  // With Walk::cut_rows, of a strided operand: its elements lie side by side, or it is one element, in a row.
  bool direct_in_rows = false, uniform_in_rows = false;
};

struct Walk {
  // Operands' shapes broadcast to `shape`.
  Walk(const Shape& shape, std::span<const TensorRef> operands);

  Shape shape;  // merged
  std::int64_t count = 1;
  std::int64_t inner = 1;  // size of the last dimension: of a row
  std::vector<WalkedOperand> operands;
  bool cut_rows = false;  // pieces end at row ends, so that more operands need no copy
};

// Steps through the rows of a strided operand.
class WalkRows {
 public:
  WalkRows(const Walk& walk, const WalkedOperand& operand, std::int64_t row);
  std::int64_t offset() const { return offset_; }  // of the row's first element, in elements
  void next();

 private:
  const Shape& shape_;
  const Strides& strides_;
  Dims at_;
  std::int64_t offset_ = 0;
};

}  // namespace tidemark
