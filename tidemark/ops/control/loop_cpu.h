// What the kernels of loops and branches share: pieces of scratch, copies. They run on the host for every
// device, so they reach operands and scratch through these alone; what only they read (pointers, notes) is
// kept in the host's memory.
#pragma once
#include <algorithm>
#include <cstring>

#include "tidemark/base/bytes.h"
#include "tidemark/ir/type.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

// Hands out a kernel's scratch piece by piece, in the order its op's claim adds them up.
class ScratchPieces {
 public:
  explicit ScratchPieces(const KernelArgs& args)
      : at_(args.scratch), notes_(args.far ? args.far->notes : args.scratch) {}
  // For values, where those are.
  std::byte* take(std::int64_t bytes) { return advance(bytes).there; }
  // For what the host alone reads and writes.
  std::byte* take_notes(std::int64_t bytes) { return advance(bytes).here; }
  std::byte** take_pointers(std::size_t count) {
    return reinterpret_cast<std::byte**>(take_notes(static_cast<std::int64_t>(count * sizeof(std::byte*))));
  }

 private:
  struct Piece {
    std::byte *there, *here;
  };
  Piece advance(std::int64_t bytes) {
    const Piece piece{at_, notes_};
    const std::int64_t taken = align_up(bytes, buffer_alignment);
    at_ += taken, notes_ += taken;
    return piece;
  }
  std::byte *at_, *notes_;
};

inline void copy_bytes(const KernelArgs& args, std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes == 0 || to == from) return;
  if (args.far) return args.far->copy(args.far->self, to, from, bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

inline void clear_bytes(const KernelArgs& args, std::byte* to, std::int64_t bytes) {
  if (bytes == 0) return;
  if (args.far) return args.far->clear(args.far->self, to, bytes);
  std::memset(to, 0, static_cast<std::size_t>(bytes));
}

inline void swap_bytes(const KernelArgs& args, std::byte* a, std::byte* b, std::int64_t bytes) {
  if (args.far) return args.far->swap(args.far->self, a, b, bytes);
  std::swap_ranges(a, a + bytes, b);
}

// Numbers that the host reads in order to go on, or tells.
template <class T>
T fetch(const KernelArgs& args, const std::byte* from) {
  T value;
  auto* const to = reinterpret_cast<std::byte*>(&value);
  if (args.far) {
    args.far->fetch(args.far->self, to, from, sizeof(T));
  } else {
    std::memcpy(to, from, sizeof(T));
  }
  return value;
}

template <class T>
void put(const KernelArgs& args, std::byte* to, const T& value) {
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  if (args.far) return args.far->put(args.far->self, to, from, sizeof(T));
  std::memcpy(to, from, sizeof(T));
}

}  // namespace tidemark
