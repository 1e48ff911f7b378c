// Bytes as a polynomial in sizes: "24 KiB · batch · context · layers + 96 MiB". Interpolated exactly, in
// fractions, so that a term which is not there is not there.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tidemark {

// bytes · size0^power0 · size1^power1 · …
struct SizeTerm {
  double bytes = 0;         // the fraction rounded to the nearest double
  std::vector<int> powers;  // one for each size
};

struct SizePolynomial {
  std::vector<SizeTerm> terms;  // none of 0 bytes; the constant first, then by rising powers of the last size

  std::int64_t at(std::span<const std::int64_t> sizes) const;  // rounded to whole bytes
};

// The polynomial of a grid: along each size as many powers as there are nodes, less one. `values`: one for
// each point of the grid, the last size running fastest. Nodes of one size are distinct. Throws Error where
// fractions do not fit 128 bits.
SizePolynomial interpolate(std::span<const std::vector<std::int64_t>> nodes,
                           std::span<const std::int64_t> values);

// A value that was seen at some sizes, and by how much a formula may be off there.
struct SizeSample {
  std::vector<std::int64_t> sizes;
  double bytes = 0, tolerance = 0;
};
// The polynomial of few terms (at most 6) that is within the tolerance of all samples: terms are added one by
// one, each time the one that leaves the least. None where more would be needed. `degrees`: the highest power
// of each size.
std::optional<SizePolynomial> few_terms(std::span<const SizeSample> samples, std::span<const int> degrees);

// The sum of polynomials in the same sizes.
SizePolynomial sum_of(std::span<const SizePolynomial> parts);

std::string to_text(const SizePolynomial& polynomial, std::span<const std::string> names);

}  // namespace tidemark
