#include "tidemark/schedule/store/snapshot_header.h"

#include <cstring>

#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

namespace {

// The last field covers the others, and the context.
struct Header {
  char magic[8] = {'T', 'M', 'S', 'N', 'A', 'P', '0', '2'};
  std::uint64_t generation = 0;
  std::int64_t step = 0;
  std::uint64_t action = 0;
  std::int16_t level = 0;
  std::uint16_t is_record = 0;
  std::int32_t slot = 0;
  std::uint64_t bytes = 0, checksum = 0;
  std::uint64_t own_checksum = 0;
};
static_assert(sizeof(Header) == snapshot_header_bytes);

Header header_of(const Commit& commit) {
  Header header;
  header.generation = commit.generation;
  header.step = commit.content.step;
  header.action = commit.content.action;
  header.level = static_cast<std::int16_t>(commit.level);
  header.is_record = commit.content.is_record;
  header.slot = commit.slot;
  header.bytes = commit.bytes;
  header.checksum = commit.checksum;
  const std::uint64_t context = checksum(std::as_bytes(std::span(&commit.context, 1)));
  header.own_checksum =
      checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, own_checksum)), context);
  return header;
}

}  // namespace

void write_header(const Commit& commit, std::span<std::byte> to) {
  const Header header = header_of(commit);
  std::memcpy(to.data(), &header, sizeof header);
}

bool is_header_of(std::span<const std::byte> bytes, const Commit& commit) {
  const Header header = header_of(commit);
  return bytes.size() >= sizeof header && std::memcmp(bytes.data(), &header, sizeof header) == 0;
}

}  // namespace tidemark::schedule
