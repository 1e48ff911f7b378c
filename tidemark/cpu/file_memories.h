// The files of a device: for each memory that has a folder, one per arena.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tidemark/cpu/file_arena.h"

namespace tidemark {

// Throws Error bad_file where it cannot be used.
std::shared_ptr<const Folder> open_value_folder(const std::string& path);

class FileMemories {
 public:
  void use_folder(int memory, std::shared_ptr<const Folder> folder, DiskCompression compression);
  // The same for a memory that has none, from `first` on; its number. Files that it has when it loses its
  // folder stay.
  int add_folder(int first, std::shared_ptr<const Folder> folder, DiskCompression compression);
  void drop_folder(int memory) noexcept;
  // A folder that was removed meanwhile, and made again, is found again by its path.
  // No address: the memory has no folder.
  Address allocate(int memory, std::int64_t bytes);
  bool release(Address base) noexcept;  // false: not one of these
  // Whose address it is; null: nobody's here. It stays until it is released.
  FileArena* find(Address address) const;
  // Of all files that the memory ever had; null: it has no folder.
  std::shared_ptr<const DiskTraffic> traffic(int memory) const;

 private:
  struct Disk {
    std::shared_ptr<const Folder> folder = {};  // null: the memory is no disk
    DiskCompression compression = DiskCompression::none;
    std::shared_ptr<DiskTraffic> traffic = {};
  };
  Disk disk_of(int memory);

  mutable std::mutex mutex_;                                    // of what follows
  std::vector<Disk> disks_;                                     // by memory
  std::map<std::uintptr_t, std::unique_ptr<FileArena>> files_;  // by where they begin
  std::atomic<std::size_t> count_{0};                           // of files: read without the mutex
};

}  // namespace tidemark
