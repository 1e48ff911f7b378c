#include "tidemark/cuda/recorder.h"

#include <algorithm>

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

void Recorder::begin() {
  hazards_ = {};
  also_.clear();
  ends_.clear();
  is_recording_ = true;
}

void Recorder::begin_piece(std::span<const Access> accesses) {
  std::vector<CUgraphNode> before;
  for (const std::size_t other : hazards_.add(accesses, also_))
    before.insert(before.end(), ends_[other].begin(), ends_[other].end());
  std::ranges::sort(before);  // pieces that put nothing in end with what they follow
  before.erase(std::ranges::unique(before).begin(), before.end());
  stream_.follow(before);
}

}  // namespace tidemark::cuda

#endif
