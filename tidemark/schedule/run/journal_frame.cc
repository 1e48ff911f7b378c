#include "tidemark/schedule/run/journal_frame.h"

#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

JournalFrame frame_of(char kind, std::span<const std::byte> payload) {
  constexpr std::uint64_t magic = 0x31304c4e524a4d54;  // "TMJRNL01"; seeds the checksums
  JournalFrame frame{.bytes = payload.size(), .kind = static_cast<std::uint64_t>(kind), .checksum = 0};
  frame.checksum = checksum(payload, magic + frame.kind + (frame.bytes << 8));
  return frame;
}

CommitRecord record_of(const Commit& commit) {
  return {.level = commit.level,
          .slot = commit.slot,
          .generation = commit.generation,
          .step = commit.content.step,
          .is_record = commit.content.is_record,
          .action = commit.content.action,
          .bytes = commit.bytes,
          .checksum = commit.checksum,
          .log_entries = commit.context.log_entries,
          .log_digest = commit.context.log_digest,
          .hashes = commit.context.hashes,
          .length = commit.context.length};
}

Commit commit_of(const CommitRecord& record, std::uint64_t run) {
  return {.level = record.level,
          .slot = record.slot,
          .generation = record.generation,
          .content = {.step = record.step, .is_record = record.is_record != 0, .action = record.action},
          .bytes = record.bytes,
          .checksum = record.checksum,
          .context = {.run = run,
                      .log_entries = record.log_entries,
                      .log_digest = record.log_digest,
                      .hashes = record.hashes,
                      .length = record.length}};
}

}  // namespace tidemark::schedule
