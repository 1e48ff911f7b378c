// Where adjoints lie during a reversal. Statements are reversed in the opposite of their order, so at any
// moment only adjoints of earlier statements are of use, and most that are added to are near. These lie in
// a ring, by index modulo its length, which is a power of two above the largest distance of a near
// operand: a slot is free again once its statement is reversed. Adjoints of operands far away lie in
// blocks of 512 statements, until they come within reach of the ring. So the adjoints of a long recording
// with short distances stay in a cache.
//
// An adjoint lies in one place at a time: in the ring from statement `low` on, in a block before it. It
// moves there whole, and what is added later is added to it there. So the order of its sum is always that
// of the statements, the last one first, and its bits depend neither on the length of the ring nor on
// where a reversal was interrupted.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "tidemark/scalar/far_blocks.h"
#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

inline constexpr Id smallest_ring = 2 * block_size, longest_ring = Id{1} << 18;
// Within a memory of so many adjoints: an eighth of it at most, and a sixteenth of a large memory, of which
// states are the better use.
constexpr Id ring_within(Id adjoints) {
  constexpr Id large = Id{1} << 16;
  const Id longest = std::clamp(std::bit_floor(adjoints / 16), large, longest_ring);
  return std::clamp(std::bit_floor(adjoints / 8), smallest_ring, longest);
}
// The ring's reach moves by so many statements at least, by a block at most.
inline constexpr Id smallest_stride = 32;

// The ring for operands no further away than `distance`.
constexpr Id ring_for(Id distance) {
  return std::max(smallest_ring, std::bit_ceil(distance + smallest_stride));
}

// A: an adjoint, or several side by side. All are zero between reversals.
template <class A>
class Adjoints {
 public:
  // Memory for sweeps whose near operands are within `distance`, and whose early ones have indices below
  // `early`. Not during a sweep.
  void prepare(Id distance, const FarBlocks& far, Id early) {
    const Id wanted = ring_for(distance);
    if (ring_.size() < wanted) {
      std::vector<A>().swap(ring_);  // not two of them at once
      ring_.assign(wanted, A{});
    }
    if (blocks_.size() < far.size()) blocks_.resize(far.size(), nullptr);
    if (pool_.size() < far.count()) pool_.reserve(far.count());
    if (early_.size() < early) keep_early((early + block_size - 1) & ~(block_size - 1));
  }

  A& near(Id index) { return ring_[index & mask_]; }
  Id mask() const { return mask_; }
  // The adjoints of early statements, by index, while all of them lie side by side there; or null.
  A* early() { return !early_.empty() && low_ >= early_.size() ? early_.data() : nullptr; }
  // A sweep is told of each statement that is the last one of as many.
  Id stride() const { return stride_; }
  // Wherever it lies at the moment.
  A& at(Id index) { return index >= low_ ? near(index) : far(index); }
  A take(Id index) {
    A& from = at(index);
    const A amount = from;
    from = A{};
    return amount;
  }
  Id low() const { return low_; }
  bool idle() const { return low_ == none; }

  // A sweep begins with statement `top`, or goes on with it: adjoints within reach move to the ring.
  void start(Id top, Id distance) {
    const Id size = ring_for(distance);
    mask_ = size - 1;
    stride_ = std::min(block_size, std::bit_floor(size - distance));
    low_ = none - 1;
    reach(top);
  }

  // The sweep comes to statement `index`, all above which are reversed.
  [[gnu::always_inline]] void reach(Id index) {
    const Id end = (index | (stride_ - 1)) + 1;
    const Id low = end > mask_ ? end - mask_ - 1 : 0;
    if (live_ > 0 || !early_.empty()) move_in(low, std::min(low_, index + 1));
    low_ = low;
  }

  // The sweep has ended in front of `index`: what waits in the ring for statements below it goes to
  // blocks, so that the ring can serve others.
  void leave(Id index) {
    for (Id i = low_; i < index; ++i) {
      A& from = near(i);
      if (is_zero(from)) continue;
      far(i) = from;
      from = A{};
    }
    low_ = none;
  }

  // After a reversal that ended early, by an error.
  void clear() {
    std::fill(ring_.begin(), ring_.end(), A{});
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i]) {
        std::fill_n(blocks_[i], block_size, A{});
        give_back(i);
      }
    low_ = none;
  }

  std::size_t bytes() const {
    return (ring_.capacity() + early_.capacity()) * sizeof(A) + pool_.size() * block_size * sizeof(A) +
           pool_.capacity() * sizeof(pool_[0]) + (blocks_.capacity() + spare_.capacity()) * sizeof(A*);
  }

 private:
  static constexpr Id none = ~Id{0};

  A& far(Id index) {
    const Id block = index >> block_bits;
    A* const there = block < blocks_.size() ? blocks_[block] : nullptr;
    return there ? there[index & (block_size - 1)] : new_far(index);
  }
  [[gnu::noinline]] A& new_far(Id index) {
    const Id block = index >> block_bits;
    if (block >= blocks_.size()) blocks_.resize(block + 1, nullptr);
    A*& at = blocks_[block];
    if (!at) at = take_block();
    return at[index & (block_size - 1)];
  }

  // What blocks have for statements from `low` to `end`, whose places in the ring are free.
  void move_in(Id low, Id end) {
    if (low >= end) return;
    const Id last = std::min<Id>((end - 1) >> block_bits, blocks_.size() - 1);
    for (Id block = low >> block_bits; block <= last; ++block) {
      A* const from = blocks_[block];
      if (!from) continue;
      const Id first = block << block_bits;
      for (Id i = std::max(low, first), stop = std::min(end, first + block_size); i < stop; ++i) {
        near(i) = from[i - first];
        from[i - first] = A{};
      }
      if (low <= first) give_back(block);
    }
  }

  // Blocks of early statements lie side by side and stay where they are.
  void keep_early(std::size_t size) {
    const std::size_t count = size >> block_bits;
    if (blocks_.size() < count) blocks_.resize(count, nullptr);
    std::vector<A> early(size);
    for (std::size_t i = 0; i < count; ++i) {
      A* const place = early.data() + i * block_size;
      if (blocks_[i]) {
        std::copy_n(blocks_[i], block_size, place);
        std::fill_n(blocks_[i], block_size, A{});
        give_back(i);
      }
      blocks_[i] = place;
    }
    early_ = std::move(early);
  }

  A* take_block() {
    if (spare_.empty()) {
      pool_.emplace_back(block_size);
      spare_.push_back(pool_.back().data());
    }
    A* block = spare_.back();
    spare_.pop_back();
    ++live_;
    return block;
  }
  void give_back(Id block) {
    if (block < early_.size() >> block_bits) return;
    spare_.push_back(blocks_[block]);
    blocks_[block] = nullptr;
    --live_;
  }

  std::vector<A> ring_;
  Id mask_ = 0, stride_ = block_size;
  Id low_ = none;           // from here on adjoints lie in the ring; none: all lie in blocks
  std::size_t live_ = 0;    // blocks of the pool in use
  std::vector<A> early_;    // the first blocks
  std::vector<A*> blocks_;  // by index of the block; none where nothing was added
  std::vector<std::vector<A>> pool_;
  std::vector<A*> spare_;  // all zero
};

}  // namespace tidemark::scalars
