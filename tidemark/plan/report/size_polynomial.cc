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

double monomial(const std::vector<int>& powers, std::span<const std::int64_t> sizes) {
  double value = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (int p = 0; p < powers[i]; ++p) value *= static_cast<double>(sizes[i]);
  }
  return value;
}

// Least squares by the normal equations, weighted by the tolerances; few unknowns of like size, since columns
// are scaled. None where columns depend on each other.
std::optional<std::vector<double>> least_squares(const std::vector<std::vector<double>>& columns,
                                                 const std::vector<double>& values) {
  const std::size_t n = columns.size();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      for (std::size_t j = 0; j < n; ++j) rows[i][j] += columns[i][k] * columns[j][k];
      rows[i][n] += columns[i][k] * values[k];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t j = i + 1; j < n; ++j) {
      if (std::abs(rows[j][i]) > std::abs(rows[pivot][i])) pivot = j;
    }
    std::swap(rows[i], rows[pivot]);
    if (std::abs(rows[i][i]) < 1e-9) return {};
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t k = i; k <= n; ++k) rows[j][k] -= factor * rows[i][k];
    }
  }
  std::vector<double> solution;
  for (std::size_t i = 0; i < n; ++i) solution.push_back(rows[i][n] / rows[i][i]);
  return solution;
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
    sum += term.bytes * monomial(term.powers, sizes);
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

std::optional<SizePolynomial> few_terms(std::span<const SizeSample> samples, std::span<const int> degrees) {
  constexpr std::size_t most_terms = 6;
  std::vector<std::vector<int>> powers = {{}};  // of all monomials
  for (const int degree : degrees) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& p : powers) {
      for (int power = 0; power <= degree; ++power) {
        longer.push_back(p);
        longer.back().push_back(power);
      }
    }
    powers = std::move(longer);
  }
  // Everything is counted in tolerances: a formula that is off by at most 1 everywhere will do.
  std::vector<double> values;
  for (const SizeSample& sample : samples) values.push_back(sample.bytes / sample.tolerance);
  std::vector<std::vector<double>> columns(powers.size());
  std::vector<double> scales(powers.size(), 0);
  for (std::size_t m = 0; m < powers.size(); ++m) {
    for (const SizeSample& sample : samples)
      columns[m].push_back(monomial(powers[m], sample.sizes) / sample.tolerance);
    scales[m] = *std::ranges::max_element(columns[m]);
    for (double& entry : columns[m]) entry /= scales[m];
  }
  std::vector<std::size_t> chosen;
  std::vector<double> solution;
  const auto most_off = [&](const std::vector<std::vector<double>>& some,
                            const std::vector<double>& factors) {
    double most = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < some.size(); ++i) sum += factors[i] * some[i][k];
      most = std::max(most, std::abs(sum - values[k]));
    }
    return most;
  };
  double off = most_off({}, {});
  while (off > 1) {
    if (chosen.size() == most_terms) return {};
    std::optional<std::size_t> best;
    std::vector<std::vector<double>> tried;
    for (const std::size_t c : chosen) tried.push_back(columns[c]);
    tried.emplace_back();
    for (std::size_t m = 0; m < powers.size(); ++m) {
      if (std::ranges::find(chosen, m) != chosen.end()) continue;
      tried.back() = columns[m];
      const std::optional<std::vector<double>> factors = least_squares(tried, values);
      if (!factors) continue;
      if (const double left = most_off(tried, *factors); left < off) {
        off = left;
        best = m;
        solution = *factors;
      }
    }
    if (!best) return {};
    chosen.push_back(*best);
  }
  std::map<std::vector<int>, double> terms;
  for (std::size_t i = 0; i < chosen.size(); ++i) terms[powers[chosen[i]]] = solution[i] / scales[chosen[i]];
  SizePolynomial polynomial;
  for (const auto& [p, bytes] : terms) polynomial.terms.push_back({bytes, p});
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
