// Where adjoints lie during a reversal. Statements are reversed in the opposite of their order, so at any
// moment only adjoints of earlier statements are of use, and most that are added to are near. These lie in
// a ring, by index modulo its length, which is a power of two above the largest distance of a near
// operand: a slot is free again once its statement is reversed. Adjoints of operands far away lie in
// blocks of 512 statements, which are added to the ring when the reversal comes to them. So the adjoints
// of a long recording with short distances stay in a cache.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "tidemark/scalar/record.h"

namespace tidemark::scalar {

inline constexpr int block_bits = 9;
inline constexpr Id block_size = Id{1} << block_bits;
inline constexpr Id smallest_ring = 2 * block_size;

// Blocks with operands that are far from their statements: known while recording, so that what the
// reversal takes is known as well.
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

// A: an adjoint, or several side by side. All are zero between reversals.
template <class A>
class Adjoints {
 public:
  // For recordings whose near operands are within `near_seen`.
  void prepare(Id near_seen, const FarBlocks& far) {
    const Id wanted = std::max(smallest_ring, std::bit_ceil(near_seen + 1));
    if (ring_.size() < wanted) ring_.assign(wanted, A{});
    mask_ = ring_.size() - 1;
    blocks_.resize(std::max(blocks_.size(), far.size()), nullptr);
    if (pool_.size() < far.count()) pool_.reserve(far.count());
  }

  A& near(Id index) { return ring_[index & mask_]; }
  Id mask() const { return mask_; }
  A& far(Id index) {
    const Id block = index >> block_bits;
    if (block >= blocks_.size()) blocks_.resize(block + 1, nullptr);
    A*& at = blocks_[block];
    if (!at) at = take_block();
    return at[index & (block_size - 1)];
  }

  // The reversal comes to statement `index`, the last of its block or the first that it reverses: what was
  // added from far away goes to the ring, which is this block's now.
  void enter(Id index) {
    const Id block = index >> block_bits;
    if (block >= blocks_.size() || !blocks_[block]) return;
    A* from = blocks_[block];
    const Id first = block << block_bits;
    for (Id i = first; i <= index; ++i) {
      near(i) += from[i - first];
      from[i - first] = A{};
    }
    bool empty = true;
    for (Id i = index + 1; i < first + block_size; ++i) empty &= is_zero(from[i - first]);
    if (empty) {
      spare_.push_back(from);
      blocks_[block] = nullptr;
    }
  }

  // The reversal has ended in front of `index`: what waits in the ring for statements below it goes to
  // blocks, so that the ring can serve others.
  void leave(Id index) {
    const Id first = index > ring_.size() ? index - ring_.size() : 1;
    for (Id i = first; i < index; ++i) {
      A& at = near(i);
      if (is_zero(at)) continue;
      far(i) += at;
      at = A{};
    }
  }

  // After a reversal that ended early, by an error.
  void clear() {
    std::fill(ring_.begin(), ring_.end(), A{});
    for (A*& block : blocks_)
      if (block) {
        std::fill_n(block, block_size, A{});
        spare_.push_back(block);
        block = nullptr;
      }
  }

  std::size_t bytes() const {
    return ring_.capacity() * sizeof(A) + pool_.size() * block_size * sizeof(A) +
           blocks_.capacity() * sizeof(A*);
  }

 private:
  A* take_block() {
    if (spare_.empty()) {
      pool_.emplace_back(block_size);
      spare_.push_back(pool_.back().data());
    }
    A* block = spare_.back();
    spare_.pop_back();
    return block;
  }

  std::vector<A> ring_;
  Id mask_ = 0;
  std::vector<A*> blocks_;  // by index of the block; none where nothing was added
  std::vector<std::vector<A>> pool_;
  std::vector<A*> spare_;  // all zero
};

}  // namespace tidemark::scalar
