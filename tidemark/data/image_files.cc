#include "tidemark/data/image_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tidemark/files/npy.h"

namespace tidemark::data {
namespace {

constexpr std::int64_t cifar_pixels = 3 * 32 * 32;

// An IDX file as an archive of one tensor: conversions and checks are those of every file of tensors.
class IdxFile : public TensorArchive {
 public:
  explicit IdxFile(const FileBytes& file) : TensorArchive(file.name()), file_(file) { read_header(); }

 protected:
  void read_bytes(const StoredTensor& stored, std::span<std::byte> to) const override {
    file_.read(to, stored.begin);
    arrange_npy_elements({.stored = stored, .fortran_order = false, .big_endian = true}, to);
  }
  std::shared_ptr<const std::byte> map_bytes(const StoredTensor&) const override { return nullptr; }

 private:
  void read_header() {
    struct Kind {
      std::uint8_t code;
      Element element;
    };
    constexpr Kind kinds[] = {{0x08, Element::u8},  {0x09, Element::i8},  {0x0b, Element::i16},
                              {0x0c, Element::i32}, {0x0d, Element::f32}, {0x0e, Element::f64}};
    if (file_.size() < 4) file_.refuse("it is too short for an IDX file");
    const auto zeros = file_.read_value<std::uint16_t>(0);
    const auto code = file_.read_value<std::uint8_t>(2);
    const auto rank = file_.read_value<std::uint8_t>(3);
    if (zeros == 0x8b1f)
      file_.refuse("it is compressed by gzip", "a plain IDX file", "unpack it first: gunzip FILE");
    const auto* found = std::ranges::find(kinds, code, &Kind::code);
    if (zeros != 0 || found == std::end(kinds))
      file_.refuse("it does not begin as an IDX file",
                   "two zeros, a type of 8 to 14, the number of dimensions");
    StoredTensor stored{.name = "tensor", .element = found->element};
    for (std::uint64_t i = 0; i < rank; ++i)
      stored.shape.push_back(__builtin_bswap32(file_.read_value<std::uint32_t>(4 + 4 * i)));
    stored.begin = 4 + 4 * std::uint64_t{rank};
    stored.end = file_.size();
    const auto bits = stored_bits(stored.element, stored.shape);
    if (!bits || *bits / 8 != stored.end - stored.begin) {
      file_.refuse(fmt::format("{} does not fit the {} bytes that are there", to_string(stored),
                               stored.end - stored.begin),
                   "a whole file and nothing behind it");
    }
    set_tensors({std::move(stored)});
  }

  const FileBytes& file_;
};

}  // namespace

Tensor read_idx(const FileBytes& file) {
  const IdxFile idx(file);
  return idx.read(idx.tensors()[0]);
}

Tensor read_idx(const std::string& path, SourceLine where) {
  return at_line(where, [&] { return read_idx(FileBytes::open(path, where)); });
}

Images read_mnist(const std::string& images, const std::string& labels, SourceLine where) {
  return at_line(where, [&] {
    Images set{read_idx(images, where), Tensor()};
    const FileBytes file = FileBytes::open(labels, where);
    const IdxFile idx(file);
    const StoredTensor& stored = idx.tensors()[0];
    if (stored.shape.size() != 1 || set.images.rank() < 1 || stored.shape[0] != set.images.size(0)) {
      file.refuse(fmt::format("labels {} for images {}", to_string(stored), to_string(set.images.type())),
                  "as many as there are images", "is it the other file of the set?");
    }
    if (!is_convertible(stored.element, DType::i32)) file.refuse("labels that are no whole numbers");
    set.labels = idx.read(stored, DType::i32);
    return set;
  });
}

Images read_cifar(std::span<const FileBytes> files, Cifar kind) {
  const std::int64_t labels = kind == Cifar::ten ? 1 : 2, at = kind == Cifar::hundred ? 1 : 0,
                     record = labels + cifar_pixels;
  const int classes = kind == Cifar::ten ? 10 : kind == Cifar::hundred ? 100 : 20;
  std::int64_t count = 0;
  for (const FileBytes& file : files) {
    const auto size = static_cast<std::int64_t>(file.size());
    if (size % record != 0) {
      file.refuse(fmt::format("{} bytes are no whole number of images of {} bytes", size, record),
                  kind == Cifar::ten ? "CIFAR-10, binary version" : "CIFAR-100, binary version");
    }
    count += size / record;
  }
  NewTensor images({DType::u8, {count, 3, 32, 32}}), label({DType::i32, {count}});
  std::vector<std::byte> one(static_cast<std::size_t>(record));
  std::int64_t row = 0;
  for (const FileBytes& file : files) {
    for (std::uint64_t offset = 0; offset < file.size(); offset += one.size(), ++row) {
      file.read(one, offset);
      const auto value = std::to_integer<std::int32_t>(one[static_cast<std::size_t>(at)]);
      if (value >= classes) {
        file.refuse(fmt::format("image {} is labelled {}", offset / one.size(), value),
                    fmt::format("0 to {}", classes - 1));
      }
      std::memcpy(images.bytes.data() + row * cifar_pixels, one.data() + labels, cifar_pixels);
      std::memcpy(label.bytes.data() + 4 * row, &value, 4);
    }
  }
  return {std::move(images).tensor(), std::move(label).tensor()};
}

Images read_cifar(const std::vector<std::string>& paths, Cifar kind, SourceLine where) {
  return at_line(where, [&] {
    std::vector<FileBytes> files;
    for (const std::string& path : paths) files.push_back(FileBytes::open(path, where));
    return read_cifar(files, kind);
  });
}

}  // namespace tidemark::data
