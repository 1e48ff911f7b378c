// ZIP archives (APPNOTE.TXT of PKWARE), as far as .npz needs them: members that are stored or deflated are
// read, stored ones written, with 64-bit sizes where they are needed. zlib inflates. Refused: encryption,
// members that overlap or leave the file, sizes that deflate cannot reach, checksums that do not hold.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tidemark/files/file_bytes.h"

namespace tidemark {

class OutputFile;

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  // 0: stored, 8: deflated
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0;   // bytes in the archive, and of the member
  std::uint64_t header = 0, begin = 0;  // where its header and its bytes are
};

class ZipFile {
 public:
  explicit ZipFile(FileBytes file);

  const FileBytes& bytes() const { return file_; }
  const std::vector<ZipMember>& members() const { return members_; }
  // The first bytes of a member, as many as there is room for in the parts, one after the other; where that
  // is all of it, its checksum is looked at.
  void read(const ZipMember& member, std::span<const std::span<std::byte>> parts) const;

 private:
  void read_directory();
  void locate_members(std::uint64_t directory);

  FileBytes file_;
  std::vector<ZipMember> members_;
};

// Writes members one after the other, then the directory.
class ZipWriter {
 public:
  explicit ZipWriter(OutputFile& file) : file_(file) {}
  // Of the pieces one after the other.
  void add(const std::string& name, std::span<const std::span<const std::byte>> pieces);
  void finish();

 private:
  void put(std::string_view bytes);

  OutputFile& file_;
  std::uint64_t end_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace tidemark
