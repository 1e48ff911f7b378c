// The bytes of a journal: frames of a length, a kind, a checksum and a payload, and the payload of a
// committed block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "tidemark/schedule/store/snapshot_header.h"

namespace tidemark::schedule {

struct JournalFrame {
  std::uint64_t bytes = 0;  // of the payload
  std::uint64_t kind = 0;   // a letter: I P L H S A N
  std::uint64_t checksum = 0;
};

JournalFrame frame_of(char kind, std::span<const std::byte> payload);  // what must stand before it

// A Commit without gaps, of the kinds S (a slot) and A (an adjoint). `context.run` is not written: the reader
// knows it.
struct CommitRecord {
  std::int32_t level = 0, slot = 0;
  std::uint64_t generation = 0;
  std::int64_t step = 0;
  std::uint64_t is_record = 0, action = 0, bytes = 0, checksum = 0, log_entries = 0, log_digest = 0,
                hashes = 0;
  std::int64_t length = 0;
};
static_assert(sizeof(CommitRecord) == 88);

CommitRecord record_of(const Commit& commit);
Commit commit_of(const CommitRecord& record, std::uint64_t run);

}  // namespace tidemark::schedule
