// An arena on a disk: its file, and what its values pass through where they may be compressed.
#pragma once
#include <memory>

#include "tidemark/cpu/disk_compression.h"
#include "tidemark/cpu/file_compressor.h"
#include "tidemark/cpu/file_memory.h"

namespace tidemark {

struct FileArena {
  // Throws as FileMemory does.
  FileArena(std::shared_ptr<const Folder> folder, std::int64_t bytes,
            DiskCompression compression = DiskCompression::none,
            std::shared_ptr<DiskTraffic> traffic = std::make_shared<DiskTraffic>())
      : memory(std::move(folder), bytes, std::move(traffic)),
        compressor(compression == DiskCompression::none ? nullptr : std::make_unique<FileCompressor>()),
        is_tried(compression == DiskCompression::automatic) {}

  FileMemory memory;
  const std::unique_ptr<FileCompressor> compressor;  // null: values lie there as they are
  const bool is_tried;                               // compressing, where plans are faster for it
};

}  // namespace tidemark
