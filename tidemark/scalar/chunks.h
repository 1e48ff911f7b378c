// The memory of a recording: chunks, each filled from both ends by a Recorder, kept and used again by the
// next recording. Large ones ask for large pages, since a first recording otherwise takes longer than a
// later one by the page faults alone.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tidemark::scalars {

struct Chunk {
  std::byte* begin = nullptr;
  std::size_t alignment = 0, bytes = 0;
  // Where what was written ends, while it is not the chunk that is being written.
  std::byte* partials_end = nullptr;
  std::byte* codes_begin = nullptr;
  bool written = false;  // all of it, by some recording
  // Behind it there are some zeros, so that what is expected at first is nothing.
  static constexpr std::size_t margin = 8;
  std::byte* end() const { return begin + bytes - margin; }
};

class Chunks {
 public:
  Chunks() = default;
  Chunks(Chunks&& other) noexcept;
  Chunks& operator=(Chunks&& other) noexcept;
  ~Chunks();

  std::size_t size() const { return chunks_.size(); }
  Chunk& operator[](std::size_t i) { return chunks_[i]; }
  const Chunk& operator[](std::size_t i) const { return chunks_[i]; }
  std::size_t bytes() const { return bytes_; }
  // One more, of this many bytes; `written`: with zeros. Throws std::bad_alloc.
  void add(std::size_t bytes, bool written);
  // Gives back those behind the first `count`.
  void shrink(std::size_t count);

  static constexpr std::size_t smallest = std::size_t{4} << 10, first = std::size_t{64} << 10,
                               largest = std::size_t{2} << 20;
  // Of the next chunk, where there are so many bytes: they double until a large page is worth having.
  static constexpr std::size_t next_size(std::size_t bytes) {
    return bytes < 4 * first ? std::max(bytes, first) : largest;
  }

 private:
  std::vector<Chunk> chunks_;
  std::size_t bytes_ = 0;
};

}  // namespace tidemark::scalars
