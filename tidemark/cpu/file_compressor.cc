#include "tidemark/cpu/file_compressor.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark {
namespace {

constexpr std::size_t stored_page = 4096, window_bytes = 128 << 10, most_in_block = compression_block_bytes;
// Before each block: how many bytes follow, and whether they are the block as it is.
using BlockHeader = std::uint32_t;
constexpr BlockHeader as_it_is = BlockHeader{1} << 31;
constexpr std::size_t header_bytes = sizeof(BlockHeader), most_left_over = header_bytes + most_in_block;
constexpr std::size_t sampled_blocks = 4;

std::byte* on_a_page(std::byte* memory) {
  const auto at = static_cast<std::int64_t>(host_address(memory).value);
  return memory + (align_up(at, static_cast<std::int64_t>(stored_page)) - at);
}

// Bytes on their way to the file. What lies in the window is where the file has it within a page, so that the
// disk takes it as it lies.
struct OutStream {
  FileMemory& file;
  std::int64_t position;  // in the file, of what is first in the window
  std::byte* window;
  std::size_t begin = static_cast<std::size_t>(position) % stored_page, end = begin;
  std::uint64_t sum = 0;

  void flush(std::size_t until) {
    const std::span<const std::byte> bytes(window + begin, until - begin);
    file.write(position, bytes);
    sum = schedule::checksum(bytes, sum);
    position += static_cast<std::int64_t>(bytes.size());
    std::memmove(window, window + until, end - until);
    begin = 0;
    end -= until;
  }
};

// Bytes on their way from it, in the same pieces.
struct InStream {
  FileMemory& file;
  std::int64_t position, last;  // in the file: of what is read next, and where the value ends
  std::byte* window;
  std::byte* begin = window + static_cast<std::size_t>(position) % stored_page;
  std::byte* end = begin;
  std::uint64_t sum = 0;

  std::size_t available() const { return static_cast<std::size_t>(end - begin); }
  bool has(std::size_t bytes) {
    while (available() < bytes)
      if (!refill()) return false;
    return true;
  }
  bool refill() {
    const std::size_t phase = static_cast<std::size_t>(position) % stored_page, left = available();
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(last - position, static_cast<std::int64_t>(window_bytes - phase)));
    if (count == 0) return false;
    std::byte* const to = window + phase;
    std::memmove(to - left, begin, left);
    begin = to - left;
    end = to + count;
    file.read(position, {to, count});
    sum = schedule::checksum({to, count}, sum);
    position += static_cast<std::int64_t>(count);
    return true;
  }
};

// Of this thread: a few blocks are over so soon that a turn of somebody else's would be all there is to see.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

FileCompressor::FileCompressor() {
  out_.memory = allocate_aligned(stored_page + window_bytes + most_left_over);
  out_.window = on_a_page(out_.memory.get());
  in_.memory = allocate_aligned(stored_page + most_left_over + window_bytes);
  in_.window = on_a_page(in_.memory.get() + most_left_over);
}

std::optional<StoredValue> FileCompressor::write(FileMemory& file, std::int64_t offset,
                                                 std::span<const std::byte> value, std::size_t width) {
  if (value.size() <= 2 * stored_page) return {};
  const std::lock_guard lock(out_.mutex);
  OutStream out{.file = file, .position = offset, .window = out_.window};
  // Where it must have ended: what it is filled up with to a page fits behind that.
  const std::int64_t limit = offset + static_cast<std::int64_t>(value.size() - stored_page);
  std::int64_t taken = 0;
  while (!value.empty()) {
    const auto block = value.first(std::min(value.size(), most_in_block));
    std::byte* const header_at = out.window + out.end;
    const std::span<std::byte> room(header_at + header_bytes, block.size() - 1);
    auto header = static_cast<BlockHeader>(out_.compressor.compress(width, block, room));
    out.end += header_bytes + (header > 0 ? header : block.size());
    if (header == 0) {
      std::memcpy(room.data(), block.data(), block.size());
      header = as_it_is | static_cast<BlockHeader>(block.size());
    }
    std::memcpy(header_at, &header, header_bytes);
    value = value.subspan(block.size());
    taken += static_cast<std::int64_t>(block.size());
    const std::int64_t ends = out.position + static_cast<std::int64_t>(out.end - out.begin);
    if (ends > limit) return {};
    if (out.end < window_bytes) continue;
    // Before anything is written: does it shrink at all?
    if (out.position == offset && ends - offset + static_cast<std::int64_t>(stored_page) > taken) return {};
    out.flush(window_bytes);
  }
  const std::size_t padded = (out.end + stored_page - 1) / stored_page * stored_page;
  std::memset(out.window + out.end, 0, padded - out.end);
  out.end = padded;
  if (out.end > out.begin) out.flush(out.end);
  return StoredValue{.bytes = out.position - offset, .sum = out.sum};
}

bool FileCompressor::read(FileMemory& file, std::int64_t offset, const StoredValue& stored,
                          std::span<std::byte> value, std::size_t width) {
  const std::lock_guard lock(in_.mutex);
  InStream in{.file = file, .position = offset, .last = offset + stored.bytes, .window = in_.window};
  while (!value.empty()) {
    const auto block = value.first(std::min(value.size(), most_in_block));
    BlockHeader header = 0;
    if (!in.has(header_bytes)) return false;
    std::memcpy(&header, in.begin, header_bytes);
    const std::size_t bytes = header & ~as_it_is;
    const bool plain = (header & as_it_is) != 0;
    if (bytes > block.size() || (plain && bytes != block.size()) || !in.has(header_bytes + bytes))
      return false;
    const std::span<const std::byte> from(in.begin + header_bytes, bytes);
    if (plain) {
      std::memcpy(block.data(), from.data(), bytes);
    } else if (!in_.expander.expand(width, from, block)) {
      return false;
    }
    in.begin += header_bytes + bytes;
    value = value.subspan(block.size());
  }
  in.begin = in.end;
  while (in.refill()) in.begin = in.end;  // what is behind the last block is in the sum
  return in.sum == stored.sum;
}

CompressionSample FileCompressor::sample(std::span<const std::byte> value, std::size_t width) {
  const std::scoped_lock lock(out_.mutex, in_.mutex);
  std::byte* const back = out_.window;  // a block, and behind it what it becomes
  const std::size_t blocks = std::min((value.size() + most_in_block - 1) / most_in_block, sampled_blocks);
  std::size_t taken = 0, stored = 0;
  double seconds = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t at = value.size() / blocks * b / 8 * 8;  // on an element
    const auto block = value.subspan(at, std::min(value.size() - at, most_in_block));
    const std::span<std::byte> room(back + most_in_block, block.size() - 1);
    const double begin = processor_time();
    const std::size_t bytes = out_.compressor.compress(width, block, room);
    if (bytes > 0) in_.expander.expand(width, room.first(bytes), {back, block.size()});
    seconds += processor_time() - begin;
    taken += block.size();
    stored += bytes > 0 ? bytes : block.size();
  }
  if (taken == 0) return {};
  return {.share = static_cast<float>(stored) / static_cast<float>(taken),
          .seconds = static_cast<float>(seconds) / static_cast<float>(taken)};
}

}  // namespace tidemark
