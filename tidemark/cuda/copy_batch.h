// Copies that a loop asks for one after the other (the states that it keeps, or begins again from), as one
// kernel: beside the launch, copies of a few MiB cost a GPU next to nothing.
#pragma once
#include <array>
#include <cstdint>

#include "tidemark/cuda/kernel_text.h"

namespace tidemark::cuda {

class CopyBatch {
 public:
  static constexpr std::size_t most = 4;

  // False: those before it have to be done first, or it cannot be done together with them.
  bool add(std::uint64_t to, std::uint64_t from, std::int64_t bytes);
  void clear() { count_ = 0; }

  std::size_t count() const { return count_; }
  std::int64_t bytes() const { return bytes_; }  // of each
  std::uint64_t to(std::size_t copy) const { return to_[copy]; }
  std::uint64_t from(std::size_t copy) const { return from_[copy]; }

  // As write_copies wants it: a GroupPointers<most, most>.
  std::array<std::uint64_t, 2 * most + 2> pointers() const;

 private:
  std::size_t count_ = 0;
  std::int64_t bytes_ = 0;
  std::array<std::uint64_t, most> to_ = {}, from_ = {};
};

// Of operand k to result k, as far as there is an operand, each as many bytes as `scratch` is as a number.
KernelText write_copies();

}  // namespace tidemark::cuda
