// How rows are shared among threads (device/rows.h): a tensor's dimensions are kept, and number the rows, or
// are a row's elements. Follows from shapes and strides alone.
//
//   short rows          a team of up to 32 threads of a warp each, several in a block
//   longer ones         a block each; both hold their row in registers, so that memory is read once
//   those too long      a block each, which reads again what it needs twice
//   columns             neighbours in memory belong to different rows: 32 rows side by side in a block
#pragma once
#include <span>
#include <vector>

#include "tidemark/cuda/calls/call_text.h"

namespace tidemark::cuda {

// How often a body goes over a row. Where it does so once, a long row is not held: small blocks, of which
// several are on their way, keep the memory busy while others compute.
enum class RowPasses : std::uint8_t { one, several };

struct RowLayout {
  // `strides`: of all operands and results of this shape, of which the first `reads` are read.
  RowLayout(const Shape& shape, std::span<const bool> in_row, std::span<const Strides> strides, int reads,
            DType dtype, RowPasses passes = RowPasses::several);

  void write(CallText& text) const;  // the constants that device/rows.h asks for
  std::int64_t blocks() const;

  std::int64_t rows = 1, n = 1;
  std::vector<JoinedDimensions> row_dims, element_dims;  // of each
  int reads;
  int width = 1;  // of a pack, in elements
  int team = 1, threads = 256;
  int packs = 0;  // that a thread holds; 0: none
  bool columns = false;
  bool shifted = false;  // packs begin where an address allows it, not where rows do

 private:
  bool moves_in_packs(std::int64_t of_width) const;
  bool is_dense() const;
  void choose_team(std::int64_t size, RowPasses passes);
};

// Numbers of operands: those that are read along rows, those that are like one row. `writes`: a result of
// their shape.
struct RowOperands {
  std::vector<int> reads = {};
  bool writes = false;
  std::vector<int> along = {};
};
// All that the bodies of device/rows.h ask for.
void write_rows(CallText& text, const RowLayout& layout, DType dtype, const RowOperands& operands);

// The same for rows along the axis, or of the last dimensions, of dense tensors.
RowLayout rows_along(const Shape& shape, std::int64_t axis, int reads, int writes, DType dtype,
                     RowPasses passes = RowPasses::several);

}  // namespace tidemark::cuda
