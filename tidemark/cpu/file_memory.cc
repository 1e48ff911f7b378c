#include "tidemark/cpu/file_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <system_error>

#include "tidemark/base/aligned.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

// The system's cache would keep what is written, and what is read, until memory is short; and it costs a copy
// of its own. So whole blocks go past it (O_DIRECT), through memory of our own where a value does not lie on
// a sector's boundary. With values of 16 MiB, on a virtual disk of two Neoverse V1 cores that were not quiet,
// that was 3.1 to 3.6 GB/s either way at about 0.1 s of a processor per GB, in pieces of 1 or 4 MiB. Through
// the cache, with sync_file_range and POSIX_FADV_DONTNEED piece by piece, it was 1.5 GB/s at 0.3 s, and 2.2
// and 3.2 GB/s with values of 64 MiB. The first writes of a new file are much slower. Pieces are smaller
// here, because what they pass through lies beside the budget.
constexpr std::int64_t page_bytes = 4096, sector_bytes = 512, bounce_bytes = 256 << 10;

std::string message(int error) { return std::generic_category().message(error); }

// What the disk and the limits of this process leave room for.
std::int64_t free_bytes(int file) {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  std::int64_t room = unknown;
  struct statvfs system {};
  // Some that have no size of their own say 0 for everything.
  if (::fstatvfs(file, &system) == 0 && system.f_blocks > 0 &&
      __builtin_mul_overflow(system.f_bavail, static_cast<std::uint64_t>(system.f_frsize), &room))
    room = unknown;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(room))
    room = static_cast<std::int64_t>(limit.rlim_cur);
  return room;
}

// Counts what is moved while it lives, and the time of day.
class Clocked {
 public:
  Clocked(DiskTraffic::Way& way, std::size_t bytes) : way_(way), bytes_(bytes) {}
  ~Clocked() {
    const auto taken = std::chrono::steady_clock::now() - begin_;
    way_.bytes += static_cast<std::int64_t>(bytes_);
    way_.nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
  }
  Clocked(const Clocked&) = delete;
  Clocked& operator=(const Clocked&) = delete;

 private:
  DiskTraffic::Way& way_;
  const std::size_t bytes_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void fail_in(const Folder& folder, const std::string& why) {
  throw DeviceError(ErrorCode::disk_failure,
                    {.what = fmt::format("values cannot be kept in {}: {}", folder.path(), why),
                     .expected = "a disk that gives back what was written",
                     .help = "look at the disk, name a folder on another one, or plan without it"});
}

FileMemory::FileMemory(std::shared_ptr<const Folder> folder, std::int64_t bytes,
                       std::shared_ptr<DiskTraffic> traffic)
    : folder_(std::move(folder)),
      bytes_(bytes),
      traffic_(std::move(traffic)),
      cached_(folder_->create_unnamed()) {
  if (!cached_) fail(fmt::format("no file can be made there: {}", message(errno)));
  reserve();
  go_past_the_cache();
  void* const addresses = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) out_of_memory(bytes);
  base_ = host_address(addresses);
}

FileMemory::~FileMemory() { ::munmap(host_pointer(base_), static_cast<std::size_t>(bytes_)); }

// The room is looked at first: a file system that runs full on the way fills up for everybody, and a limit of
// the process comes as a signal.
void FileMemory::reserve() const {
  const std::int64_t room = free_bytes(cached_.get());
  int error = bytes_ > room ? ENOSPC : EINTR;
  while (error == EINTR) error = ::posix_fallocate(cached_.get(), 0, bytes_);
  if (error == 0) return;
  if (!is_out_of_room(error)) fail(fmt::format("a file has no room reserved: {}", message(error)));
  throw DeviceError(
      ErrorCode::disk_full,
      {.what =
           fmt::format("no room for {} ({} bytes) in {}", to_string(Bytes(bytes_)), bytes_, folder_->path()),
       .expected = fmt::format("as much room as the plan keeps there; {} are free", to_string(Bytes(room))),
       .help = "make room, name a folder on another disk, or give the disk a smaller budget"});
}

void FileMemory::fail(const std::string& why) const { fail_in(*folder_, why); }

// The file has no name to open it by again, but the system lists it as one that is open. Where anything is
// missing for it, the cache must do.
void FileMemory::go_past_the_cache() {
  ::posix_fadvise(cached_.get(), 0, 0, POSIX_FADV_RANDOM);  // what lies beside a value is not wanted
  if (bytes_ < page_bytes) return;
  FileHandle direct(
      ::open(fmt::format("/proc/self/fd/{}", cached_.get()).c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (!direct) return;
  for (Bounce* bounce : {&out_, &in_}) {
    const std::int64_t size = std::min(bounce_bytes, align_up(bytes_, page_bytes));
    bounce->memory = allocate_aligned(size + page_bytes);
    const auto at = static_cast<std::int64_t>(host_address(bounce->memory.get()).value);
    bounce->bytes = {bounce->memory.get() + (align_up(at, page_bytes) - at), static_cast<std::size_t>(size)};
  }
  const auto can_read = [&](std::byte* to, std::int64_t count) {
    return ::pread(direct.get(), to, static_cast<std::size_t>(count), 0) == count;
  };
  if (!can_read(in_.bytes.data(), page_bytes)) return;
  takes_sectors_ = bytes_ >= 2 * page_bytes && can_read(in_.bytes.data() + sector_bytes, page_bytes);
  direct_ = std::move(direct);
}

FileMemory::Blocks FileMemory::blocks_of(std::int64_t offset, std::size_t count) const {
  const std::int64_t end = offset + static_cast<std::int64_t>(count);
  TM_CHECK(offset >= 0 && end <= bytes_, "bytes {} to {} of a file of {}", offset, end, bytes_);
  if (!direct_) return {count, count};
  const std::int64_t first = std::min(align_up(offset, page_bytes), end);
  const std::int64_t last = std::max(first, end & -page_bytes);
  return {static_cast<std::size_t>(first - offset), static_cast<std::size_t>(last - offset)};
}

void FileMemory::write(std::int64_t offset, std::span<const std::byte> bytes) {
  const auto [begin, end] = blocks_of(offset, bytes.size());
  const Clocked clocked(traffic_->written, bytes.size());
  write_cached(offset, bytes.first(begin));
  write_blocks(offset + static_cast<std::int64_t>(begin), bytes.subspan(begin, end - begin));
  write_cached(offset + static_cast<std::int64_t>(end), bytes.subspan(end));
}

void FileMemory::read(std::int64_t offset, std::span<std::byte> bytes) {
  const auto [begin, end] = blocks_of(offset, bytes.size());
  const Clocked clocked(traffic_->read, bytes.size());
  read_cached(offset, bytes.first(begin));
  read_blocks(offset + static_cast<std::int64_t>(begin), bytes.subspan(begin, end - begin));
  read_cached(offset + static_cast<std::int64_t>(end), bytes.subspan(end));
}

// What breaks off within a block, at a limit or an end, goes on through the cache: past it, it is refused for
// where it lies, and the reason not told.
void FileMemory::write_piece(int file, std::int64_t offset, std::span<const std::byte> bytes) const {
  const auto at = static_cast<std::uint64_t>(offset);
  std::size_t done = 0;
  int error = write_fully(file, bytes, at, &done);
  if (error == EINVAL) error = write_fully(cached_.get(), bytes.subspan(done), at + done);
  if (error) fail(fmt::format("writing failed: {}", message(error)));
}

void FileMemory::read_piece(int file, std::int64_t offset, std::span<std::byte> bytes) const {
  const auto at = static_cast<std::uint64_t>(offset);
  std::size_t done = 0, rest = 0;
  int error = read_fully(file, bytes, at, done);
  if (error == EINVAL) {
    error = read_fully(cached_.get(), bytes.subspan(done), at + done, rest);
    done += rest;
  }
  if (error) fail(fmt::format("reading failed: {}", message(error)));
  if (done < bytes.size()) fail("the file is shorter than it was made");
}

bool FileMemory::lies_well(const std::byte* memory) const {
  const std::uintptr_t at = host_address(memory).value;
  return at % page_bytes == 0 || (takes_sectors_ && at % sector_bytes == 0);
}

void FileMemory::write_blocks(std::int64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (lies_well(bytes.data())) return write_piece(direct_.get(), offset, bytes);
  const std::lock_guard lock(out_.mutex);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), out_.bytes.size()))) {
    const auto piece = out_.bytes.first(std::min(bytes.size(), out_.bytes.size()));
    std::memcpy(piece.data(), bytes.data(), piece.size());
    write_piece(direct_.get(), offset, piece);
    offset += static_cast<std::int64_t>(piece.size());
  }
}

void FileMemory::read_blocks(std::int64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  if (lies_well(bytes.data())) return read_piece(direct_.get(), offset, bytes);
  const std::lock_guard lock(in_.mutex);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), in_.bytes.size()))) {
    const auto piece = in_.bytes.first(std::min(bytes.size(), in_.bytes.size()));
    read_piece(direct_.get(), offset, piece);
    std::memcpy(bytes.data(), piece.data(), piece.size());
    offset += static_cast<std::int64_t>(piece.size());
  }
}

// Without the other way, where this is all, the system is asked to let go of each piece.
void FileMemory::write_cached(std::int64_t offset, std::span<const std::byte> bytes) {
  const int file = cached_.get();
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(bounce_bytes)));
    const auto count = static_cast<std::int64_t>(piece.size());
    write_piece(file, offset, piece);
    if (!direct_) {
      constexpr unsigned whole =
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
      if (::sync_file_range(file, offset, count, whole) != 0 && (errno == EIO || is_out_of_room(errno)))
        fail(fmt::format("writing failed: {}", message(errno)));
      ::posix_fadvise(file, offset, count, POSIX_FADV_DONTNEED);
    }
    bytes = bytes.subspan(piece.size());
    offset += count;
  }
}

void FileMemory::read_cached(std::int64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(bounce_bytes)));
    const auto count = static_cast<std::int64_t>(piece.size());
    read_piece(cached_.get(), offset, piece);
    if (!direct_) ::posix_fadvise(cached_.get(), offset, count, POSIX_FADV_DONTNEED);
    bytes = bytes.subspan(piece.size());
    offset += count;
  }
}

}  // namespace tidemark
