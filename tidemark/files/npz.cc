#include "tidemark/files/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "tidemark/base/text_file.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

constexpr std::string_view array_suffix = ".npy";
constexpr std::size_t most_name_bytes = 60000;  // ZIP counts them in 16 bits

}  // namespace

NpzFile::NpzFile(FileBytes file) : TensorArchive(file.name()), zip_(std::move(file)) {
  std::vector<StoredTensor> tensors;
  for (const ZipMember& member : zip_.members()) {
    if (!member.name.ends_with(array_suffix)) continue;
    std::vector<std::byte> beginning(std::min(member.size, most_npy_header_bytes));
    const std::span<std::byte> parts[] = {beginning};
    zip_.read(member, parts);
    NpyHeader header = read_npy_header(
        FileBytes::of(beginning, fmt::format("{}: `{}`", name_, shown(member.name))), member.size);
    header.stored.name = member.name.substr(0, member.name.size() - array_suffix.size());
    tensors.push_back(header.stored);
    arrays_.insert_or_assign(header.stored.name, Array{header, &member});
  }
  set_tensors(std::move(tensors));
}

void NpzFile::read_bytes(const StoredTensor& stored, std::span<std::byte> to) const {
  const Array& array = arrays_.at(stored.name);
  std::vector<std::byte> header(stored.begin);
  const std::span<std::byte> parts[] = {header, to};
  zip_.read(*array.member, parts);
  arrange_npy_elements(array.header, to);
}

void write_npz(const std::string& path, std::span<const NamedTensor> tensors, SourceLine where) {
  at_line(where, [&] {
    std::set<std::string_view> names;
    for (const auto& [name, tensor] : tensors) {
      if (!names.insert(name).second || name.size() > most_name_bytes) {
        fail(ErrorCode::bad_attribute,
             {.what = fmt::format("two tensors are named `{}`, or it is too long", shown(name)),
              .expected = "names of their own",
              .help = "do keys of a map have dots in them?"});
      }
    }
    OutputFile file(path);
    ZipWriter zip(file);
    for (const NamedTensor& named : tensors) {
      const std::string header = npy_header_text(named);
      const Reading reading = named.tensor.read(where);
      const std::array<std::span<const std::byte>, 2> pieces = {
          std::as_bytes(std::span(header)),
          std::span<const std::byte>(reading.data(), static_cast<std::size_t>(named.tensor.type().bytes()))};
      zip.add(named.name + std::string(array_suffix), pieces);
    }
    zip.finish();
    file.commit();
  });
}

}  // namespace tidemark
