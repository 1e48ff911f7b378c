// Which neighbouring instructions of a fused program become machine code.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tidemark/kernel/fused_code.h"

namespace tidemark {

// An instruction in single assignment.
struct RunStep {
  TileOp op = TileOp::other;
  std::vector<int> in;
  int out = 0;
};
struct RunValue {
  DType dtype = DType::f32;  // of the tile
  bool invariant = false;    // the same vector for a whole tile
  bool kept = false;         // needed when all steps are done
};

struct FoundRun {
  std::size_t begin = 0, end = 0;  // of the steps
  std::shared_ptr<const MachineCode> code;
  std::vector<int> places;  // values, as MachineCode::run wants them
};
std::vector<FoundRun> find_runs(std::span<const RunStep> steps, std::span<const RunValue> values);

}  // namespace tidemark
