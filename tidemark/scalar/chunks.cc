#include "tidemark/scalar/chunks.h"

#include <cstring>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tidemark::scalars {

Chunks::Chunks(Chunks&& other) noexcept
    : chunks_(std::exchange(other.chunks_, {})), bytes_(std::exchange(other.bytes_, 0)) {}

Chunks& Chunks::operator=(Chunks&& other) noexcept {
  if (this != &other) {
    shrink(0);
    chunks_ = std::exchange(other.chunks_, {});
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Chunks::~Chunks() { shrink(0); }

void Chunks::add(std::size_t bytes, bool written) {
  chunks_.reserve(chunks_.size() + 1);
  const std::size_t alignment = bytes >= largest ? largest : 64;
  auto* memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment)));
#ifdef __linux__
  if (bytes >= largest) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  const std::size_t zeros = written ? bytes : Chunk::margin;
  std::memset(memory + bytes - zeros, 0, zeros);
  chunks_.push_back({memory, alignment, bytes, memory, memory + bytes - Chunk::margin, written});
  bytes_ += bytes;
}

void Chunks::shrink(std::size_t count) {
  while (chunks_.size() > count) {
    bytes_ -= chunks_.back().bytes;
    ::operator delete(chunks_.back().begin, std::align_val_t(chunks_.back().alignment));
    chunks_.pop_back();
  }
}

}  // namespace tidemark::scalars
