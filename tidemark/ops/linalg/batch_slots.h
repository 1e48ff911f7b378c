// The matrices of a batch, a few at a time: each slot has a workspace of its own in the kernel's scratch and
// takes every so-many-th matrix. Slots depend on the shape alone, so scratch is known when a call is planned
// and bits depend on no number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <limits>

#include "tidemark/kernel/args.h"

namespace tidemark {

// What a workspace of so many bytes takes, such that the next one is aligned.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

struct BatchSlots {
  BatchSlots(std::int64_t matrices, std::int64_t slot_bytes)
      : matrices(matrices), slots(std::min<std::int64_t>(matrices, 8)), slot_bytes(slot_bytes) {}
  std::int64_t bytes() const { return slots * slot_bytes; }

  // body(index of a matrix, the workspace) for every matrix.
  template <class Body>
  void run(const KernelArgs& args, const Body& body) const {
    args.pool->run(slots, [&](std::int64_t slot) {
      for (std::int64_t index = slot; index < matrices; index += slots)
        body(index, args.scratch + slot * slot_bytes);
    });
  }

  std::int64_t matrices, slots;
  std::int64_t slot_bytes;  // a multiple of buffer_alignment
};

// Cuts a workspace into aligned parts.
template <class T>
T* take_part(std::byte*& workspace, std::int64_t count) {
  T* part = reinterpret_cast<T*>(workspace);
  workspace += aligned_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  return part;
}

// The smallest of the numbers noted, from whichever threads: so an error is the same on any number of them.
class FirstFailure {
 public:
  void note(std::int64_t number) {
    for (std::int64_t seen = first_; number < seen && !first_.compare_exchange_weak(seen, number);) {
    }
  }
  bool any() const { return number() != none; }
  std::int64_t number() const { return first_; }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_{none};
};

}  // namespace tidemark
