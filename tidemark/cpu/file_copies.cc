#include "tidemark/cpu/file_copies.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/schedule/store/checksum.h"

namespace tidemark {

std::shared_ptr<const FileCopy> FileCopies::add(std::int32_t memory, std::int64_t offset,
                                                std::int64_t bytes) {
  copies_.push_back(std::make_shared<FileCopy>(
      FileCopy{.copies = this, .memory = memory, .offset = offset, .bytes = bytes}));
  return copies_.back();
}

void FileCopies::link() {
  for (const auto& copy : copies_) {
    pieces_.push_back({copy->memory, copy->offset});
    pieces_.push_back({copy->memory, copy->offset + copy->bytes});
  }
  std::ranges::sort(pieces_);
  pieces_.erase(std::ranges::unique(pieces_).begin(), pieces_.end());
  pieces_.shrink_to_fit();
  for (const auto& copy : copies_) {
    const auto number = [&](std::int64_t at) {
      const Piece wanted{copy->memory, at};
      return static_cast<std::size_t>(std::ranges::lower_bound(pieces_, wanted) - pieces_.begin());
    };
    copy->first_piece = number(copy->offset);
    copy->last_piece = number(copy->offset + copy->bytes);
  }
}

std::int64_t FileCopies::held_bytes() const {
  return static_cast<std::int64_t>(files_.capacity() * sizeof(files_[0]) +
                                   copies_.capacity() * sizeof(copies_[0]) +
                                   copies_.size() * sizeof(FileCopy) + pieces_.capacity() * sizeof(Piece));
}

namespace {

std::uint64_t sum_of(const std::byte* bytes, std::int64_t count) {
  return schedule::checksum({bytes, static_cast<std::size_t>(count)});
}

}  // namespace

void FileCopy::write(const std::byte* from) const {
  auto& pieces = copies->pieces_;
  for (std::size_t p = first_piece; p < last_piece; ++p)
    pieces[p].sum = sum_of(from + (pieces[p].begin - offset), pieces[p + 1].begin - pieces[p].begin);
  copies->file(memory)->write(offset, {from, static_cast<std::size_t>(bytes)});
}

void FileCopy::read(std::byte* to) const {
  FileMemory* const file = copies->file(memory);
  file->read(offset, {to, static_cast<std::size_t>(bytes)});
  const auto& pieces = copies->pieces_;
  for (std::size_t p = first_piece; p < last_piece; ++p) {
    if (pieces[p].sum != sum_of(to + (pieces[p].begin - offset), pieces[p + 1].begin - pieces[p].begin))
      file->fail(
          fmt::format("bytes {} to {} are not what was written", pieces[p].begin, pieces[p + 1].begin));
  }
}

}  // namespace tidemark
