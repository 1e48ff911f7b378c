#include "tidemark/schedule/run/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run/journal_frame.h"

namespace tidemark::schedule {

namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Journal::Journal(std::shared_ptr<const Folder> folder, bool durable, const Journaled* continued)
    : path_(folder->path_of(journal_name)),
      durable_(durable),
      file_(continued ? folder->open_file(journal_name, O_WRONLY) : folder->create(journal_name)),
      end_(continued ? continued->good_bytes : 0) {
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) fail_write(errno);
  if (durable_)
    if (const int error = folder->sync()) fail_write(error);
}

void Journal::fail_write(int error) const {
  if (is_out_of_room(error))
    fail(ErrorCode::disk_full, {.what = fmt::format("no room for the journal {}", path_),
                                .help = "make room; with resume, nothing that was written is lost"});
  fail(ErrorCode::run_directory,
       {.what = fmt::format("{} cannot be written: {}", path_, std::strerror(error))});
}

void Journal::append(char kind, std::initializer_list<std::span<const std::byte>> parts) {
  frame_.resize(sizeof(JournalFrame));
  for (const auto part : parts) frame_.insert(frame_.end(), part.begin(), part.end());
  const JournalFrame frame = frame_of(kind, std::span(frame_).subspan(sizeof(JournalFrame)));
  std::memcpy(frame_.data(), &frame, sizeof frame);
  if (const int error = write_fully(file_.get(), frame_, end_)) {
    if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0)
      file_.reset();  // the reader cuts the torn end
    fail_write(error);
  }
  if (durable_ && ::fdatasync(file_.get()) != 0) fail_write(errno);
  end_ += frame_.size();
}

void Journal::begin(const std::string& identity, const std::string& plan) {
  append('I', {std::as_bytes(std::span(identity))});
  append('P', {std::as_bytes(std::span(plan))});
}
void Journal::log(std::span<const std::byte> entries, std::size_t entry_bytes) {
  const std::uint64_t size = entry_bytes;
  append('L', {bytes_of(size), entries});
}
void Journal::hashes(Step first, std::size_t words, std::span<const std::uint64_t> hashes) {
  const std::uint64_t size = words;
  append('H', {bytes_of(first), bytes_of(size), std::as_bytes(hashes)});
}
void Journal::stored(const Commit& commit) { append('S', {bytes_of(record_of(commit))}); }
void Journal::adjoint(const Commit& commit) { append('A', {bytes_of(record_of(commit))}); }
void Journal::length(Step steps) { append('N', {bytes_of(steps)}); }

}  // namespace tidemark::schedule
