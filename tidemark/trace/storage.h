// The memory behind a tensor that holds data. Usually its own; a result of a compiled function may still lie in that
// function's arena, and moves out (settle) when the arena is needed again or someone takes a pointer.
#pragma once
#include <cstdint>
#include <memory>

#include "tidemark/base/aligned.h"
#include "tidemark/base/source.h"

namespace tidemark {

class Storage {
 public:
  Storage(AlignedBytes own, std::int64_t bytes)
      : id(next_id()), own_(std::move(own)), data_(own_.get()), bytes_(bytes) {}
  // Memory that someone else keeps valid until settle() has been called.
  Storage(std::byte* borrowed, std::int64_t bytes) : id(next_id()), data_(borrowed), bytes_(bytes) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  bool settled() const { return own_ != nullptr; }
  void settle();  // from now on in memory of its own

  const std::uint64_t id;  // no other storage has it, in the whole run of the process

  // Bumped when a compiled function is given the memory to overwrite; handles made before see that they are stale.
  std::uint32_t version = 0;
  SourceLine donated_at = {};
  bool half_written = false;  // the function it was given to failed in the middle of overwriting it

 private:
  static std::uint64_t next_id();

  AlignedBytes own_;
  std::byte* data_;
  std::int64_t bytes_;
};

}  // namespace tidemark
