// Values in files in fewer bytes: blocks (cpu/block_compression.h) one behind the other, each behind four
// bytes that say how many it takes; one that does not shrink lies there as it is. They pass through memory
// that is made with the file, in pieces of whole pages, and take no more of the file than the value would.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>

#include "tidemark/cpu/block_compression.h"
#include "tidemark/cpu/file_memory.h"

namespace tidemark {

// How a value lies in a file.
struct StoredValue {
  std::int64_t bytes = 0;  // in the file, from where it begins
  std::uint64_t sum = 0;   // of these, piece by piece, each with that of the pieces before it as its seed
};

// What blocks of a sample took: a share of their bytes, and a processor's seconds per byte there and back.
struct CompressionSample {
  float share = 1, seconds = 0;
};

// The memory, for one value each way at a time; who comes second waits.
class FileCompressor {
 public:
  FileCompressor();

  // In fewer bytes. None: it does not shrink. Something was written then, or nothing.
  // Throws what the file's own `write` does.
  std::optional<StoredValue> write(FileMemory& file, std::int64_t offset, std::span<const std::byte> value,
                                   std::size_t width);
  // False: these are not the bytes that were written; `value` has anything in it then. Throws what the
  // file's own `read` does.
  bool read(FileMemory& file, std::int64_t offset, const StoredValue& stored, std::span<std::byte> value,
            std::size_t width);
  // A few blocks of the value, there and back, and nothing written.
  CompressionSample sample(std::span<const std::byte> value, std::size_t width);

 private:
  struct Out {
    std::mutex mutex;
    BlockCompressor compressor;
    AlignedBytes memory;
    std::byte* window = nullptr;  // on a page, with room behind it for what is left over
  };
  struct In {
    std::mutex mutex;
    BlockExpander expander;
    AlignedBytes memory;
    std::byte* window = nullptr;  // on a page, with room before it for what is left over
  };
  Out out_;
  In in_;
};

}  // namespace tidemark
