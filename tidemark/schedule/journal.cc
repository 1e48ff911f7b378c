#include "tidemark/schedule/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tidemark/base/error.h"
#include "tidemark/schedule/checksum.h"

namespace tidemark::schedule {

namespace {

constexpr std::uint64_t magic = 0x31304c4e524a4d54;  // "TMJRNL01"; seeds the checksums

struct Frame {
  std::uint64_t bytes = 0;  // of the payload
  std::uint64_t kind = 0;
  std::uint64_t checksum = 0;
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::uint64_t frame_checksum(const Frame& frame, std::span<const std::byte> payload) {
  return checksum(payload, magic + frame.kind + (frame.bytes << 8));
}

}  // namespace

Journal::Journal(std::string path, bool durable, const Journaled* continued)
    : path_(std::move(path)), durable_(durable), end_(continued ? continued->good_bytes : 0) {
  file_ = ::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(end_)) != 0)
    fail(ErrorCode::run_directory,
         {.what = fmt::format("{} cannot be written: {}", path_, std::strerror(errno))});
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::append(char kind, std::initializer_list<std::span<const std::byte>> parts) {
  frame_.resize(sizeof(Frame));
  for (const auto part : parts) frame_.insert(frame_.end(), part.begin(), part.end());
  Frame frame{
      .bytes = frame_.size() - sizeof(Frame), .kind = static_cast<std::uint64_t>(kind), .checksum = 0};
  frame.checksum = frame_checksum(frame, std::span(frame_).subspan(sizeof(Frame)));
  std::memcpy(frame_.data(), &frame, sizeof frame);

  std::size_t done = 0;
  while (done < frame_.size()) {
    const ssize_t n =
        ::pwrite(file_, frame_.data() + done, frame_.size() - done, static_cast<off_t>(end_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    const int error = n < 0 ? errno : ENOSPC;
    if (::ftruncate(file_, static_cast<off_t>(end_)) != 0)
      end_ = ~std::uint64_t{0};  // the reader cuts the torn end
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
      fail(ErrorCode::disk_full, {.what = fmt::format("no room for the journal {}", path_),
                                  .help = "make room; with resume, nothing that was written is lost"});
    fail(ErrorCode::run_directory,
         {.what = fmt::format("{} cannot be written: {}", path_, std::strerror(error))});
  }
  end_ += frame_.size();
  if (durable_) ::fdatasync(file_);
}

void Journal::begin(const std::string& identity, const std::string& plan) {
  append('I', {std::as_bytes(std::span(identity))});
  append('P', {std::as_bytes(std::span(plan))});
}
void Journal::log(std::span<const std::byte> entries, std::size_t entry_bytes) {
  const std::uint64_t size = entry_bytes;
  append('L', {bytes_of(size), entries});
}
void Journal::hashes(Step first, std::span<const std::uint64_t> hashes) {
  append('H', {bytes_of(first), std::as_bytes(hashes)});
}
void Journal::stored(const Commit& commit) { append('S', {bytes_of(commit)}); }
void Journal::adjoint(const Commit& commit) { append('A', {bytes_of(commit)}); }
void Journal::length(Step steps) { append('N', {bytes_of(steps)}); }

std::optional<Journaled> read_journal(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::vector<char> text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::span<const std::byte> rest = std::as_bytes(std::span(text));
  const auto take = [](std::span<const std::byte>& from, auto& value) {
    if (from.size() < sizeof value) return false;
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return true;
  };

  Journaled found;
  for (Frame frame; take(rest, frame);) {
    if (frame.bytes > rest.size()) break;
    std::span<const std::byte> payload = rest.first(frame.bytes);
    if (frame.checksum != frame_checksum(frame, payload)) break;
    rest = rest.subspan(frame.bytes);
    const std::string_view as_text(reinterpret_cast<const char*>(payload.data()), payload.size());
    Commit commit;
    std::uint64_t size = 0;
    Step step = 0;
    switch (static_cast<char>(frame.kind)) {
      case 'I':
        found.identity = as_text;
        break;
      case 'P':
        found.plan = as_text;
        break;
      case 'L':
        if (!take(payload, size)) break;
        found.log_entry_bytes = size;
        found.log.insert(found.log.end(), payload.begin(), payload.end());
        break;
      case 'H': {
        if (!take(payload, step)) break;
        const std::size_t first = static_cast<std::size_t>(step), count = payload.size() / 8;
        if (first + count > found.hashes.size()) found.hashes.resize(first + count, 0);
        if (count > 0) std::memcpy(found.hashes.data() + first, payload.data(), count * 8);
        break;
      }
      case 'S':
        if (take(payload, commit)) found.stores.push_back(commit);
        break;
      case 'A':
        if (take(payload, commit)) found.adjoint = commit;
        break;
      case 'N':
        if (take(payload, step)) found.length = step;
        break;
      default:
        break;
    }
    found.next_generation = std::max(found.next_generation, commit.generation + 1);
    found.good_bytes = static_cast<std::uint64_t>(std::as_bytes(std::span(text)).size() - rest.size());
  }
  if (found.identity.empty() || found.plan.empty()) return std::nullopt;
  return found;
}

}  // namespace tidemark::schedule
