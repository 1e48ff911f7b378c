#include "tidemark/cuda/disk_copies.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/runtime/disk_memory.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

constexpr std::int64_t piece_bytes = disk_staging_bytes / 2;

std::vector<FileArena*> files_of(const std::vector<DiskCopies::Disk>& disks) {
  std::vector<FileArena*> files;
  for (const DiskCopies::Disk& disk : disks) files.push_back(disk.file);
  return files;
}

}  // namespace

DiskCopies::DiskCopies(std::vector<Disk> disks) : disks_(std::move(disks)), files_(files_of(disks_)) {}

std::optional<std::size_t> DiskCopies::add(const Command& command) {
  const auto in_file = [&](const CommandOperand& operand) {
    return operand.location.base == Location::arena && is_file(operand.location.which);
  };
  const bool from = std::ranges::any_of(command.in, in_file), to = std::ranges::any_of(command.out, in_file);
  if (!from && !to) return std::nullopt;
  if (command.kind != StepKind::copy || from == to) {
    fail(ErrorCode::no_kernel,
         {.what = fmt::format("a GPU cannot run a {} on values in a file", name_of(command.kind)),
          .expected = "copies between a file and memory",
          .where = command.where});
  }
  const Location& at = (to ? command.out[0] : command.in[0]).location;
  Copy copy{.to_file = to, .memory = at.which, .lane = command.lane};
  for (const Copy& other : copies_) {
    TM_CHECK(other.memory != copy.memory || other.to_file != copy.to_file || other.lane == copy.lane,
             "copies of one direction on two lanes");
  }
  const Type& type = command.in[0].type;
  std::byte* const staging =
      disks_[static_cast<std::size_t>(at.which)].staging + (to ? std::int64_t{0} : piece_bytes);
  for (std::int64_t first = 0; first < type.bytes(); first += piece_bytes) {
    auto piece = std::make_unique<Piece>(Piece{.all = this, .staging = staging});
    piece->file = files_.add(at.which, at.offset + first, std::min(piece_bytes, type.bytes() - first),
                             size_of(type.dtype));
    copy.pieces.push_back(std::move(piece));
  }
  copies_.push_back(std::move(copy));
  return copies_.size() - 1;
}

void DiskCopies::put(std::size_t number, CUdeviceptr at, const Stream& stream) const {
  const Copy& copy = copies_[number];
  for (const std::unique_ptr<Piece>& piece : copy.pieces) {
    const std::int64_t bytes = piece->file->bytes;
    if (copy.to_file) {
      stream.copy_to_host(piece->staging, at, bytes);
      stream.call(write_piece, piece.get());
    } else {
      stream.call(read_piece, piece.get());
      stream.copy_to_device(at, piece->staging, bytes);
    }
    at += static_cast<CUdeviceptr>(bytes);
  }
}

void DiskCopies::write_piece(void* of) noexcept {
  const Piece& piece = *static_cast<const Piece*>(of);
  if (piece.all->failed_) return;
  try {
    piece.file->write(piece.staging);
  } catch (...) {
    piece.all->fail_with(std::current_exception());
  }
}

void DiskCopies::read_piece(void* of) noexcept {
  const Piece& piece = *static_cast<const Piece*>(of);
  if (piece.all->failed_) return;
  try {
    piece.file->read(piece.staging);
  } catch (...) {
    piece.all->fail_with(std::current_exception());
  }
}

void DiskCopies::fail_with(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  failed_ = true;
}

void DiskCopies::throw_failure() {
  std::unique_lock lock(mutex_);
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  failed_ = false;
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

std::int64_t DiskCopies::held_bytes() const {
  std::size_t bytes = copies_.capacity() * sizeof(Copy);
  for (const Copy& copy : copies_) bytes += copy.pieces.size() * (sizeof(Piece) + sizeof(copy.pieces[0]));
  return static_cast<std::int64_t>(bytes) + files_.held_bytes();
}

}  // namespace tidemark::cuda

#endif
