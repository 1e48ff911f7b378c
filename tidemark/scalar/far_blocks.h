// Blocks with operands that are far from their statements: known while recording, so that what the
// reversal takes is known as well.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "tidemark/scalar/ids.h"

namespace tidemark::scalars {

inline constexpr int block_bits = 9;
inline constexpr Id block_size = Id{1} << block_bits;

class FarBlocks {
 public:
  void mark(Id index) {
    const Id block = index >> block_bits;
    if (block >= marked_.size()) marked_.resize(std::max<std::size_t>(block + 1, 2 * marked_.size()), 0);
    count_ += marked_[block] == 0;
    marked_[block] = 1;
  }
  bool holds(Id block) const { return block < marked_.size() && marked_[block] != 0; }
  std::size_t size() const { return marked_.size(); }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return marked_.capacity(); }
  void clear() {
    std::fill(marked_.begin(), marked_.end(), 0);
    count_ = 0;
  }

 private:
  std::vector<std::uint8_t> marked_;
  std::size_t count_ = 0;
};

}  // namespace tidemark::scalars
