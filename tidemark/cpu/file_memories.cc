#include "tidemark/cpu/file_memories.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"

namespace tidemark {

std::shared_ptr<const Folder> open_value_folder(const std::string& path) {
  Result<Folder, std::string> folder = Folder::open(path);
  if (!folder) {
    fail(ErrorCode::bad_file, {.what = fmt::format("no values can be kept in {}: {}", path, folder.error()),
                               .expected = "a folder that files can be made in",
                               .help = "make the folder first, or name another"});
  }
  return std::make_shared<const Folder>(std::move(folder.value()));
}

void FileMemories::use_folder(int memory, std::shared_ptr<const Folder> folder, DiskCompression compression) {
  TM_CHECK(memory > 0, "computing happens in the first memory, which cannot be files");
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<std::size_t>(memory);
  disks_.resize(std::max(disks_.size(), number + 1));
  disks_[number] = {std::move(folder), compression, std::make_shared<DiskTraffic>()};
}

int FileMemories::add_folder(int first, std::shared_ptr<const Folder> folder, DiskCompression compression) {
  TM_CHECK(first > 0, "computing happens in the first memory, which cannot be files");
  const std::lock_guard lock(mutex_);
  auto number = static_cast<std::size_t>(first);
  while (number < disks_.size() && disks_[number].folder) ++number;
  disks_.resize(std::max(disks_.size(), number + 1));
  disks_[number] = {std::move(folder), compression, std::make_shared<DiskTraffic>()};
  return static_cast<int>(number);
}

void FileMemories::drop_folder(int memory) noexcept {
  const std::lock_guard lock(mutex_);
  disks_[static_cast<std::size_t>(memory)] = {};
}

FileMemories::Disk FileMemories::disk_of(int memory) {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<std::size_t>(memory);
  if (number >= disks_.size() || !disks_[number].folder) return {};
  std::shared_ptr<const Folder>& folder = disks_[number].folder;
  if (folder->is_removed()) {
    Result<Folder, std::string> again = Folder::open(folder->path());
    if (!again) fail_in(*folder, "the folder was removed");
    folder = std::make_shared<const Folder>(std::move(again.value()));
  }
  return disks_[number];
}

std::shared_ptr<const DiskTraffic> FileMemories::traffic(int memory) const {
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<std::size_t>(memory);
  return number < disks_.size() ? disks_[number].traffic : nullptr;
}

Address FileMemories::allocate(int memory, std::int64_t bytes) {
  Disk disk = disk_of(memory);
  if (!disk.folder) return {};
  auto file =
      std::make_unique<FileArena>(std::move(disk.folder), bytes, disk.compression, std::move(disk.traffic));
  const Address base = file->memory.base();
  const std::lock_guard lock(mutex_);
  files_.emplace(base.value, std::move(file));
  count_ = files_.size();
  return base;
}

bool FileMemories::release(Address base) noexcept {
  if (count_ == 0) return false;
  const std::lock_guard lock(mutex_);
  const bool found = files_.erase(base.value) > 0;
  count_ = files_.size();
  return found;
}

FileArena* FileMemories::find(Address address) const {
  if (count_ == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  auto after = files_.upper_bound(address.value);
  if (after == files_.begin()) return nullptr;
  FileArena& file = *std::prev(after)->second;
  const std::uintptr_t end = file.memory.base().value + static_cast<std::uintptr_t>(file.memory.bytes());
  return address.value < end ? &file : nullptr;
}

}  // namespace tidemark
