#include "tidemark/files/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tidemark/base/json_reader.h"
#include "tidemark/base/text_file.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

constexpr std::uint64_t most_header_bytes = 100'000'000;  // the limit of the format
constexpr std::size_t most_header_values = std::size_t{1} << 23;
// {name: {"shape": [ is 3; with room for fields that do not belong there, so that they are named.
constexpr int deepest_header = 16;
constexpr std::uint64_t length_bytes = 8;
constexpr std::string_view metadata_name = "__metadata__";
constexpr JsonFileKind header_kind{.name = "header",
                                   .code = ErrorCode::bad_data_file,
                                   .form = "an object of tensors, each with dtype, shape and data_offsets"};

// Before a parser sees it: a text that nests or lists without end would take many times its size.
void require_plain(const FileBytes& file, std::string_view header) {
  int depth = 0;
  std::size_t values = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const char c = header[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
      continue;
    }
    in_text = c == '"';
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    values += c == ',' || c == ':';
    if (depth > deepest_header)
      file.refuse("the header nests deeper than the format does", "tensors, each with a list of sizes");
    if (values > most_header_values)
      file.refuse("the header has too many values", fmt::format("at most {}", most_header_values));
  }
}

std::string header_of(const FileBytes& file) {
  constexpr std::string_view help =
      "is it a safetensors file? Files of pickle (.pt, .bin) are not read: convert them with the safetensors "
      "package";
  if (file.size() < length_bytes) {
    file.refuse(fmt::format("it has {} bytes, too few for a safetensors file", file.size()),
                "a length of 8 bytes, a header and the data", std::string(help));
  }
  const auto length = file.read_value<std::uint64_t>(0);
  if (length > most_header_bytes) {
    file.refuse(fmt::format("a header of {} bytes is announced", length),
                fmt::format("at most {}, the limit of safetensors", most_header_bytes), std::string(help));
  }
  if (length > file.size() - length_bytes) {
    file.refuse(
        fmt::format("a header of {} bytes is announced, and {} follow", length, file.size() - length_bytes),
        "a whole file", "it was cut off on its way here, or is no safetensors file");
  }
  std::string header(length, '\0');
  file.read(std::as_writable_bytes(std::span(header)), length_bytes);
  if (!header.starts_with('{'))
    file.refuse("the header does not begin with `{`", "JSON of tensors", std::string(help));
  return header;
}

StoredTensor stored_tensor(std::string_view name, const JsonReader& value) {
  value.only({"dtype", "shape", "data_offsets"});
  StoredTensor stored{.name = std::string(name)};
  const JsonReader dtype = value.field("dtype");
  const std::optional<Element> element = element_named(dtype.text());
  if (!element) {
    dtype.reject(fmt::format("elements of the unknown type `{}`", shown(dtype.text())),
                 "F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 or BOOL");
  }
  stored.element = *element;
  const JsonReader shape = value.field("shape");
  shape.each([&](const JsonReader& size) { stored.shape.push_back(size.integer(0)); });
  std::vector<std::uint64_t> offsets;
  const JsonReader at = value.field("data_offsets");
  at.each([&](const JsonReader& o) { offsets.push_back(static_cast<std::uint64_t>(o.integer(0))); });
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    at.reject("not where data begin and end", "[begin, end]");
  stored.begin = offsets[0];
  stored.end = offsets[1];
  const std::optional<std::uint64_t> bits = stored_bits(stored.element, stored.shape);
  if (!bits) shape.reject("the sizes multiply to more than any file holds");
  if (*bits % 8 != 0 || *bits / 8 != stored.end - stored.begin) {
    at.reject(fmt::format("{} has {} bytes, and {} are said to be there", to_string(stored), *bits / 8,
                          stored.end - stored.begin));
  }
  return stored;
}

// One after the other from the first byte to the last.
void require_no_gaps(const FileBytes& file, std::vector<StoredTensor> tensors, std::uint64_t data_bytes) {
  std::ranges::sort(tensors, [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  std::string before;
  for (const StoredTensor& stored : tensors) {
    const std::string name = shown(stored.name);
    if (stored.end > data_bytes) {
      file.refuse(fmt::format("`{}` should lie at {} to {} of the data, which are {} bytes", name,
                              stored.begin, stored.end, data_bytes),
                  "all data in the file", "it was cut off on its way here: copy or download it again");
    }
    if (stored.begin < end)
      file.refuse(fmt::format("the data of `{}` and `{}` overlap", before, name), "data of their own");
    if (stored.begin > end)
      file.refuse(fmt::format("{} bytes before `{}` belong to no tensor", stored.begin - end, name),
                  "data without gaps");
    end = stored.end;
    before = name;
  }
  if (end != data_bytes) {
    file.refuse(fmt::format("{} bytes after the last tensor belong to none", data_bytes - end),
                "data without gaps");
  }
}

void read_metadata(const JsonReader& value, FileMetadata& metadata) {
  value.each_field([&](std::string_view name, const JsonReader& text) {
    if (!metadata.emplace(name, text.text()).second)
      text.reject(fmt::format("the field `{}` is there twice", shown(name)));
  });
}

std::string json_text(const std::string& text, std::string_view what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{} `{}` is not UTF-8", what, shown(text)),
                                    .expected = "text, as files are read by other programs too"});
  }
}

std::string header_text(std::span<const StoredTensor> layout, const FileMetadata& metadata) {
  std::vector<std::string> fields;
  if (!metadata.empty()) {
    std::vector<std::string> texts;
    for (const auto& [key, value] : metadata)
      texts.push_back(json_text(key, "the key") + ":" + json_text(value, "the value"));
    fields.push_back(fmt::format("\"{}\":{{{}}}", metadata_name, fmt::join(texts, ",")));
  }
  for (const StoredTensor& t : layout) {
    fields.push_back(fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                                 json_text(t.name, "the name"), facts_of(t.element).name,
                                 fmt::join(t.shape, ","), t.begin, t.end));
  }
  std::string header = fmt::format("{{{}}}", fmt::join(fields, ","));
  const auto end = static_cast<std::int64_t>(header.size() + length_bytes);
  header.append(static_cast<std::size_t>(align_up(end, buffer_alignment) - end), ' ');
  if (header.size() > most_header_bytes) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("a header of {} bytes", header.size()),
                                    .expected = fmt::format("at most {}", most_header_bytes),
                                    .help = "save the tensors in several files"});
  }
  return header;
}

}  // namespace

SafetensorsFile::SafetensorsFile(FileBytes file) : TensorArchive(file.name()), file_(std::move(file)) {
  const std::string header = header_of(file_);
  require_plain(file_, header);
  data_begin_ = length_bytes + header.size();
  std::vector<StoredTensor> tensors;
  try {
    const JsonDocument document(header, header_kind);
    bool has_metadata = false;
    JsonReader(document).each_field([&](std::string_view name, const JsonReader& value) {
      if (name != metadata_name) {
        tensors.push_back(stored_tensor(name, value));
        return;
      }
      if (std::exchange(has_metadata, true)) value.reject("metadata are there twice");
      read_metadata(value, metadata_);
    });
  } catch (const Error& error) {  // it names the header; the user knows the file
    ErrorParts parts = error.parts();
    fail(error.code(), {.what = fmt::format("{}: {}", name_, parts.what), .expected = parts.expected});
  }
  require_no_gaps(file_, tensors, file_.size() - data_begin_);
  set_tensors(std::move(tensors));
}

SafetensorsFile SafetensorsFile::open(const std::string& path, SourceLine where) {
  return at_line(where, [&] { return SafetensorsFile(FileBytes::open(path, where)); });
}

void SafetensorsFile::read_bytes(const StoredTensor& stored, std::span<std::byte> to) const {
  file_.read(to, data_begin_ + stored.begin);
}

std::shared_ptr<const std::byte> SafetensorsFile::map_bytes(const StoredTensor& stored) const {
  const std::uint64_t at = data_begin_ + stored.begin;
  if (at % static_cast<std::uint64_t>(facts_of(stored.element).bits / 8) != 0) return nullptr;
  std::shared_ptr<const std::byte> whole = file_.mapped();
  if (!whole) return nullptr;
  return {whole, whole.get() + at};
}

std::vector<StoredTensor> safetensors_layout(std::span<const NamedTensor> tensors) {
  std::vector<StoredTensor> layout;
  for (const auto& [name, tensor] : tensors) {
    if (name == metadata_name) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("a tensor is named `{}`, which safetensors keeps for itself", name),
            .help = "give it another name"});
    }
    const Shape& shape = tensor.shape();
    layout.push_back({name, element_of(tensor.dtype()), {shape.begin(), shape.end()}, 0, 0});
  }
  std::ranges::sort(layout, [](const StoredTensor& a, const StoredTensor& b) {
    const int x = facts_of(a.element).bits, y = facts_of(b.element).bits;
    return x != y ? x > y : a.name < b.name;
  });
  std::uint64_t end = 0;
  for (StoredTensor& stored : layout) {
    stored.begin = end;
    end += *stored_bits(stored.element, stored.shape) / 8;
    stored.end = end;
  }
  return layout;
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const FileMetadata& metadata, SourceLine where) {
  at_line(where, [&] {
    std::map<std::string_view, const Tensor*> by_name;
    for (const auto& [name, tensor] : tensors) {
      if (!by_name.emplace(name, &tensor).second) {
        fail(ErrorCode::bad_attribute, {.what = fmt::format("two tensors are named `{}`", shown(name)),
                                        .expected = "names of their own",
                                        .help = "do keys of a map have dots in them?"});
      }
    }
    const std::vector<StoredTensor> layout = safetensors_layout(tensors);
    const std::string header = header_text(layout, metadata);
    const std::uint64_t length = header.size();
    OutputFile file(path);
    write_bytes(file, std::as_bytes(std::span(&length, 1)));
    file.write(header);
    for (const StoredTensor& stored : layout) {
      const Tensor& tensor = *by_name.at(stored.name);
      const Reading reading = tensor.read(where);
      write_bytes(file, {reading.data(), static_cast<std::size_t>(tensor.type().bytes())});
    }
    file.commit();
  });
}

}  // namespace tidemark
