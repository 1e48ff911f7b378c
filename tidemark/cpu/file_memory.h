// A memory of the CPU that is no memory: a private file without a name, gone with the process however that
// ends. All of its bytes are reserved when it is made, so that a full disk shows before anything runs. Its
// addresses are a stretch that nothing is mapped at: the device finds the file by them, and a kernel that
// followed one would stop at once.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "tidemark/base/address.h"
#include "tidemark/base/aligned.h"
#include "tidemark/base/folder.h"

namespace tidemark {

// What was moved so far, by all threads.
struct DiskTraffic {
  struct Way {
    std::atomic<std::int64_t> bytes{0}, nanoseconds{0};
  };
  Way written, read;                    // by the disk
  std::atomic<std::int64_t> values{0};  // bytes of the values that these were, both ways
};

class FileMemory {
 public:
  // Throws DeviceError: disk_full, or disk_failure where the folder takes no files.
  FileMemory(std::shared_ptr<const Folder> folder, std::int64_t bytes,
             std::shared_ptr<DiskTraffic> traffic = std::make_shared<DiskTraffic>());
  ~FileMemory();
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  Address base() const { return base_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t offset_of(Address address) const {
    return static_cast<std::int64_t>(address.value - base_.value);
  }
  const std::string& folder() const { return folder_->path(); }
  DiskTraffic& traffic() const { return *traffic_; }  // others may be counted there too

  // In full, from any number of threads at once. Next to nothing of it is in the system's cache of pages
  // afterwards: memory that a plan gave up is not to be taken for the file instead. Throws DeviceError,
  // disk_failure.
  void write(std::int64_t offset, std::span<const std::byte> bytes);
  void read(std::int64_t offset, std::span<std::byte> bytes);
  [[noreturn]] void fail(const std::string& why) const;

 private:
  // Memory that lies as the disk wants it, for values that do not.
  struct Bounce {
    std::mutex mutex;
    AlignedBytes memory;
    std::span<std::byte> bytes;
  };
  void reserve() const;
  void go_past_the_cache();
  // Where the whole blocks of `count` bytes at `offset` begin and end, counted from there.
  struct Blocks {
    std::size_t begin, end;
  };
  Blocks blocks_of(std::int64_t offset, std::size_t count) const;
  bool lies_well(const std::byte* memory) const;  // for the disk to take it as it is
  void write_piece(int file, std::int64_t offset, std::span<const std::byte> bytes) const;
  void read_piece(int file, std::int64_t offset, std::span<std::byte> bytes) const;
  void write_blocks(std::int64_t offset, std::span<const std::byte> bytes);
  void read_blocks(std::int64_t offset, std::span<std::byte> bytes);
  void write_cached(std::int64_t offset, std::span<const std::byte> bytes);
  void read_cached(std::int64_t offset, std::span<std::byte> bytes);

  const std::shared_ptr<const Folder> folder_;
  const std::int64_t bytes_;
  const std::shared_ptr<DiskTraffic> traffic_;
  FileHandle cached_, direct_;  // the same file; no `direct_` where the file system has no such way
  bool takes_sectors_ = false;  // `direct_` takes memory that is aligned to sectors
  Bounce out_, in_;
  Address base_;
};

// Throws DeviceError, disk_failure, which says which folder, and what to do.
[[noreturn]] void fail_in(const Folder& folder, const std::string& why);

}  // namespace tidemark
