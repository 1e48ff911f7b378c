#include "tidemark/cpu/file_memories.h"

#include <algorithm>

#include "tidemark/base/check.h"

namespace tidemark {

void FileMemories::use_folder(int memory, std::shared_ptr<const Folder> folder, DiskCompression compression) {
  TM_CHECK(memory > 0, "computing happens in the first memory, which cannot be files");
  const std::lock_guard lock(mutex_);
  const auto number = static_cast<std::size_t>(memory);
  disks_.resize(std::max(disks_.size(), number + 1));
  disks_[number] = {std::move(folder), compression, std::make_shared<DiskTraffic>()};
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
