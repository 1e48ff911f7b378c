#include "tidemark/cpu/block_compression.h"

#include <lz4.h>

#include <algorithm>
#include <limits>

#include "tidemark/base/check.h"
#include "tidemark/kernel/byte_shuffle.h"

namespace tidemark {
namespace {

int lz4_count(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}
const char* lz4_bytes(const std::byte* bytes) { return reinterpret_cast<const char*>(bytes); }
char* lz4_bytes(std::byte* bytes) { return reinterpret_cast<char*>(bytes); }

}  // namespace

BlockCompressor::BlockCompressor()
    : state_(allocate_aligned(LZ4_sizeofState())),
      planes_(allocate_aligned(static_cast<std::int64_t>(compression_block_bytes))) {}

std::size_t BlockCompressor::compress(std::size_t width, std::span<const std::byte> block,
                                      std::span<std::byte> to) {
  TM_CHECK(block.size() <= compression_block_bytes, "a block of {} bytes", block.size());
  const std::byte* from = block.data();
  if (width > 1) {
    shuffle_bytes(width, block, planes_.get());
    from = planes_.get();
  }
  constexpr int acceleration = 1;
  return static_cast<std::size_t>(LZ4_compress_fast_extState(state_.get(), lz4_bytes(from),
                                                             lz4_bytes(to.data()), lz4_count(block.size()),
                                                             lz4_count(to.size()), acceleration));
}

BlockExpander::BlockExpander()
    : planes_(allocate_aligned(static_cast<std::int64_t>(compression_block_bytes))) {}

bool BlockExpander::expand(std::size_t width, std::span<const std::byte> from, std::span<std::byte> block) {
  TM_CHECK(block.size() <= compression_block_bytes, "a block of {} bytes", block.size());
  std::byte* const to = width > 1 ? planes_.get() : block.data();
  const int bytes = LZ4_decompress_safe(lz4_bytes(from.data()), lz4_bytes(to), lz4_count(from.size()),
                                        lz4_count(block.size()));
  if (bytes < 0 || static_cast<std::size_t>(bytes) != block.size()) return false;
  if (width > 1) unshuffle_bytes(width, {to, block.size()}, block.data());
  return true;
}

}  // namespace tidemark
