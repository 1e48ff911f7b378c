// Copies of one plan between memory and files. What is written has a checksum, which is looked at when it is
// read back: a disk that gives other bytes is an error, never another number.
//
// Copies may begin and end anywhere: a window on what was written may come back alone, and later values take
// the same bytes. So the places where any copy of the plan begins or ends cut each file into pieces, and each
// piece has one sum, that of what was last written there. Plans order all who touch the same bytes, and with
// them their sums.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "tidemark/cpu/file_memory.h"

namespace tidemark {

class FileCopies;

struct FileCopy {
  FileCopies* copies = nullptr;
  std::int32_t memory = 0;
  std::int64_t offset = 0, bytes = 0;
  std::size_t first_piece = 0, last_piece = 0;  // set once all copies are known

  void write(const std::byte* from) const;
  void read(std::byte* to) const;  // throws DeviceError, disk_failure, where the bytes are others
};

class FileCopies {
 public:
  // Per memory: the file that it is; null: none.
  explicit FileCopies(std::vector<FileMemory*> files = {}) : files_(std::move(files)) {}
  FileCopies(const FileCopies&) = delete;
  FileCopies& operator=(const FileCopies&) = delete;

  FileMemory* file(std::int32_t memory) const {
    const auto number = static_cast<std::size_t>(memory);
    return number < files_.size() ? files_[number] : nullptr;
  }
  std::shared_ptr<const FileCopy> add(std::int32_t memory, std::int64_t offset, std::int64_t bytes);
  void link();  // when all are added: makes room for the sums
  std::int64_t held_bytes() const;

 private:
  friend struct FileCopy;
  struct Piece {
    std::int32_t memory = 0;
    std::int64_t begin = 0;
    std::uint64_t sum = 0;  // 0: nothing was written yet
    friend auto operator<=>(const Piece&, const Piece&) = default;
  };

  std::vector<FileMemory*> files_;
  std::vector<std::shared_ptr<FileCopy>> copies_;
  std::vector<Piece> pieces_;  // each up to where the next begins
};

}  // namespace tidemark
