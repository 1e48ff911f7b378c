// Blocks of elements in fewer bytes, exactly: the bytes sorted by their place in the element
// (kernel/byte_shuffle.h), then LZ4. All memory is made with the object, none while it works.
//
// Why LZ4: on a Neoverse V1 core, what a GPT (a ResNet) keeps in f32 shrinks to 0.92 (0.90) at 1.2 GB/s and
// back at 4.9; Zstandard at level 1 gets 0.86 (0.83) at 0.6 and 1.0, at level -7 0.91 (0.89) at 1.0 and 2.8.
// The last bits of such numbers are noise to any of them. What shrinks well (zeros, small integers) LZ4 takes
// at 6 GB/s and more, and what does not shrink at all, unsorted, at 8.
#pragma once
#include <cstddef>
#include <span>

#include "tidemark/base/aligned.h"

namespace tidemark {

// The most bytes of a block. LZ4 looks back so far and no further, and its tables are small for it.
inline constexpr std::size_t compression_block_bytes = 64 << 10;

class BlockCompressor {
 public:
  BlockCompressor();
  // How many bytes of `to` the block takes; 0: it takes more than there are. `width`: bytes of an element.
  std::size_t compress(std::size_t width, std::span<const std::byte> block, std::span<std::byte> to);

 private:
  AlignedBytes state_, planes_;
};

class BlockExpander {
 public:
  BlockExpander();
  // False: these bytes are no block of so many. Whatever they are, nothing beside `block` is written, which
  // has anything in it then.
  bool expand(std::size_t width, std::span<const std::byte> from, std::span<std::byte> block);

 private:
  AlignedBytes planes_;
};

}  // namespace tidemark
