#include "tidemark/plan/report/size_polynomial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

__extension__ typedef __int128 Wide;  // an extension of all compilers that we build with

Wide product(Wide a, Wide b) {
  Wide result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(ErrorCode::bad_plan_option,
         {.what = "a formula over sizes that lie too far apart", .help = "give a narrower range of sizes"});
  return result;
}

Wide greatest_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// In lowest terms, the denominator positive.
class Fraction {
 public:
  Fraction(Wide above = 0, Wide below = 1) : above_(above), below_(below) {  // NOLINT: numbers are fractions
    Wide divisor = greatest_divisor(above, below);
    if (below < 0) divisor = -divisor;
    above_ /= divisor;
    below_ /= divisor;
  }
  bool zero() const { return above_ == 0; }
  explicit operator double() const { return static_cast<double>(above_) / static_cast<double>(below_); }

  friend Fraction operator+(const Fraction& a, const Fraction& b) {
    const Wide divisor = greatest_divisor(a.below_, b.below_);
    const Wide above = product(a.above_, b.below_ / divisor) + product(b.above_, a.below_ / divisor);
    return {above, product(a.below_ / divisor, b.below_)};
  }
  friend Fraction operator-(const Fraction& a, const Fraction& b) {
    return a + Fraction(-b.above_, b.below_);
  }
  friend Fraction operator*(const Fraction& a, const Fraction& b) {
    const Fraction first(a.above_, b.below_), second(b.above_, a.below_);  // small before they are multiplied
    return {product(first.above_, second.above_), product(first.below_, second.below_)};
  }

 private:
  Wide above_, below_;
};

// Values at the nodes become coefficients of rising powers: divided differences, then Newton's form
// multiplied out.
std::vector<Fraction> coefficients(const std::vector<std::int64_t>& nodes, std::vector<Fraction> values) {
  const std::size_t n = nodes.size();
  for (std::size_t order = 1; order < n; ++order) {
    for (std::size_t i = n - 1; i >= order; --i)
      values[i] = (values[i] - values[i - 1]) * Fraction(1, nodes[i] - nodes[i - order]);
  }
  std::vector<Fraction> powers(n);
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t p = n - 1; p > 0; --p) powers[p] = powers[p - 1] - powers[p] * Fraction(nodes[i]);
    powers[0] = values[i] - powers[0] * Fraction(nodes[i]);
  }
  return powers;
}

std::string bytes_text(double bytes) {
  const auto whole = static_cast<std::int64_t>(bytes);
  if (static_cast<double>(whole) != bytes && bytes < 1024) return fmt::format("{:.4g} B", bytes);
  std::string text = to_string(Bytes(whole));
  if (const auto zeros = text.find(".00 "); zeros != std::string::npos) text.erase(zeros, 3);
  return text;
}

}  // namespace

std::int64_t SizePolynomial::at(std::span<const std::int64_t> sizes) const {
  double sum = 0;
  for (const SizeTerm& term : terms) {
    TM_CHECK(term.powers.size() == sizes.size());
    double bytes = term.bytes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (int p = 0; p < term.powers[i]; ++p) bytes *= static_cast<double>(sizes[i]);
    }
    sum += bytes;
  }
  return std::llround(sum);
}

SizePolynomial interpolate(std::span<const std::vector<std::int64_t>> nodes,
                           std::span<const std::int64_t> values) {
  std::size_t count = 1;
  for (const std::vector<std::int64_t>& axis : nodes) count *= axis.size();
  TM_CHECK(count == values.size() && count > 0);
  std::vector<Fraction> grid(values.begin(), values.end());
  // One size after the other: what it does to the lines of the grid along that size.
  std::size_t stride = count;
  for (const std::vector<std::int64_t>& axis : nodes) {
    stride /= axis.size();
    for (std::size_t begin = 0; begin < count; ++begin) {
      if (begin / stride % axis.size() != 0) continue;
      std::vector<Fraction> line;
      for (std::size_t i = 0; i < axis.size(); ++i) line.push_back(grid[begin + i * stride]);
      line = coefficients(axis, std::move(line));
      for (std::size_t i = 0; i < axis.size(); ++i) grid[begin + i * stride] = line[i];
    }
  }
  SizePolynomial polynomial;
  for (std::size_t index = 0; index < count; ++index) {
    if (grid[index].zero()) continue;
    SizeTerm term{.bytes = static_cast<double>(grid[index]), .powers = std::vector<int>(nodes.size())};
    for (std::size_t i = nodes.size(), rest = index; i-- > 0; rest /= nodes[i].size())
      term.powers[i] = static_cast<int>(rest % nodes[i].size());
    polynomial.terms.push_back(std::move(term));
  }
  return polynomial;
}

SizePolynomial sum_of(std::span<const SizePolynomial> parts) {
  std::map<std::vector<int>, double> sums;
  for (const SizePolynomial& part : parts) {
    for (const SizeTerm& term : part.terms) sums[term.powers] += term.bytes;
  }
  SizePolynomial sum;
  for (const auto& [powers, bytes] : sums) {
    if (bytes != 0) sum.terms.push_back({bytes, powers});
  }
  return sum;
}

std::string to_text(const SizePolynomial& polynomial, std::span<const std::string> names) {
  constexpr const char* raised[] = {"", "", "²", "³", "⁴"};
  std::string text;
  for (const SizeTerm& term : polynomial.terms) {
    const bool less = term.bytes < 0;
    text += text.empty() ? (less ? "−" : "") : (less ? " − " : " + ");
    text += bytes_text(std::abs(term.bytes));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto power = static_cast<std::size_t>(term.powers[i]);
      if (power > 0) text += fmt::format(" · {}{}", names[i], raised[std::min<std::size_t>(power, 4)]);
    }
  }
  return text.empty() ? "0 B" : text;
}

}  // namespace tidemark
