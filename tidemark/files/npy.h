// .npy, one array of NumPy (numpy.lib.format, versions 1 to 3): a magic, the length of a header, the header
// as the text of a Python dictionary, the elements. Read in C and in Fortran order, little- and big-endian;
// written in C order, little-endian.
#pragma once
#include "tidemark/files/archive.h"
#include "tidemark/files/file_bytes.h"

namespace tidemark {

struct NpyHeader {
  StoredTensor stored;  // begin, end: of its elements in the file
  bool fortran_order = false;
  bool big_endian = false;
};

// Of an array of which `file` holds the beginning and `size` bytes are there in all.
NpyHeader read_npy_header(const FileBytes& file, std::uint64_t size);
inline constexpr std::uint64_t most_npy_header_bytes = 1 << 16;

// From the order and the bytes of the file to row-major and little-endian; in place where the order is right.
// `bytes` holds the elements as they were in the file.
void arrange_npy_elements(const NpyHeader& header, std::span<std::byte> bytes);

// Magic to header, with elements at a multiple of 64. Throws Error `dtype_mismatch` for bf16, which NumPy
// does not have.
std::string npy_header_text(const NamedTensor& tensor);

class NpyFile : public TensorArchive {  // of one tensor, named "tensor"
 public:
  explicit NpyFile(FileBytes file);

 protected:
  void read_bytes(const StoredTensor& stored, std::span<std::byte> to) const override;
  std::shared_ptr<const std::byte> map_bytes(const StoredTensor& stored) const override;

 private:
  FileBytes file_;
  NpyHeader header_;
};

void write_npy(const std::string& path, const NamedTensor& tensor, SourceLine where);

}  // namespace tidemark
