#include "tidemark/files/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tidemark/base/check.h"
#include "tidemark/base/text_file.h"

namespace tidemark {
namespace {

constexpr std::uint32_t member_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator64_mark = 0x07064b50;
constexpr std::uint64_t member_bytes = 30, entry_bytes = 46, end_bytes = 22, end64_bytes = 56,
                        locator64_bytes = 20;
constexpr std::uint16_t stored_method = 0, deflated_method = 8;
constexpr std::uint32_t in_64_bits = 0xffffffff;
constexpr std::uint16_t extra_64 = 1;
constexpr std::uint64_t most_directory_bytes = 100'000'000;
constexpr std::uint64_t most_expansion = 1040;  // deflate reaches 1032

// Fields of a header, one after the other.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  T next() {
    T value{};
    TM_CHECK(rest_.size() >= sizeof(T));
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  std::span<const std::byte> take(std::size_t count) {
    TM_CHECK(rest_.size() >= count);
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
};

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

struct Directory {
  std::uint64_t begin = 0, bytes = 0, count = 0;
};

// The record at the end of the archive, behind which only a comment may stand.
std::uint64_t find_end(const FileBytes& file) {
  const std::uint64_t most = std::min<std::uint64_t>(file.size(), end_bytes + 0xffff);
  std::vector<std::byte> tail(most);
  file.read(tail, file.size() - most);
  for (std::uint64_t back = end_bytes; back <= most; ++back) {
    Fields fields{std::span<const std::byte>(tail).subspan(most - back)};
    if (fields.next<std::uint32_t>() != end_mark) continue;
    fields.take(16);
    if (fields.next<std::uint16_t>() == back - end_bytes) return file.size() - back;
  }
  file.refuse("it is not a whole ZIP archive: it has no directory at its end", "a .npz file",
              "it was cut off on its way here, or is another format");
}

Directory find_directory(const FileBytes& file) {
  const std::uint64_t end = find_end(file);
  std::array<std::byte, end_bytes> record{};
  file.read(record, end);
  Fields fields(record);
  fields.take(8);  // the mark; numbers of disks
  fields.next<std::uint16_t>();
  Directory directory;
  directory.count = fields.next<std::uint16_t>();
  directory.bytes = fields.next<std::uint32_t>();
  directory.begin = fields.next<std::uint32_t>();
  const bool large =
      directory.count == 0xffff || directory.bytes == in_64_bits || directory.begin == in_64_bits;
  if (large && end >= locator64_bytes &&
      file.read_value<std::uint32_t>(end - locator64_bytes) == locator64_mark) {
    const auto at = file.read_value<std::uint64_t>(end - locator64_bytes + 8);
    if (at > end || end - at < end64_bytes || file.read_value<std::uint32_t>(at) != end64_mark)
      file.refuse("the directory of the ZIP archive is not where it should be");
    directory = {.begin = file.read_value<std::uint64_t>(at + 48),
                 .bytes = file.read_value<std::uint64_t>(at + 40),
                 .count = file.read_value<std::uint64_t>(at + 32)};
  }
  if (directory.begin > end || directory.bytes > end - directory.begin ||
      directory.bytes > most_directory_bytes || directory.count > directory.bytes / entry_bytes)
    file.refuse("the directory of the ZIP archive says more than there is");
  return directory;
}

// Sizes and places that did not fit 32 bits stand in a field of their own, in this order.
void read_extra(const FileBytes& file, std::span<const std::byte> extra, ZipMember& member) {
  Fields fields(extra);
  while (fields.left() >= 4) {
    const auto kind = fields.next<std::uint16_t>();
    const auto length = fields.next<std::uint16_t>();
    if (length > fields.left()) file.refuse("a field of the ZIP archive is longer than its entry");
    Fields inner(fields.take(length));
    if (kind != extra_64) continue;
    for (std::uint64_t* value : {&member.size, &member.packed, &member.header}) {
      if (*value != in_64_bits) continue;
      if (inner.left() < 8) file.refuse("a size of the ZIP archive is missing");
      *value = inner.next<std::uint64_t>();
    }
  }
}

// The bytes of a deflated member, one stretch after the other.
class Inflater {
 public:
  Inflater(const FileBytes& file, const ZipMember& member)
      : file_(file), member_(member), packed_(std::size_t{1} << 16) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void fill(std::span<std::byte> to) {
    if (some_of(to) != to.size()) refuse();
  }
  // There is nothing behind what was read.
  void finish() {
    std::byte past{};
    if (some_of({&past, 1}) != 0) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    file_.refuse(fmt::format("`{}` cannot be inflated", shown(member_.name)));
  }
  // Fewer than asked for at the end of the stream.
  std::size_t some_of(std::span<std::byte> to) {
    constexpr std::size_t most = std::size_t{1} << 30;  // zlib counts in 32 bits
    std::size_t done = 0;
    while (!ended_ && done < to.size()) {
      if (stream_.avail_in == 0 && taken_ < member_.packed) take_more();
      const std::size_t room = std::min(to.size() - done, most);
      stream_.next_out = reinterpret_cast<Bytef*>(to.data() + done);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      ended_ = status == Z_STREAM_END;
      const bool starved = status == Z_BUF_ERROR && stream_.avail_in == 0 && taken_ < member_.packed;
      if (status != Z_OK && !ended_ && !starved) refuse();
    }
    return done;
  }
  void take_more() {
    const auto count = std::min<std::uint64_t>(packed_.size(), member_.packed - taken_);
    file_.read(std::span(packed_).first(count), member_.begin + taken_);
    taken_ += count;
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(count);
  }

  const FileBytes& file_;
  const ZipMember& member_;
  z_stream stream_{};
  std::vector<std::byte> packed_;
  std::uint64_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace

ZipFile::ZipFile(FileBytes file) : file_(std::move(file)) { read_directory(); }

void ZipFile::read_directory() {
  if (file_.size() < end_bytes) {
    file_.refuse(fmt::format("it has {} bytes, too few for a ZIP archive", file_.size()), "a .npz file");
  }
  const Directory directory = find_directory(file_);
  std::vector<std::byte> bytes(directory.bytes);
  file_.read(bytes, directory.begin);
  Fields fields(bytes);
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    if (fields.left() < entry_bytes || fields.next<std::uint32_t>() != entry_mark)
      file_.refuse("the directory of the ZIP archive is broken");
    fields.take(4);  // versions
    const auto flags = fields.next<std::uint16_t>();
    ZipMember member;
    member.method = fields.next<std::uint16_t>();
    fields.take(4);  // time
    member.crc = fields.next<std::uint32_t>();
    member.packed = fields.next<std::uint32_t>();
    member.size = fields.next<std::uint32_t>();
    const std::size_t name = fields.next<std::uint16_t>(), extra = fields.next<std::uint16_t>(),
                      comment = fields.next<std::uint16_t>();
    fields.take(8);  // disk, attributes
    member.header = fields.next<std::uint32_t>();
    if (fields.left() < name + extra + comment) file_.refuse("the directory of the ZIP archive is broken");
    const auto text = fields.take(name);
    member.name.assign(reinterpret_cast<const char*>(text.data()), text.size());
    read_extra(file_, fields.take(extra), member);
    fields.take(comment);
    if (flags & 1) file_.refuse(fmt::format("`{}` is encrypted", shown(member.name)), "plain members");
    members_.push_back(std::move(member));
  }
  locate_members(directory.begin);
}

void ZipFile::locate_members(std::uint64_t directory) {
  std::vector<ZipMember*> order;
  for (ZipMember& member : members_) order.push_back(&member);
  std::ranges::sort(order, {}, [](const ZipMember* m) { return m->header; });
  std::uint64_t end = 0;
  for (ZipMember* member : order) {
    const std::string name = shown(member->name);
    if (member->header < end) file_.refuse(fmt::format("`{}` overlaps another member", name));
    if (member->header > directory || directory - member->header < member_bytes ||
        file_.read_value<std::uint32_t>(member->header) != member_mark)
      file_.refuse(fmt::format("`{}` is not where the directory says", name));
    const std::uint64_t lengths = std::uint64_t{file_.read_value<std::uint16_t>(member->header + 26)} +
                                  file_.read_value<std::uint16_t>(member->header + 28);
    member->begin = member->header + member_bytes + lengths;
    if (member->begin > directory || member->packed > directory - member->begin)
      file_.refuse(fmt::format("`{}` reaches into the directory", name));
    end = member->begin + member->packed;
    if (member->method == stored_method ? member->size != member->packed
                                        : member->size / most_expansion > member->packed)
      file_.refuse(fmt::format("`{}` claims {} bytes out of {}", name, member->size, member->packed));
  }
}

void ZipFile::read(const ZipMember& member, std::span<const std::span<std::byte>> parts) const {
  std::uint64_t total = 0;
  for (const auto& part : parts) total += part.size();
  TM_CHECK(total <= member.size);
  if (member.method == stored_method) {
    std::uint64_t at = member.begin;
    for (const auto& part : parts) {
      file_.read(part, at);
      at += part.size();
    }
  } else if (member.method == deflated_method) {
    Inflater inflater(file_, member);
    for (const auto& part : parts) inflater.fill(part);
    if (total == member.size) inflater.finish();
  } else {
    file_.refuse(fmt::format("`{}` is compressed by method {}", shown(member.name), member.method),
                 "stored or deflated members");
  }
  if (total != member.size) return;
  uLong crc = 0;
  for (const auto& part : parts) crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  if (crc != member.crc) {
    file_.refuse(fmt::format("`{}` is damaged: its checksum does not hold", shown(member.name)),
                 "the bytes that were written", "copy or download the file again");
  }
}

void ZipWriter::put(std::string_view bytes) {
  file_.write(bytes);
  end_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> pieces) {
  ZipMember member{.name = name, .header = end_};
  uLong crc = 0;
  for (const auto& piece : pieces) {
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    member.size += piece.size();
  }
  member.crc = static_cast<std::uint32_t>(crc);
  member.packed = member.size;
  const bool large = member.size >= in_64_bits;
  const auto size32 = large ? in_64_bits : static_cast<std::uint32_t>(member.size);
  std::string header;
  append(header, member_mark);
  append<std::uint16_t>(header, large ? 45 : 20);  // version that is needed
  append<std::uint16_t>(header, 0x800);            // names are UTF-8
  append<std::uint16_t>(header, stored_method);
  append<std::uint32_t>(header, 0x00210000);  // the first of January 1980: files do not depend on clocks
  append(header, member.crc);
  append(header, size32);
  append(header, size32);
  append(header, static_cast<std::uint16_t>(name.size()));
  append<std::uint16_t>(header, large ? 20 : 0);
  header += name;
  if (large) {
    append(header, extra_64);
    append<std::uint16_t>(header, 16);
    append(header, member.size);
    append(header, member.packed);
  }
  put(header);
  member.begin = end_;
  for (const auto& piece : pieces) write_bytes(file_, piece);
  end_ += member.size;
  members_.push_back(std::move(member));
}

void ZipWriter::finish() {
  const std::uint64_t begin = end_;
  for (const ZipMember& member : members_) {
    std::string extra;
    const auto in_32_bits = [&](std::uint64_t value) {
      if (value < in_64_bits) return static_cast<std::uint32_t>(value);
      append(extra, value);
      return in_64_bits;
    };
    const std::uint32_t size = in_32_bits(member.size), packed = in_32_bits(member.packed),
                        header = in_32_bits(member.header);
    const auto length = static_cast<std::uint16_t>(extra.size());
    std::string entry;
    append(entry, entry_mark);
    append<std::uint16_t>(entry, length ? 45 : 20);
    append<std::uint16_t>(entry, length ? 45 : 20);
    append<std::uint16_t>(entry, 0x800);
    append<std::uint16_t>(entry, stored_method);
    append<std::uint32_t>(entry, 0x00210000);
    append(entry, member.crc);
    append(entry, packed);
    append(entry, size);
    append(entry, static_cast<std::uint16_t>(member.name.size()));
    append<std::uint16_t>(entry, static_cast<std::uint16_t>(length ? length + 4 : 0));
    entry.append(8, '\0');  // comment, disk, inner attributes; and the outer ones
    append<std::uint16_t>(entry, 0);
    append(entry, header);
    entry += member.name;
    if (length) {
      append(entry, extra_64);
      append(entry, length);
      entry += extra;
    }
    put(entry);
  }
  const std::uint64_t bytes = end_ - begin, count = members_.size();
  const bool large = count >= 0xffff || bytes >= in_64_bits || begin >= in_64_bits;
  if (large) {
    const std::uint64_t at = end_;
    std::string record;
    append(record, end64_mark);
    append<std::uint64_t>(record, end64_bytes - 12);
    append<std::uint16_t>(record, 45);
    append<std::uint16_t>(record, 45);
    record.append(8, '\0');  // disks
    append(record, count);
    append(record, count);
    append(record, bytes);
    append(record, begin);
    append(record, locator64_mark);
    append<std::uint32_t>(record, 0);
    append(record, at);
    append<std::uint32_t>(record, 1);
    put(record);
  }
  std::string record;
  append(record, end_mark);
  append<std::uint32_t>(record, 0);
  append(record, static_cast<std::uint16_t>(large ? 0xffff : count));
  append(record, static_cast<std::uint16_t>(large ? 0xffff : count));
  append(record, large ? in_64_bits : static_cast<std::uint32_t>(bytes));
  append(record, large ? in_64_bits : static_cast<std::uint32_t>(begin));
  append<std::uint16_t>(record, 0);
  put(record);
}

}  // namespace tidemark
