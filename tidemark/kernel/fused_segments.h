// Which neighbouring instructions of a fused program become machine code.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tidemark/kernel/fused_code.h"

namespace tidemark {

// An instruction in single assignment.
struct SegmentStep {
  TileOp op = TileOp::other;
  std::vector<int> in;
  int out = 0;
};
struct SegmentValue {
  DType dtype = DType::f32;  // of the tile
  bool invariant = false;    // the same vector for a whole tile
  bool kept = false;         // needed when all steps are done
};

struct FoundSegment {
  std::size_t begin = 0, end = 0;  // of the steps
  std::shared_ptr<const MachineCode> code;
  std::vector<int> places;  // values, as MachineCode::run wants them
};
std::vector<FoundSegment> find_segments(std::span<const SegmentStep> steps,
                                        std::span<const SegmentValue> values);

}  // namespace tidemark
