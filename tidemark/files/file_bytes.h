// The bytes of a data file, read by places: straight into the memory of a tensor, so that a large file is
// copied once, or not at all where it is mapped. Sizes that a file claims are held against the size it has
// before anything is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tidemark/base/file_handle.h"
#include "tidemark/base/source.h"

namespace tidemark {

class OutputFile;

class FileBytes {
 public:
  // A regular file. Throws Error `bad_file` for what cannot be opened.
  static FileBytes open(const std::string& path, SourceLine where);
  // Bytes in memory, which outlive this: a file inside of another one, or a test. `name` is for messages.
  static FileBytes of(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  // All of `to`. Throws Error `bad_data_file` where the file ends before.
  void read(std::span<std::byte> to, std::uint64_t offset) const;
  template <class T>
  T read_value(std::uint64_t offset) const {  // little-endian, as this machine is
    T value;
    read(std::as_writable_bytes(std::span(&value, 1)), offset);
    return value;
  }

  // The whole file in memory that is the file's own: pages come when they are read. It stays as long as the
  // pointer. Null for bytes in memory. Whoever cuts the file off in the meantime ends this process (SIGBUS);
  // files that are replaced by a new one, as ours are, stay what they were.
  std::shared_ptr<const std::byte> mapped() const;

  // Throws Error `bad_data_file`: "NAME: WHAT".
  [[noreturn]] void refuse(std::string_view what, std::string expected = "", std::string help = "") const;

 private:
  FileBytes(FileHandle file, std::span<const std::byte> memory, std::uint64_t size, std::string name)
      : file_(std::move(file)), memory_(memory), size_(size), name_(std::move(name)) {}

  FileHandle file_;  // none: in memory
  std::span<const std::byte> memory_;
  std::uint64_t size_;
  std::string name_;
  mutable std::weak_ptr<const std::byte> mapping_;
};

// Throws Error `bad_data_file` for a file that is not what it should be.
[[noreturn]] void refuse_file(std::string_view name, std::string_view what, std::string expected = "",
                              std::string help = "");

// A text of a file as it may be shown: no control characters, what is not ASCII as `?`, at most 80 of it.
std::string shown(std::string_view text);

// In pieces, so that no second copy of a large tensor is made on the way.
void write_bytes(OutputFile& file, std::span<const std::byte> bytes);

}  // namespace tidemark
