// .npz: arrays of NumPy (.npy) in a ZIP archive, a member NAME.npy each. Members that are no arrays are
// passed over.
#pragma once
#include "tidemark/files/npy.h"
#include "tidemark/files/zip.h"

namespace tidemark {

class NpzFile : public TensorArchive {
 public:
  explicit NpzFile(FileBytes file);

 protected:
  void read_bytes(const StoredTensor& stored, std::span<std::byte> to) const override;
  std::shared_ptr<const std::byte> map_bytes(const StoredTensor&) const override { return nullptr; }

 private:
  struct Array {
    NpyHeader header;
    const ZipMember* member;
  };
  ZipFile zip_;
  std::map<std::string, Array> arrays_;
};

void write_npz(const std::string& path, std::span<const NamedTensor> tensors, SourceLine where);

}  // namespace tidemark
