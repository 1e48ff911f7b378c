#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "tidemark/base/bytes.h"
#include "tidemark/files/npy.h"

namespace tidemark {
namespace {

using namespace std::literals;

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t fixed_bytes = 8;  // magic and version

struct NpyElement {
  std::string_view text;  // without the order of bytes
  Element element;
};
constexpr std::array<NpyElement, 13> npy_elements = {{{"f8", Element::f64},
                                                      {"f4", Element::f32},
                                                      {"f2", Element::f16},
                                                      {"i8", Element::i64},
                                                      {"i4", Element::i32},
                                                      {"i2", Element::i16},
                                                      {"i1", Element::i8},
                                                      {"u8", Element::u64},
                                                      {"u4", Element::u32},
                                                      {"u2", Element::u16},
                                                      {"u1", Element::u8},
                                                      {"b1", Element::boolean},
                                                      {"?", Element::boolean}}};

// The dictionary, as Python's repr writes it: texts, True and False, tuples of whole numbers.
class DictReader {
 public:
  DictReader(const FileBytes& file, std::string_view text) : file_(file), rest_(text) {}

  void read(NpyHeader& header) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = text();
      expect(':');
      bool& seen = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if (key != "descr" && key != "fortran_order" && key != "shape")
        refuse(fmt::format("an unknown field `{}`", shown(key)));
      if (std::exchange(seen, true)) refuse(fmt::format("the field `{}` is there twice", key));
      if (key == "descr") read_descr(header);
      if (key == "fortran_order") header.fortran_order = truth();
      if (key == "shape") header.stored.shape = sizes();
      if (!take(',') && peek() != '}') refuse(unexpected());
    }
    skip_space();
    if (!rest_.empty()) refuse(unexpected());
    if (!descr || !order || !shape) refuse("a field is missing");
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    file_.refuse(fmt::format("the header of the array: {}", what),
                 "a dictionary of `descr`, `fortran_order` and `shape`");
  }
  std::string unexpected() {
    skip_space();
    return rest_.empty() ? "it ends too early"
                         : fmt::format("`{}` is not expected", shown(rest_.substr(0, 20)));
  }
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  char peek() {
    skip_space();
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool take(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(unexpected());
  }
  std::string_view text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse(unexpected());
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) refuse("a text does not end");
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }
  bool truth() {
    for (const auto& [word, value] : {std::pair("True"sv, true), {"False"sv, false}}) {
      skip_space();
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    refuse(unexpected());
  }
  std::vector<std::int64_t> sizes() {
    constexpr std::size_t most = 64;  // dimensions: NumPy's own limit
    std::vector<std::int64_t> list;
    expect('(');
    while (!take(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error == std::errc::result_out_of_range) refuse("a size is too large");
      if (error != std::errc() || size < 0) refuse(unexpected());
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      take('L');  // as Python 2 wrote
      list.push_back(size);
      if (list.size() > most) refuse("too many dimensions");
      if (!take(',') && peek() != ')') refuse(unexpected());
    }
    return list;
  }
  void read_descr(NpyHeader& header) {
    if (peek() == '[') refuse("it is an array of records, which are not read");
    std::string_view descr = text();
    const std::string whole(descr);
    if (!descr.empty() && "<>|="sv.find(descr[0]) != std::string_view::npos) {
      header.big_endian = descr[0] == '>';
      descr.remove_prefix(1);
    }
    const auto found = std::ranges::find(npy_elements, descr, &NpyElement::text);
    if (found == npy_elements.end()) {
      file_.refuse(fmt::format("elements of the type `{}`", shown(whole)),
                   "floats of 2, 4 or 8 bytes, integers of 1 to 8, bool",
                   descr == "O" ? "objects are pickled, which could run anything: they are never read"
                                : "convert the array with astype() before it is saved");
    }
    header.stored.element = found->element;
  }

  const FileBytes& file_;
  std::string_view rest_;
};

}  // namespace

NpyHeader read_npy_header(const FileBytes& file, std::uint64_t size) {
  std::string start(fixed_bytes, '\0');
  if (file.size() >= fixed_bytes) file.read(std::as_writable_bytes(std::span(start)), 0);
  if (!start.starts_with(npy_magic)) file.refuse("it does not begin as an array of NumPy", "\\x93NUMPY");
  const auto version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3 || start[7] != 0) {
    file.refuse(fmt::format("version {}.{} of the format", version, static_cast<int>(start[7])),
                "1.0, 2.0 or 3.0");
  }
  const std::uint64_t length = version == 1 ? file.read_value<std::uint16_t>(fixed_bytes)
                                            : file.read_value<std::uint32_t>(fixed_bytes);
  const std::uint64_t at = fixed_bytes + (version == 1 ? 2 : 4);
  if (length > most_npy_header_bytes - at)
    file.refuse(fmt::format("a header of {} bytes", length), "a short text");
  std::string text(length, '\0');
  file.read(std::as_writable_bytes(std::span(text)), at);

  NpyHeader header;
  DictReader(file, text).read(header);
  StoredTensor& stored = header.stored;
  stored.name = "tensor";
  stored.begin = at + length;
  stored.end = size;
  const std::optional<std::uint64_t> bits = stored_bits(stored.element, stored.shape);
  if (!bits) file.refuse("the sizes multiply to more than any file holds");
  if (stored.begin > size || *bits / 8 != size - stored.begin) {
    file.refuse(fmt::format("{} has {} bytes, and {} are there", to_string(stored), *bits / 8,
                            size - std::min(stored.begin, size)),
                "a whole array and nothing behind it");
  }
  return header;
}

std::string npy_header_text(const NamedTensor& tensor) {
  const Element element = element_of(tensor.tensor.dtype());
  const auto found = std::ranges::find(npy_elements, element, &NpyElement::element);
  if (found == npy_elements.end()) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("`{}` is {}, which NumPy does not have", shown(tensor.name),
                              to_string(tensor.tensor.type())),
          .expected = "any other dtype",
          .help = "cast it to f32, which holds it exactly, or save it as .safetensors"});
  }
  const Shape& shape = tensor.tensor.shape();
  const bool one_byte = facts_of(element).bits == 8;
  std::string dict =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", one_byte ? '|' : '<',
                  found->text, fmt::join(shape, ", "), shape.rank() == 1 ? "," : "");
  const auto end = static_cast<std::int64_t>(fixed_bytes + 2 + dict.size() + 1);
  dict.append(static_cast<std::size_t>(align_up(end, buffer_alignment) - end), ' ');
  dict += '\n';
  std::string text(npy_magic);
  text += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return text + dict;
}

}  // namespace tidemark
