// Copies of one plan between memory and files. What is written has a checksum, which is looked at when it is
// read back: a disk that gives other bytes is an error, never another number.
//
// Copies may begin and end anywhere: a window on what was written may come back alone, and later values take
// the same bytes. So the places where any copy of the plan begins or ends cut each file into pieces, and each
// piece has one sum, that of what was last written there, and may be compressed by itself. Plans order all
// who touch the same bytes, and with them their sums.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tidemark/cpu/compression_trial.h"
#include "tidemark/cpu/file_arena.h"

namespace tidemark {

class FileCopies;

struct FileCopy {
  FileCopies* copies = nullptr;
  std::int32_t memory = 0;
  std::int64_t offset = 0, bytes = 0, width = 1;  // width: bytes of an element
  std::size_t first_piece = 0, last_piece = 0;    // set once all copies are known

  void write(const std::byte* from) const;
  void read(std::byte* to) const;  // throws DeviceError, disk_failure, where the bytes are others
};

class FileCopies {
 public:
  // Per memory: the file that it is; null: none.
  explicit FileCopies(std::vector<FileArena*> files = {});
  FileCopies(const FileCopies&) = delete;
  FileCopies& operator=(const FileCopies&) = delete;

  FileArena* file(std::int32_t memory) const {
    const auto number = static_cast<std::size_t>(memory);
    return number < files_.size() ? files_[number] : nullptr;
  }
  std::shared_ptr<const FileCopy> add(std::int32_t memory, std::int64_t offset, std::int64_t bytes,
                                      std::int64_t width = 1);
  void link();  // when all are added: makes room for the sums

  // All copies of the plan run in between, or the run is broken off: whether to compress is learnt from it.
  void begin_run() {
    if (trial_) begin_trial_run();
  }
  void end_run() {
    if (trial_ && is_running_) end_trial_run();
  }
  std::int64_t held_bytes() const;

 private:
  friend struct FileCopy;
  struct Piece {
    std::int32_t memory = 0;
    std::int64_t begin = 0;
    std::uint64_t sum = 0;    // of what was last written; 0: nothing was written yet
    std::int64_t stored = 0;  // bytes that it takes, compressed; 0: it lies there as it is
    std::int64_t width = 1;   // of its elements, as it was compressed
    CompressionSample sample = {};
    bool is_promising = false;  // compressing it, by its sample and the disk
  };
  struct DiskSeconds {
    std::int64_t written_bytes = 0, written = 0, read_bytes = 0, read = 0;  // in nanoseconds
  };

  void begin_trial_run();
  void end_trial_run();
  bool find_promising();
  bool write_compressed(const FileCopy& copy, Piece& piece, std::span<const std::byte> value);

  std::vector<FileArena*> files_;
  std::vector<std::shared_ptr<FileCopy>> copies_;
  std::vector<Piece> pieces_;  // each up to where the next begins
  // Where a file asks for it: written between runs, read by the threads of copies.
  std::optional<CompressionTrial> trial_;
  std::chrono::steady_clock::time_point run_began_;
  bool is_running_ = false, is_timing_disks_ = false;
  std::vector<DiskSeconds> before_;  // per memory, when the disks began to be timed
};

}  // namespace tidemark
