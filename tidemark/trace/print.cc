#include "tidemark/trace/print.h"
#include "tidemark/trace/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

namespace tidemark {
namespace {

// What is shown of a tensor's elements, in order: all, or the ends of each dimension.
class Shown {
 public:
  Shown(const Shape& shape, const PrintOptions& options)
      : shape_(shape), edge_(element_count(shape) > options.threshold ? options.edge : -1) {}

  bool abridges(int axis) const { return edge_ >= 0 && shape_[axis] > 2 * edge_; }
  // Calls f(position), and between the ends gap().
  template <class F, class Gap>
  void along(int axis, const F& f, const Gap& gap) const {
    const std::int64_t size = shape_[axis];
    for (std::int64_t i = 0; i < size; ++i) {
      if (abridges(axis) && i == edge_) {
        gap();
        i = size - edge_;
        if (i == size) return;
      }
      f(i);
    }
  }
  std::vector<std::int64_t> elements() const {
    std::vector<std::int64_t> list;
    collect(0, 0, list);
    return list;
  }

 private:
  void collect(int axis, std::int64_t offset, std::vector<std::int64_t>& list) const {
    if (axis == shape_.rank()) return list.push_back(offset);
    along(
        axis, [&](std::int64_t i) { collect(axis + 1, offset * shape_[axis] + i, list); }, [] {});
  }

  const Shape& shape_;
  std::int64_t edge_;  // -1: everything is shown
};

// A finite number of one dtype, with the fewest digits from which it is read back.
using Text = char[1024];  // 1.8e308 has 309 digits before its point, 5e-324 some 750 behind it
template <class T>
std::string shortest(T x, std::chars_format format) {
  Text text;
  return {text, std::to_chars(text, text + sizeof text, x, format).ptr};
}
template <class T>
std::string rounded(T x, std::chars_format format, int digits) {
  Text text;
  return {text, std::to_chars(text, text + sizeof text, x, format, digits).ptr};
}
// 16-bit floats have no shortest text of their own: digits are added until the number is met.
template <class Narrow>
std::string shortest_narrow(double x, std::chars_format format) {
  for (int digits = 0; digits < 12; ++digits) {
    const std::string scientific = rounded(x, std::chars_format::scientific, digits);
    const float back = std::strtof(scientific.c_str(), nullptr);
    if (static_cast<float>(Narrow(back)) != static_cast<float>(x)) continue;
    return shortest(std::strtod(scientific.c_str(), nullptr), format);
  }
  return shortest(x, format);
}
std::string digits_of(DType dtype, double x, std::chars_format format) {
  switch (dtype) {
    case DType::f32:
      return shortest(static_cast<float>(x), format);
    case DType::f16:
      return shortest_narrow<Float16>(x, format);
    case DType::bf16:
      return shortest_narrow<BFloat16>(x, format);
    default:
      return shortest(x, format);
  }
}

std::string without_zeros(std::string text) {  // "2.50" → "2.5", "2" → "2."
  if (text.find('.') == std::string::npos) return text + ".";
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

struct Parts {
  std::string whole, fraction;  // around the point
  std::string exponent;         // its sign and digits, or empty
};
Parts parts_of(DType dtype, double x, std::chars_format format, int precision) {
  std::string text = digits_of(dtype, x, format);
  const auto fraction_size = [](const std::string& t) {
    const std::size_t point = t.find('.'), end = std::min(t.find('e'), t.size());
    return point == std::string::npos ? 0 : static_cast<int>(end - point - 1);
  };
  if (fraction_size(text) > precision) text = rounded(x, format, precision);
  Parts parts;
  if (const std::size_t e = text.find('e'); e != std::string::npos) {
    parts.exponent = text.substr(e + 1);
    text.erase(e);
  }
  text = without_zeros(text);
  const std::size_t point = text.find('.');
  parts.whole = text.substr(0, point);
  parts.fraction = text.substr(point + 1);
  return parts;
}

// Numbers of a floating-point tensor as columns with their points below each other. Powers of ten appear
// where NumPy's do.
std::vector<std::string> float_texts(DType dtype, const std::vector<double>& numbers, int precision) {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  bool negative_infinity = false, all_finite = true;
  for (double x : numbers) {
    negative_infinity = negative_infinity || (std::isinf(x) && x < 0);
    all_finite = all_finite && std::isfinite(x);
    if (!std::isfinite(x) || x == 0) continue;
    largest = std::max(largest, std::abs(x));
    smallest = std::min(smallest, std::abs(x));
  }
  const bool scientific = largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::vector<Parts> parts;
  std::size_t left = 0, right = 0, exponent = 0;
  for (double x : numbers) {
    parts.push_back(std::isfinite(x) ? parts_of(dtype, x, format, precision) : Parts{});
    left = std::max(left, parts.back().whole.size());
    right = std::max(right, parts.back().fraction.size());
    exponent = std::max(exponent, parts.back().exponent.size());
  }
  if (exponent > 0) ++exponent;  // the e
  std::size_t width = left + 1 + right + exponent;
  if (!all_finite) width = std::max<std::size_t>(width, negative_infinity ? 4 : 3);
  left = width - 1 - right - exponent;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Parts& p = parts[i];
    if (!std::isfinite(numbers[i])) {
      const std::string_view name = std::isnan(numbers[i]) ? "nan" : numbers[i] < 0 ? "-inf" : "inf";
      texts.push_back(fmt::format("{:>{}}", name, width));
    } else if (scientific) {  // every mantissa with as many digits
      texts.push_back(fmt::format("{:>{}}.{:0<{}}e{}{:0>{}}", p.whole, left, p.fraction, right, p.exponent[0],
                                  p.exponent.substr(1), exponent - 2));
    } else {
      texts.push_back(fmt::format("{:>{}}.{:<{}}", p.whole, left, p.fraction, right));
    }
  }
  return texts;
}

std::vector<std::string> texts_of(const Tensor& tensor, const std::vector<std::int64_t>& elements,
                                  int precision) {
  const DType dtype = tensor.dtype();
  const Reading reading = tensor.read();
  const auto number = [&](std::int64_t i) {
    return read_element(dtype, reading.data() + i * size_of(dtype));
  };
  if (is_float(dtype)) {
    std::vector<double> numbers;
    for (std::int64_t i : elements) numbers.push_back(number(i).as<double>());
    return float_texts(dtype, numbers, precision);
  }
  std::vector<std::string> texts;
  std::size_t width = 0;
  for (std::int64_t i : elements) {
    const Number x = number(i);
    texts.push_back(dtype == DType::boolean ? (x.as<double>() != 0 ? "True" : "False")
                                            : std::to_string(x.as<std::int64_t>()));
    width = std::max(width, texts.back().size());
  }
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

// Brackets around the texts of the elements.
class Writer {
 public:
  Writer(const Shape& shape, const Shown& shown, std::vector<std::string> texts, int width)
      : shape_(shape), shown_(shown), texts_(std::move(texts)), width_(static_cast<std::size_t>(width)) {}

  std::string write() {
    write_axis(0);
    return std::move(out_);
  }

 private:
  void write_axis(int axis) {
    if (axis == shape_.rank()) {
      out_ += texts_[next_++];
      return;
    }
    out_ += '[';
    if (axis + 1 == shape_.rank()) {
      write_row(axis);
    } else {
      const std::string gap = std::string(static_cast<std::size_t>(shape_.rank() - 1 - axis), '\n') +
                              std::string(static_cast<std::size_t>(axis) + 1, ' ');
      bool first = true;
      const auto separate = [&] {
        if (!first) out_ += gap;
        first = false;
      };
      shown_.along(
          axis, [&](std::int64_t) { separate(), write_axis(axis + 1); }, [&] { separate(), out_ += "..."; });
    }
    out_ += ']';
  }

  // A row that is too long for the line goes on below its first element. `reserved`: closing brackets.
  void write_row(int axis) {
    const std::size_t indent = static_cast<std::size_t>(axis) + 1,
                      reserved = static_cast<std::size_t>(shape_.rank());
    std::size_t column = indent;
    bool first = true;
    const auto put = [&](const std::string& text) {
      if (!first && column + 1 + text.size() + reserved > width_) {
        out_ += '\n' + std::string(indent, ' ');
        column = indent;
      } else if (!first) {
        out_ += ' ';
        ++column;
      }
      first = false;
      out_ += text;
      column += text.size();
    };
    shown_.along(
        axis, [&](std::int64_t) { put(texts_[next_++]); }, [&] { put("..."); });
  }

  const Shape& shape_;
  const Shown& shown_;
  const std::vector<std::string> texts_;
  const std::size_t width_;
  std::size_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string to_string(const Tensor& tensor, const PrintOptions& options) {
  if (tensor.empty()) return "empty";
  if (!tensor.is_data()) return to_string(tensor.type()) + " (traced)";
  if (tensor.count() == 0) return fmt::format("[] {}", to_string(tensor.type()));
  const Shown shown(tensor.shape(), options);
  std::vector<std::string> texts = texts_of(tensor, shown.elements(), std::max(options.precision, 0));
  if (tensor.rank() == 0) return texts.front() + (texts.front().back() == '.' ? "0" : "");
  return Writer(tensor.shape(), shown, std::move(texts), options.width).write();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

void detail::fail_tensor_format(const char* message) { throw fmt::format_error(message); }

}  // namespace tidemark
