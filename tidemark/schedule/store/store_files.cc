#include "tidemark/schedule/store/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

namespace {

constexpr std::align_val_t page{4096};  // what O_DIRECT asks of addresses and sizes

// Adds its own life time to a sum.
class StallClock {
 public:
  explicit StallClock(double& sum) : sum_(sum) {}
  ~StallClock() { sum_ += watch_.seconds(); }

 private:
  double& sum_;
  Stopwatch watch_;
};

}  // namespace

void SnapshotFiles::Free::operator()(std::byte* block) const { ::operator delete(block, page); }

SnapshotFiles::SnapshotFiles(std::vector<std::shared_ptr<const Folder>> folders, const FileOptions& options,
                             std::unique_ptr<IoQueue> queue)
    : folders_(std::move(folders)),
      unnamed_(folders_.size()),
      options_(options),
      header_bytes_(options.direct ? static_cast<std::size_t>(page) : snapshot_header_bytes),
      buffers_(static_cast<std::size_t>(std::max(options.buffers, 2))),
      slots_(folders_.size() + 1),
      stalls_(folders_.size() + 1, 0.0),
      remover_(queue->name() != "blocking"),
      queue_(std::move(queue)) {
  slots_.back().resize(1);
  for (std::size_t l = 0; options.unnamed && l < folders_.size(); ++l) {
    if (!folders_[l]) continue;
    if (options.direct) unnamed_[l] = folders_[l]->create_unnamed(O_DIRECT);
    if (!unnamed_[l]) unnamed_[l] = folders_[l]->create_unnamed();
    if (!unnamed_[l])
      fail(ErrorCode::run_directory,
           {.what = fmt::format("no file can be made in {}: {}", folders_[l]->path(), std::strerror(errno)),
            .help = "give a directory that this user may write to"});
  }
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
const std::shared_ptr<const Folder>& SnapshotFiles::folder_of(int level) const {
  if (level != working) return folders_[static_cast<std::size_t>(level)];
  return *std::find_if(folders_.begin(), folders_.end(),
                       [](const auto& folder) { return folder != nullptr; });
}

std::string SnapshotFiles::name_of(int level, std::int32_t slot, std::uint64_t generation) {
  if (level == working) return fmt::format("adjoint-{}.snapshot", generation);
  return fmt::format("level{}-slot{}-{}.snapshot", level, slot, generation);
}

std::size_t SnapshotFiles::transfer_bytes(std::size_t payload) const {
  const auto bytes = static_cast<std::int64_t>(header_bytes_ + payload);
  return static_cast<std::size_t>(options_.direct ? align_up(bytes, static_cast<std::int64_t>(page)) : bytes);
}

// Waits until one is free: reads ahead never take the last one, so that there is always one that a transfer
// will free.
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
    found->data.reset(static_cast<std::byte*>(::operator new(capacity, page)));
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
        .block =
            {.level = level, .slot = slot, .generation = next_generation_++, .content = {}, .bytes = bytes},
        .buffer = index};
  return {buffers_[static_cast<std::size_t>(index)].data.get() + header_bytes_, bytes};
}

void SnapshotFiles::close(int level, std::int32_t slot, const Content& content) {
  if (options_.unnamed) wait_for_writes_of(level, slot);
  Slot& at = slot_at(level, slot);
  Buffer& buffer = buffers_[static_cast<std::size_t>(at.buffer)];
  at.block.content = content;
  at.block.checksum = checksum({buffer.data.get() + header_bytes_, at.block.bytes});
  if (context) at.block.context = context();
  write_header(at.block, {buffer.data.get(), header_bytes_});

  const StallClock handling(handling_of(level));
  if (!options_.unnamed) {
    const std::string name = name_of(level, slot, at.block.generation);
    const Folder& folder = *folder_of(level);
    FileHandle file = options_.direct ? folder.create(name, O_DIRECT) : FileHandle();
    if (!file) file = folder.create(name);
    if (!file) fail_write(at.block, errno);
    buffer.file = file.release();
  }
  at.state = Slot::State::writing;
  buffer.use = Use::writing;
  writes_.push_back({.commit = at.block, .buffer = at.buffer});
  submit({.file = buffer.file,
          .write = true,
          .sync = options_.durable,
          .data = buffer.data.get(),
          .bytes = buffer.bytes,
          .token = static_cast<std::uint64_t>(at.buffer)},
         level, slot);
}

// Slots of a level without names lie one behind another in its one file.
void SnapshotFiles::submit(IoRequest request, int level, std::int32_t slot) {
  if (options_.unnamed) {
    TM_CHECK(level != working && request.bytes <= transfer_bytes(options_.block_bytes),
             "a block of {} bytes where {} are the most", request.bytes, options_.block_bytes);
    request.file = unnamed_[static_cast<std::size_t>(level)].get();
    request.offset = static_cast<std::uint64_t>(slot) * transfer_bytes(options_.block_bytes);
  }
  queue_->submit(request);
}

// A slot that was dropped before it was written must not be written after what takes its place.
void SnapshotFiles::wait_for_writes_of(int level, std::int32_t slot) {
  const auto in_flight = [&] {
    return std::any_of(writes_.begin(), writes_.end(), [&](const Write& write) {
      return write.commit.level == level && write.commit.slot == slot;
    });
  };
  if (!in_flight()) return;
  const StallClock stall(stall_of(level));
  while (in_flight()) TM_CHECK(look(true), "a write was lost");
}

void SnapshotFiles::release_lent() {
  for (Buffer& buffer : buffers_)
    if (buffer.use == Use::lent) buffer.use = Use::free;
}

void SnapshotFiles::start_read(int level, std::int32_t slot, int index) {
  Slot& at = slot_at(level, slot);
  Buffer& buffer = buffers_[static_cast<std::size_t>(index)];
  const StallClock handling(handling_of(level));
  at.buffer = index;
  if (!options_.unnamed) {
    const std::string name = name_of(level, slot, at.block.generation);
    const Folder& folder = *folder_of(level);
    FileHandle file = options_.direct ? folder.open_file(name, O_RDONLY | O_DIRECT) : FileHandle();
    if (!file) file = folder.open_file(name, O_RDONLY);
    if (!file) {
      buffer.result = {.token = 0, .error = errno, .bytes = 0};
      buffer.use = Use::ready;
      return;
    }
    buffer.file = file.release();
  }
  buffer.use = Use::reading;
  submit({.file = buffer.file,
          .data = buffer.data.get(),
          .bytes = buffer.bytes,
          .token = static_cast<std::uint64_t>(index)},
         level, slot);
}

bool SnapshotFiles::prefetch(int level, std::int32_t slot) {
  release_lent();
  Slot& at = slot_at(level, slot);
  if (at.state == Slot::State::damaged) return true;
  if (at.state != Slot::State::held) return false;
  if (at.buffer >= 0) return true;
  const auto free =
      std::count_if(buffers_.begin(), buffers_.end(), [](const Buffer& b) { return b.use == Use::free; });
  if (free < 2) return false;
  start_read(level, slot, take_buffer(level, at.block.bytes));
  return true;
}

std::optional<std::span<const std::byte>> SnapshotFiles::read(int level, std::int32_t slot) {
  release_lent();
  Slot& at = slot_at(level, slot);
  if (at.state == Slot::State::writing)
    return std::span<const std::byte>(
        buffers_[static_cast<std::size_t>(at.buffer)].data.get() + header_bytes_, at.block.bytes);
  if (at.state == Slot::State::damaged) return std::nullopt;
  TM_CHECK(at.state == Slot::State::held, "slot {} of level {} is empty", slot, level);
  if (at.buffer < 0) start_read(level, slot, take_buffer(level, at.block.bytes));
  Buffer& buffer = buffers_[static_cast<std::size_t>(at.buffer)];
  if (buffer.use == Use::reading) {
    const StallClock stall(stall_of(level));
    while (buffer.use == Use::reading) TM_CHECK(look(true), "a read was lost");
  }
  at.buffer = -1;
  buffer.use = Use::lent;
  return checked(at.block, buffer);
}

std::optional<std::span<const std::byte>> SnapshotFiles::checked(const Commit& block,
                                                                 const Buffer& buffer) const {
  if (buffer.result.error != 0 || buffer.result.bytes < header_bytes_ + block.bytes) return std::nullopt;
  const std::span<const std::byte> payload(buffer.data.get() + header_bytes_, block.bytes);
  if (!is_header_of({buffer.data.get(), header_bytes_}, block) || checksum(payload) != block.checksum)
    return std::nullopt;
  return payload;
}

void SnapshotFiles::drop(int level, std::int32_t slot, bool keep) {
  Slot& at = slot_at(level, slot);
  if (at.state == Slot::State::held && at.buffer >= 0) {  // read ahead, and not wanted any more
    Buffer& buffer = buffers_[static_cast<std::size_t>(at.buffer)];
    buffer.use = buffer.use == Use::reading ? Use::orphan : Use::free;
  }
  if (keep && options_.keep_dropped)
    dropped_.push_back({level, slot, at.block.generation, next_generation_});
  else
    remove(level, slot, at.block.generation);
  at = {};
}

void SnapshotFiles::remove(int level, std::int32_t slot, std::uint64_t generation) {
  if (options_.unnamed) return;
  const StallClock handling(handling_of(level));
  remover_.remove(folder_of(level), name_of(level, slot, generation));
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
  if (buffer.file >= 0) ::close(buffer.file);
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
      fail_write(commit, buffer.result.error);
    // The name must be on the disk before anything that counts on it.
    if (options_.durable && !options_.unnamed)
      if (const int error = folder_of(commit.level)->sync()) fail_write(commit, error);
    writes_.pop_front();
    buffer.use = Use::free;
    Slot& at = slot_at(commit.level, commit.slot);
    if (at.block.generation == commit.generation && at.state == Slot::State::writing) {
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

void SnapshotFiles::fail_write(const Commit& block, int error) const {
  const Folder& folder = *folder_of(block.level);
  const std::string file =
      options_.unnamed ? folder.path() : folder.path_of(name_of(block.level, block.slot, block.generation));
  if (error == 0 || is_out_of_room(error))
    fail(ErrorCode::disk_full,
         {.what = fmt::format("no room for {} in {}",
                              to_string(Bytes(static_cast<std::int64_t>(block.bytes))), file),
          .expected = "as much room as the level's budget",
          .help = "make room, or give the level fewer bytes; with resume, nothing that was written is lost"});
  fail(ErrorCode::run_directory,
       {.what = fmt::format("{} cannot be written: {}", file, std::strerror(error))});
}

}  // namespace tidemark::schedule
