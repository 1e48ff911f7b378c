#include "tidemark/schedule/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/checksum.h"

namespace tidemark::schedule {

namespace {

constexpr std::align_val_t page{4096};  // what O_DIRECT asks of addresses and sizes

// Before each block. The last field covers the others.
struct Header {
  char magic[8] = {'T', 'M', 'S', 'N', 'A', 'P', '0', '1'};
  std::uint64_t generation = 0;
  std::int64_t step = 0;
  std::int32_t level = 0, slot = 0;
  std::uint64_t is_record = 0, bytes = 0, checksum = 0;
  std::uint64_t own_checksum = 0;
};
static_assert(sizeof(Header) == 64);

std::uint64_t own_checksum(const Header& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, own_checksum)));
}

// Adds its own life time to a sum.
class StallClock {
 public:
  explicit StallClock(double& sum) : sum_(sum), began_(std::chrono::steady_clock::now()) {}
  ~StallClock() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace

void SnapshotFiles::Free::operator()(std::byte* block) const {
  if (ours) ::operator delete(block, page);
}

namespace {
std::ptrdiff_t staging_stride(std::size_t block_bytes) {
  return align_up(static_cast<std::int64_t>(sizeof(Header) + block_bytes), buffer_alignment);
}
}  // namespace

std::size_t staging_room(std::size_t block_bytes, int buffers) {
  return static_cast<std::size_t>(std::max(buffers, 2) * staging_stride(block_bytes));
}

SnapshotFiles::SnapshotFiles(std::vector<std::string> folders, const FileOptions& options,
                             std::unique_ptr<IoQueue> queue)
    : folders_(std::move(folders)),
      options_(options),
      header_bytes_(options.direct ? static_cast<std::size_t>(page) : sizeof(Header)),
      buffers_(static_cast<std::size_t>(std::max(options.buffers, 2))),
      slots_(folders_.size() + 1),
      stalls_(folders_.size() + 1, 0.0),
      remover_(queue->name() != "blocking"),
      queue_(std::move(queue)) {
  slots_.back().resize(1);
}

SnapshotFiles::~SnapshotFiles() {
  queue_.reset();
  for (const Buffer& buffer : buffers_)
    if (buffer.file >= 0) ::close(buffer.file);
}

SnapshotFiles::Slot& SnapshotFiles::slot_at(int level, std::int32_t slot) {
  auto& slots = level == working ? slots_.back() : slots_[static_cast<std::size_t>(level)];
  const auto s = static_cast<std::size_t>(slot);
  if (s >= slots.size()) slots.resize(s + 1);
  return slots[s];
}

double& SnapshotFiles::stall_of(int level) {
  return level == working ? stalls_.back() : stalls_[static_cast<std::size_t>(level)];
}

// Without a background, to start a transfer is to wait for it.
double& SnapshotFiles::handling_of(int level) {
  return queue_->name() == "blocking" ? stall_of(level) : handling_seconds_;
}

// Adjoints lie with the first level that has a folder.
std::string SnapshotFiles::path(int level, std::int32_t slot, std::uint64_t generation) const {
  if (level != working)
    return fmt::format("{}/level{}-slot{}-{}.snapshot", folders_[static_cast<std::size_t>(level)], level,
                       slot, generation);
  const auto first = std::find_if(folders_.begin(), folders_.end(), [](const auto& f) { return !f.empty(); });
  return fmt::format("{}/adjoint-{}.snapshot", *first, generation);
}

std::size_t SnapshotFiles::transfer_bytes(std::size_t payload) const {
  const auto bytes = static_cast<std::int64_t>(header_bytes_ + payload);
  return static_cast<std::size_t>(options_.direct ? align_up(bytes, static_cast<std::int64_t>(page)) : bytes);
}

// Waits until one is free: reads ahead never take the last one, so that there is always one that a transfer will free.
int SnapshotFiles::take_buffer(int level, std::size_t bytes) {
  const auto is_free = [](const Buffer& buffer) { return buffer.use == Use::free; };
  auto found = std::find_if(buffers_.begin(), buffers_.end(), is_free);
  if (found == buffers_.end()) {
    const StallClock stall(stall_of(level));
    while ((found = std::find_if(buffers_.begin(), buffers_.end(), is_free)) == buffers_.end())
      TM_CHECK(look(true), "every buffer is taken and no transfer is in flight");
  }
  const std::size_t needed = transfer_bytes(bytes);
  if (found->capacity < needed) {
    const std::size_t capacity = std::max(needed, transfer_bytes(options_.block_bytes));
    std::byte* lent = nullptr;
    if (options_.staging && !options_.direct && capacity <= header_bytes_ + options_.block_bytes)
      lent = options_.staging + (found - buffers_.begin()) * staging_stride(options_.block_bytes);
    found->data =
        lent ? decltype(found->data)(lent, Free(false))
             : decltype(found->data)(static_cast<std::byte*>(::operator new(capacity, page)), Free());
    std::memset(found->data.get(), 0, header_bytes_);
    found->capacity = capacity;
  }
  found->bytes = needed;
  return static_cast<int>(found - buffers_.begin());
}

std::span<std::byte> SnapshotFiles::open(int level, std::int32_t slot, std::size_t bytes) {
  release_lent();
  Slot& at = slot_at(level, slot);
  TM_CHECK(at.state == Slot::State::empty || level == working, "slot {} of level {} is not empty", slot,
           level);
  const int index = take_buffer(level, bytes);
  buffers_[static_cast<std::size_t>(index)].use = Use::filling;
  at = {.state = Slot::State::open,
        .generation = next_generation_++,
        .bytes = bytes,
        .content = {},
        .buffer = index};
  return {buffers_[static_cast<std::size_t>(index)].data.get() + header_bytes_, bytes};
}

void SnapshotFiles::close(int level, std::int32_t slot, const Content& content) {
  Slot& at = slot_at(level, slot);
  Buffer& buffer = buffers_[static_cast<std::size_t>(at.buffer)];
  at.content = content;
  Header header;
  header.generation = at.generation;
  header.step = content.step;
  header.level = level;
  header.slot = slot;
  header.is_record = content.is_record;
  header.bytes = at.bytes;
  header.checksum = checksum({buffer.data.get() + header_bytes_, at.bytes});
  header.own_checksum = own_checksum(header);
  std::memcpy(buffer.data.get(), &header, sizeof header);

  const StallClock handling(handling_of(level));
  const std::string file = path(level, slot, at.generation);
  const int flags = O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC;
  buffer.file = options_.direct ? ::open(file.c_str(), flags | O_DIRECT, 0644) : -1;
  if (buffer.file < 0) buffer.file = ::open(file.c_str(), flags, 0644);
  if (buffer.file < 0) fail_write(level, slot, at.generation, errno);
  at.state = Slot::State::writing;
  buffer.use = Use::writing;
  writes_.push_back(
      {.commit = {level, slot, at.generation, content, at.bytes, header.checksum}, .buffer = at.buffer});
  queue_->submit({.file = buffer.file,
                  .write = true,
                  .sync = options_.durable,
                  .data = buffer.data.get(),
                  .bytes = buffer.bytes,
                  .token = static_cast<std::uint64_t>(at.buffer)});
}

void SnapshotFiles::release_lent() {
  for (Buffer& buffer : buffers_)
    if (buffer.use == Use::lent) buffer.use = Use::free;
}

void SnapshotFiles::start_read(int level, std::int32_t slot, int index) {
  Slot& at = slot_at(level, slot);
  Buffer& buffer = buffers_[static_cast<std::size_t>(index)];
  const StallClock handling(handling_of(level));
  const std::string file = path(level, slot, at.generation);
  at.buffer = index;
  buffer.file = options_.direct ? ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT) : -1;
  if (buffer.file < 0) buffer.file = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (buffer.file < 0) {
    buffer.result = {.token = 0, .error = errno, .bytes = 0};
    buffer.use = Use::ready;
    return;
  }
  buffer.use = Use::reading;
  queue_->submit({.file = buffer.file,
                  .data = buffer.data.get(),
                  .bytes = buffer.bytes,
                  .token = static_cast<std::uint64_t>(index)});
}

bool SnapshotFiles::prefetch(int level, std::int32_t slot) {
  release_lent();
  Slot& at = slot_at(level, slot);
  if (at.state != Slot::State::held) return false;
  if (at.buffer >= 0) return true;
  const auto free =
      std::count_if(buffers_.begin(), buffers_.end(), [](const Buffer& b) { return b.use == Use::free; });
  if (free < 2) return false;
  start_read(level, slot, take_buffer(level, at.bytes));
  return true;
}

std::optional<std::span<const std::byte>> SnapshotFiles::read(int level, std::int32_t slot) {
  release_lent();
  Slot& at = slot_at(level, slot);
  if (at.state == Slot::State::writing)
    return std::span<const std::byte>(
        buffers_[static_cast<std::size_t>(at.buffer)].data.get() + header_bytes_, at.bytes);
  TM_CHECK(at.state == Slot::State::held, "slot {} of level {} is empty", slot, level);
  if (at.buffer < 0) start_read(level, slot, take_buffer(level, at.bytes));
  Buffer& buffer = buffers_[static_cast<std::size_t>(at.buffer)];
  if (buffer.use == Use::reading) {
    const StallClock stall(stall_of(level));
    while (buffer.use == Use::reading) TM_CHECK(look(true), "a read was lost");
  }
  at.buffer = -1;
  buffer.use = Use::lent;
  return checked(level, slot, buffer);
}

std::optional<std::span<const std::byte>> SnapshotFiles::checked(int level, std::int32_t slot,
                                                                 const Buffer& buffer) const {
  const Slot& at = slots_[static_cast<std::size_t>(level)][static_cast<std::size_t>(slot)];
  if (buffer.result.error != 0 || buffer.result.bytes < header_bytes_ + at.bytes) return std::nullopt;
  Header header;
  std::memcpy(&header, buffer.data.get(), sizeof header);
  const std::span<const std::byte> payload(buffer.data.get() + header_bytes_, at.bytes);
  const bool ours = header.own_checksum == own_checksum(header) && header.generation == at.generation &&
                    header.level == level && header.slot == slot && header.step == at.content.step &&
                    header.bytes == at.bytes;
  if (!ours || header.checksum != checksum(payload)) return std::nullopt;
  return payload;
}

void SnapshotFiles::drop(int level, std::int32_t slot, bool keep) {
  Slot& at = slot_at(level, slot);
  if (at.state == Slot::State::held && at.buffer >= 0) {  // read ahead, and not wanted any more
    Buffer& buffer = buffers_[static_cast<std::size_t>(at.buffer)];
    buffer.use = buffer.use == Use::reading ? Use::orphan : Use::free;
  }
  if (keep && options_.keep_dropped)
    dropped_.push_back({level, slot, at.generation, next_generation_});
  else
    remove(level, slot, at.generation);
  at = {};
}

void SnapshotFiles::remove(int level, std::int32_t slot, std::uint64_t generation) {
  const StallClock handling(handling_of(level));
  remover_.remove(path(level, slot, generation));
}

void SnapshotFiles::reclaim(std::uint64_t before) {
  const auto kept = std::partition(dropped_.begin(), dropped_.end(),
                                   [before](const Dropped& d) { return d.dropped_at > before; });
  std::for_each(kept, dropped_.end(), [this](const Dropped& d) { remove(d.level, d.slot, d.generation); });
  dropped_.erase(kept, dropped_.end());
}

std::int64_t SnapshotFiles::dropped_on(int level) const {
  return std::count_if(dropped_.begin(), dropped_.end(),
                       [level](const Dropped& d) { return d.level == level; });
}

// One transfer that has ended, if there is one.
bool SnapshotFiles::look(bool wait) {
  IoResult result;
  if (!queue_->take(result, wait)) return false;
  Buffer& buffer = buffers_[static_cast<std::size_t>(result.token)];
  ::close(buffer.file);
  buffer.file = -1;
  buffer.result = result;
  switch (buffer.use) {
    case Use::reading:
      buffer.use = Use::ready;
      break;
    case Use::orphan:
      buffer.use = Use::free;
      break;
    default:
      for (Write& write : writes_)
        if (write.buffer == static_cast<int>(result.token)) write.ended = true;
      commit_in_order();
  }
  return true;
}

void SnapshotFiles::commit_in_order() {
  while (!writes_.empty() && writes_.front().ended) {
    const Write write = writes_.front();
    const Commit& commit = write.commit;
    Buffer& buffer = buffers_[static_cast<std::size_t>(write.buffer)];
    if (buffer.result.error != 0 || buffer.result.bytes < buffer.bytes)
      fail_write(commit.level, commit.slot, commit.generation, buffer.result.error);
    writes_.pop_front();
    buffer.use = Use::free;
    Slot& at = slot_at(commit.level, commit.slot);
    if (at.generation == commit.generation && at.state == Slot::State::writing) {
      at.state = Slot::State::held;
      at.buffer = -1;
    }
    if (on_commit) on_commit(commit);
  }
}

void SnapshotFiles::poll() {
  while (look(false)) {
  }
}

void SnapshotFiles::drain() {
  const StallClock stall(stalls_.back());
  while (!writes_.empty()) TM_CHECK(look(true), "a write was lost");
}

void SnapshotFiles::adopt(const Commit& commit) {
  slot_at(commit.level, commit.slot) = {.state = Slot::State::held,
                                        .generation = commit.generation,
                                        .bytes = commit.bytes,
                                        .content = commit.content,
                                        .buffer = -1};
}

std::size_t SnapshotFiles::staging_bytes() const {
  std::size_t sum = 0;
  for (const Buffer& buffer : buffers_) sum += buffer.capacity;
  return sum;
}

double SnapshotFiles::stall_seconds() const {
  double sum = 0;
  for (const double seconds : stalls_) sum += seconds;
  return sum;
}

void SnapshotFiles::fail_write(int level, std::int32_t slot, std::uint64_t generation, int error) const {
  const std::string file = path(level, slot, generation);
  if (error == 0 || error == ENOSPC || error == EDQUOT || error == EFBIG)
    fail(ErrorCode::disk_full,
         {.what = fmt::format("no room for {} in {}",
                              to_string(Bytes(static_cast<std::int64_t>(options_.block_bytes))), file),
          .expected = "as much room as the level's budget",
          .help = "make room, or give the level fewer bytes; with resume, nothing that was written is lost"});
  fail(ErrorCode::run_directory,
       {.what = fmt::format("{} cannot be written: {}", file, std::strerror(error))});
}

}  // namespace tidemark::schedule
