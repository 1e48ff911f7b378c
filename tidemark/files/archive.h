// A file of named tensors, whatever its format: what is in it, and how to read one of them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/files/element.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

using FileMetadata = std::map<std::string, std::string>;

struct StoredTensor {
  std::string name;
  Element element = Element::f32;
  std::vector<std::int64_t> shape = {};  // of any rank, as the file says
  std::uint64_t begin = 0, end = 0;      // where its bytes are, for the archive that has it
};
std::string to_string(const StoredTensor& stored);  // "BF16[2, 3]"

class TensorArchive {
 public:
  virtual ~TensorArchive() = default;

  const std::string& name() const { return name_; }                      // of the file
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // sorted by name
  const StoredTensor* find(std::string_view name) const;
  const FileMetadata& metadata() const { return metadata_; }

  // The type it is loaded as. Throws Error `bad_data_file` for elements or ranks that we do not have.
  Type type_of(const StoredTensor& stored) const;
  // Converted to `as` (is_convertible). `map`: it lies in the file's own memory where it can, and is then
  // read-only.
  Tensor read(const StoredTensor& stored, DType as, bool map = false) const;
  Tensor read(const StoredTensor& stored) const { return read(stored, type_of(stored).dtype); }

 protected:
  explicit TensorArchive(std::string name) : name_(std::move(name)) {}
  // Sorts; throws Error `bad_data_file` where two have one name.
  void set_tensors(std::vector<StoredTensor> tensors);

  // Its bytes, row-major, as many as its shape says.
  virtual void read_bytes(const StoredTensor& stored, std::span<std::byte> to) const = 0;
  // The same where they lie; null where they cannot be had so.
  virtual std::shared_ptr<const std::byte> map_bytes(const StoredTensor& stored) const = 0;

  std::string name_;
  FileMetadata metadata_;

 private:
  std::vector<StoredTensor> tensors_;
};

// A tensor of its own memory, not filled yet.
struct NewTensor {
  explicit NewTensor(Type type);
  Tensor tensor() &&;

  std::span<std::byte> bytes;

 private:
  Type type_;
  AlignedBytes memory_;
};

// The bits of a tensor with these sizes; none where they are negative, or too many for any file, also if
// sizes of 0 were 1.
std::optional<std::uint64_t> stored_bits(Element element, std::span<const std::int64_t> shape);

}  // namespace tidemark
