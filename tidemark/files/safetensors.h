// safetensors (https://github.com/huggingface/safetensors), the format of most published models:
//
//   8 bytes   length of the header, little-endian        data begin at a multiple of 64 bytes in ours
//   header    JSON: {"__metadata__": {text: text…}, "NAME": {"dtype": "F32", "shape": [2, 3],
//             "data_offsets": [begin, end]}, …}, then spaces
//   data      of all tensors, row-major, little-endian, without gaps
//
// A file is refused as a whole where it breaks the format: names or fields twice, offsets that overlap, leave
// gaps or leave the file, sizes that do not agree or overflow, a header of more than 100 MB, one that nests
// deeper than the format does, text that is not UTF-8.
#pragma once
#include <span>

#include "tidemark/files/archive.h"
#include "tidemark/files/file_bytes.h"

namespace tidemark {

class SafetensorsFile : public TensorArchive {
 public:
  explicit SafetensorsFile(FileBytes file);
  static SafetensorsFile open(const std::string& path, SourceLine where);

  const FileBytes& bytes() const { return file_; }
  std::uint64_t data_begin() const { return data_begin_; }  // offsets of tensors count from there

 protected:
  void read_bytes(const StoredTensor& stored, std::span<std::byte> to) const override;
  std::shared_ptr<const std::byte> map_bytes(const StoredTensor& stored) const override;

 private:
  FileBytes file_;
  std::uint64_t data_begin_ = 0;
};

// Where the data of each tensor will be, in the order they are written: large elements first, so that all are
// aligned, then by name. Throws Error `bad_attribute` for names that the format cannot hold.
std::vector<StoredTensor> safetensors_layout(std::span<const NamedTensor> tensors);

// Replaces the file at once, or leaves it as it was.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const FileMetadata& metadata, SourceLine where);

}  // namespace tidemark
