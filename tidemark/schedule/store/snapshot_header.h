// What stands before each block in a file of snapshots, and what a block rests on. A file says all that its
// record in the journal says; either is believed only where they agree.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "tidemark/schedule/store/store.h"

namespace tidemark::schedule {

// What was known when a block was written: whose it is, and what steps had decided by then.
struct BlockContext {
  std::uint64_t run = 0;  // a hash of the run's identity and plan
  std::uint64_t log_entries = 0, log_digest = 0;
  std::uint64_t hashes = 0;  // states whose hashes were known
  Step length = -1;          // steps of the run; below zero: not known yet
  friend bool operator==(const BlockContext&, const BlockContext&) = default;
};

// A block that has reached its file.
struct Commit {
  int level = working;  // working: an adjoint
  std::int32_t slot = 0;
  std::uint64_t generation = 0;  // of the file, counted over the whole run from 1
  Content content;
  std::uint64_t bytes = 0, checksum = 0;
  BlockContext context = {};
};

inline constexpr std::size_t snapshot_header_bytes = 64;

void write_header(const Commit& commit, std::span<std::byte> to);
// Whether these bytes are the header of just that block.
bool is_header_of(std::span<const std::byte> bytes, const Commit& commit);

}  // namespace tidemark::schedule
