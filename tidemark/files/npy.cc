#include "tidemark/files/npy.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/text_file.h"
#include "tidemark/kernel/copy.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) std::ranges::reverse(bytes.subspan(i, size));
}

// A dtype of as many bytes: moving elements needs no more.
DType dtype_of_bytes(int bytes) {
  return bytes == 8 ? DType::i64 : bytes == 4 ? DType::i32 : bytes == 2 ? DType::f16 : DType::u8;
}

}  // namespace

void arrange_npy_elements(const NpyHeader& header, std::span<std::byte> bytes) {
  const int size = facts_of(header.stored.element).bits / 8;
  if (header.big_endian && size > 1) swap_bytes(bytes, static_cast<std::size_t>(size));
  if (!header.fortran_order || header.stored.shape.size() < 2 || bytes.empty()) return;
  const Shape shape(std::span(header.stored.shape));
  Strides strides = shape;
  std::int64_t stride = 1;
  for (int i = 0; i < shape.rank(); ++i) stride *= std::exchange(strides[i], stride);
  const AlignedBytes before = allocate_aligned(static_cast<std::int64_t>(bytes.size()));
  std::memcpy(before.get(), bytes.data(), bytes.size());
  ThreadPool alone(1);  // the pool of a device is the engine's
  const DType dtype = dtype_of_bytes(size);
  copy_elements({bytes.data(), dtype, shape, dense_strides(shape)}, {before.get(), dtype, shape, strides},
                alone);
}

NpyFile::NpyFile(FileBytes file)
    : TensorArchive(file.name()), file_(std::move(file)), header_(read_npy_header(file_, file_.size())) {
  set_tensors({header_.stored});
}

void NpyFile::read_bytes(const StoredTensor& stored, std::span<std::byte> to) const {
  file_.read(to, stored.begin);
  arrange_npy_elements(header_, to);
}

std::shared_ptr<const std::byte> NpyFile::map_bytes(const StoredTensor& stored) const {
  const auto size = static_cast<std::uint64_t>(facts_of(stored.element).bits / 8);
  const bool as_is = !header_.fortran_order && (!header_.big_endian || size == 1);
  std::shared_ptr<const std::byte> whole = as_is && stored.begin % size == 0 ? file_.mapped() : nullptr;
  if (!whole) return nullptr;
  return {whole, whole.get() + stored.begin};
}

void write_npy(const std::string& path, const NamedTensor& tensor, SourceLine where) {
  at_line(where, [&] {
    const std::string header = npy_header_text(tensor);
    const Reading reading = tensor.tensor.read(where);
    OutputFile file(path);
    file.write(header);
    write_bytes(file, {reading.data(), static_cast<std::size_t>(tensor.tensor.type().bytes())});
    file.commit();
  });
}

}  // namespace tidemark
