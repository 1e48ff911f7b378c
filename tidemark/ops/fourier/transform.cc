#include "tidemark/ops/fourier/transform.h"

#include "tidemark/ops/fourier/fourier.h"

namespace tidemark {
namespace {

constexpr int small_primes[] = {31, 29, 23, 19, 17, 13, 11, 7, 5, 3, 2};

bool is_smooth(std::int64_t n) {
  for (int prime : small_primes) {
    while (n % prime == 0) n /= prime;
  }
  return n == 1;
}

// At least 2n - 1, with few odd factors: every other radix takes longer than 4 and 2.
std::int64_t convolution_size(std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t odd : {1, 3, 5, 9, 15}) {
    std::int64_t size = odd;
    while (size < 2 * n - 1) size *= 2;
    if (best == 0 || size < best) best = size;
  }
  return best;
}

// A divisor near the root of n: prime factors, large ones first, go to the smaller of two products.
std::int64_t balanced_divisor(std::int64_t n) {
  std::int64_t a = 1, b = 1;
  for (int prime : small_primes) {
    for (; n % prime == 0; n /= prime) (a <= b ? a : b) *= prime;
  }
  return a < b ? a : b;
}

}  // namespace

Radices::Radices(std::int64_t n) : length(n) {
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  if (twos % 2 == 1) {
    radix[count++] = twos == 1 ? 2 : 8;
    twos -= twos == 1 ? 1 : 3;
  }
  for (; twos > 0; twos -= 2) radix[count++] = 4;
  for (int at = static_cast<int>(std::size(small_primes)) - 1; at >= 0; --at) {
    for (; n % small_primes[at] == 0; n /= small_primes[at]) {
      radix[count++] = static_cast<std::int8_t>(small_primes[at]);
    }
  }
}

TransformLength::TransformLength(std::int64_t n)
    : points(n), chirp(!is_smooth(n)), size(chirp ? convolution_size(n) : n), rows(balanced_divisor(size)) {
  if (rows < shortest_side) rows = 1;
  columns = size / rows;
}

TransformForm::TransformForm(TransformKind of, std::int64_t at, std::int64_t n, bool swapped, double factor,
                             double inner_factor)
    : kind(of),
      axis(static_cast<int>(at)),
      length(n),
      swap(swapped),
      scale(factor),
      inner(inner_factor),
      packed(complex_points(of, n) != n),
      by(complex_points(of, n)),
      row_stages(by.columns),
      column_stages(by.rows),
      roots(by.size) {
  if (by.chirp) chirp_roots = RootsOfUnity(2 * by.points);
  if (packed) real_roots = RootsOfUnity(length);
}

TransformForm fft_form(const Call& call) {
  const auto attrs = call.attrs_as<FftAttrs>();
  return {TransformKind::complex, attrs.axis,  call.in[0].shape[static_cast<int>(attrs.axis)],
          attrs.inverse,          attrs.scale, 1};
}
TransformForm rfft_form(const Call& call) {
  const auto attrs = call.attrs_as<RealFftAttrs>();
  return {TransformKind::real_to_half, attrs.axis, attrs.length, false, attrs.scale, attrs.inner};
}
TransformForm irfft_form(const Call& call) {
  const auto attrs = call.attrs_as<RealFftAttrs>();
  return {TransformKind::half_to_real, attrs.axis, attrs.length, true, attrs.scale, attrs.inner};
}

}  // namespace tidemark
