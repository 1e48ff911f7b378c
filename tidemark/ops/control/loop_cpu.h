// What the kernels of loops share: pieces of scratch, copies.
#pragma once
#include <cstring>

#include "tidemark/base/bytes.h"
#include "tidemark/ir/type.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

// Hands out a kernel's scratch piece by piece, in the order its op's claim adds them up.
class ScratchPieces {
 public:
  explicit ScratchPieces(std::byte* at) : at_(at) {}
  std::byte* take(std::int64_t bytes) {
    std::byte* piece = at_;
    at_ += align_up(bytes, buffer_alignment);
    return piece;
  }
  std::byte** take_pointers(std::size_t count) {
    return reinterpret_cast<std::byte**>(take(static_cast<std::int64_t>(count * sizeof(std::byte*))));
  }

 private:
  std::byte* at_;
};

inline void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace tidemark
