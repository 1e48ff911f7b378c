#include "tidemark/cpu/file_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "tidemark/schedule/store/checksum.h"

namespace tidemark {

FileCopies::FileCopies(std::vector<FileArena*> files) : files_(std::move(files)), before_(files_.size()) {
  if (std::ranges::any_of(files_, [](const FileArena* file) { return file && file->is_tried; }))
    trial_.emplace();
}

std::shared_ptr<const FileCopy> FileCopies::add(std::int32_t memory, std::int64_t offset, std::int64_t bytes,
                                                std::int64_t width) {
  copies_.push_back(std::make_shared<FileCopy>(
      FileCopy{.copies = this, .memory = memory, .offset = offset, .bytes = bytes, .width = width}));
  return copies_.back();
}

void FileCopies::link() {
  for (const auto& copy : copies_) {
    pieces_.push_back({copy->memory, copy->offset});
    pieces_.push_back({copy->memory, copy->offset + copy->bytes});
  }
  const auto place = [](const Piece& piece) { return std::tuple(piece.memory, piece.begin); };
  std::ranges::sort(pieces_, {}, place);
  pieces_.erase(std::ranges::unique(pieces_, {}, place).begin(), pieces_.end());
  pieces_.shrink_to_fit();
  for (const auto& copy : copies_) {
    const auto number = [&](std::int64_t at) {
      const std::tuple wanted(copy->memory, at);
      return static_cast<std::size_t>(std::ranges::lower_bound(pieces_, wanted, {}, place) - pieces_.begin());
    };
    copy->first_piece = number(copy->offset);
    copy->last_piece = number(copy->offset + copy->bytes);
  }
}

std::int64_t FileCopies::held_bytes() const {
  return static_cast<std::int64_t>(files_.capacity() * sizeof(files_[0]) +
                                   copies_.capacity() * sizeof(copies_[0]) +
                                   copies_.size() * sizeof(FileCopy) + pieces_.capacity() * sizeof(Piece) +
                                   before_.capacity() * sizeof(before_[0]));
}

void FileCopies::begin_trial_run() {
  run_began_ = std::chrono::steady_clock::now();
  is_running_ = true;
  if (!trial_->is_plain()) {
    is_timing_disks_ = false;
  } else if (!is_timing_disks_) {
    is_timing_disks_ = true;
    for (std::size_t m = 0; m < files_.size(); ++m) {
      if (!files_[m]) continue;
      const DiskTraffic& traffic = files_[m]->memory.traffic();
      before_[m] = {traffic.written.bytes, traffic.written.nanoseconds, traffic.read.bytes,
                    traffic.read.nanoseconds};
    }
  }
}

void FileCopies::end_trial_run() {
  is_running_ = false;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - run_began_;
  trial_->end_run(taken.count(), trial_->is_plain() && find_promising());
}

// Marks the pieces for which compressing promises to take less time than it saves. Is there one?
bool FileCopies::find_promising() {
  const auto per_byte = [](const DiskTraffic::Way& way, std::int64_t bytes, std::int64_t nanoseconds) {
    const auto moved = static_cast<double>(way.bytes - bytes);
    return moved > 0 ? 1e-9 * static_cast<double>(way.nanoseconds - nanoseconds) / moved : 0;
  };
  bool found = false;
  for (Piece& piece : pieces_) {
    const auto number = static_cast<std::size_t>(piece.memory);
    const FileArena* const file = files_[number];
    if (!file || !file->is_tried) continue;
    const DiskSeconds& before = before_[number];
    const DiskTraffic& traffic = file->memory.traffic();
    const double disk = per_byte(traffic.written, before.written_bytes, before.written) +
                        per_byte(traffic.read, before.read_bytes, before.read);
    piece.is_promising = is_promising(piece.sample.share, piece.sample.seconds, disk);
    found |= piece.is_promising;
  }
  return found;
}

// False: it is to lie there as it is.
bool FileCopies::write_compressed(const FileCopy& copy, Piece& piece, std::span<const std::byte> value) {
  FileArena& file = *files_[static_cast<std::size_t>(copy.memory)];
  if (!file.compressor) return false;
  const auto width = static_cast<std::size_t>(copy.width);
  if (file.is_tried) {
    if (trial_->samples()) piece.sample = file.compressor->sample(value, width);
    if (!trial_->compresses() || !piece.is_promising) return false;
  }
  const std::optional<StoredValue> stored = file.compressor->write(file.memory, piece.begin, value, width);
  piece.is_promising = stored.has_value();
  if (!stored) return false;
  piece.stored = stored->bytes;
  piece.sum = stored->sum;
  piece.width = copy.width;
  return true;
}

namespace {

// Calls whole(first, last) for each run of neighbours that lie there as they are, once `compressed` has told
// so of each.
template <class Compressed, class Whole>
void in_runs(std::size_t first, std::size_t last, const Compressed& compressed, const Whole& whole) {
  for (std::size_t p = first; p < last; ++p) {
    if (!compressed(p)) continue;
    if (first < p) whole(first, p);
    first = p + 1;
  }
  if (first < last) whole(first, last);
}

}  // namespace

void FileCopy::write(const std::byte* from) const {
  auto& pieces = copies->pieces_;
  FileMemory& file = copies->file(memory)->memory;
  const auto bytes_of = [&](std::size_t begin, std::size_t end) {
    const std::int64_t at = pieces[begin].begin;
    return std::span(from + (at - offset), static_cast<std::size_t>(pieces[end].begin - at));
  };
  file.traffic().values += bytes;
  in_runs(
      first_piece, last_piece,
      [&](std::size_t p) { return copies->write_compressed(*this, pieces[p], bytes_of(p, p + 1)); },
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) {
          pieces[p].stored = 0;
          pieces[p].sum = schedule::checksum(bytes_of(p, p + 1));
        }
        file.write(pieces[begin].begin, bytes_of(begin, end));
      });
}

void FileCopy::read(std::byte* to) const {
  const auto& pieces = copies->pieces_;
  FileArena& file = *copies->file(memory);
  const auto bytes_of = [&](std::size_t begin, std::size_t end) {
    const std::int64_t at = pieces[begin].begin;
    return std::span(to + (at - offset), static_cast<std::size_t>(pieces[end].begin - at));
  };
  const auto check = [&](std::size_t p, bool right) {
    if (!right)
      file.memory.fail(
          fmt::format("bytes {} to {} are not what was written", pieces[p].begin, pieces[p + 1].begin));
  };
  file.memory.traffic().values += bytes;
  in_runs(
      first_piece, last_piece,
      [&](std::size_t p) {
        const auto& piece = pieces[p];
        if (piece.stored == 0) return false;
        check(p, file.compressor->read(file.memory, piece.begin, {piece.stored, piece.sum},
                                       bytes_of(p, p + 1), static_cast<std::size_t>(piece.width)));
        return true;
      },
      [&](std::size_t begin, std::size_t end) {
        file.memory.read(pieces[begin].begin, bytes_of(begin, end));
        for (std::size_t p = begin; p < end; ++p)
          check(p, pieces[p].sum == schedule::checksum(bytes_of(p, p + 1)));
      });
}

}  // namespace tidemark
