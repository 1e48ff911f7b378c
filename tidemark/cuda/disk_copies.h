// The copies of a plan between the GPU's memory and files (cpu/file_copies.h), by way of pinned memory of the
// host. Piece by piece each is a copy and a function of the host, in the stream of its lane or as nodes of a
// recorded graph, so that computing goes on beside it.
//
//   GPU ──── copy ────▶ staging ── function of the host ──▶ file       a half of the staging
//   GPU ◀─── copy ───── staging ◀─ function of the host ─── file       the other half
//
// A disk that fails is told of once the stream is done: functions of the host throw nothing. What follows has
// computed with anything then, and must not be believed.
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tidemark/cpu/file_copies.h"
#include "tidemark/cuda/context.h"
#include "tidemark/runtime/commands.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class DiskCopies {
 public:
  // A memory of the plan; no file: it is none of these.
  struct Disk {
    FileArena* file = nullptr;
    std::byte* staging = nullptr;  // disk_staging_bytes, used by nobody else while the plan runs
  };
  explicit DiskCopies(std::vector<Disk> disks = {});
  DiskCopies(const DiskCopies&) = delete;
  DiskCopies& operator=(const DiskCopies&) = delete;

  bool is_file(std::int32_t memory) const { return files_.file(memory) != nullptr; }
  // Of a command that copies to or from a file: the number of the copy. None: it touches no file. Throws
  // Error no_kernel for any other that does.
  std::optional<std::size_t> add(const Command& command);
  void link() { files_.link(); }  // when all are added

  // Between the file and `at`, in the stream. Copies of one direction follow each other, as those of a lane
  // do.
  void put(std::size_t copy, CUdeviceptr at, const Stream& stream) const;

  // All copies of the plan run in between, or the run is broken off.
  void begin_run() { files_.begin_run(); }
  void end_run() { files_.end_run(); }
  bool failed() const { return failed_; }
  void throw_failure();  // which is forgotten then; nothing where there is none
  std::int64_t held_bytes() const;

 private:
  struct Piece {
    DiskCopies* all = nullptr;
    std::shared_ptr<const FileCopy> file = {};
    std::byte* staging = nullptr;
  };
  struct Copy {
    bool to_file = false;
    std::int32_t memory = 0, lane = 0;
    std::vector<std::unique_ptr<Piece>> pieces = {};  // the driver keeps their addresses
  };
  static void write_piece(void* piece) noexcept;
  static void read_piece(void* piece) noexcept;
  void fail_with(std::exception_ptr failure) noexcept;

  const std::vector<Disk> disks_;
  FileCopies files_;
  std::vector<Copy> copies_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;  // under the mutex: the first
};

}  // namespace tidemark::cuda

#endif
