// Snapshots that an earlier process has written.
#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include "tidemark/schedule/store/checksum.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark::schedule {

// A file that is as long as the commit says, with the header of just that block: only then is room made for
// it.
FileHandle SnapshotFiles::open_whole(const Commit& commit) const {
  FileHandle file =
      folder_of(commit.level)->open_file(name_of(commit.level, commit.slot, commit.generation), O_RDONLY);
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return {};
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  std::array<std::byte, snapshot_header_bytes> header;
  std::size_t done = 0;
  const bool whole = size >= header_bytes_ && commit.bytes <= size - header_bytes_ &&
                     read_fully(file.get(), header, 0, done) == 0 && done == header.size() &&
                     is_header_of(header, commit);
  return whole ? std::move(file) : FileHandle();
}

void SnapshotFiles::adopt(const Commit& commit) {
  slot_at(commit.level, commit.slot) = {
      .state = open_whole(commit) ? Slot::State::held : Slot::State::damaged, .block = commit, .buffer = -1};
}

std::optional<std::vector<std::byte>> SnapshotFiles::read_adjoint(const Commit& commit) const {
  const FileHandle file = open_whole(commit);
  if (!file) return std::nullopt;
  std::vector<std::byte> bytes(commit.bytes);
  std::size_t done = 0;
  if (read_fully(file.get(), bytes, header_bytes_, done) != 0 || done < bytes.size() ||
      checksum(bytes) != commit.checksum)
    return std::nullopt;
  return bytes;
}

}  // namespace tidemark::schedule
