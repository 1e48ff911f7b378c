#include "tests/support/loop_programs.h"

#include <cmath>
#include <numbers>

namespace tidemark::testing {
namespace {

Tensor laplacian(const Tensor& u) {
  const std::int64_t n = u.size(0), m = u.size(1);
  const Tensor p = pad(u, {2, 2}, {2, 2});
  const auto at = [&](std::int64_t y, std::int64_t x) {
    return slice(p, {2 + y, 2 + x}, {2 + y + n, 2 + x + m});
  };
  const Tensor near = (at(0, -1) + at(0, 1)) + (at(-1, 0) + at(1, 0));
  const Tensor far = (at(0, -2) + at(0, 2)) + (at(-2, 0) + at(2, 0));
  return -5.0 * u + ((4.0 / 3) * near + (-1.0 / 12) * far);
}

}  // namespace

Wave::Medium Wave::medium() const {
  constexpr int sponge = 20;
  const auto n = static_cast<std::size_t>(cells);
  std::vector<float> taper(n, 1), courant2(n * n), keep(n * n), source(n * n, 0);
  for (std::size_t i = 0; i < std::min<std::size_t>(n, sponge); ++i) {
    const double depth = 0.4 * static_cast<double>(sponge - i) / sponge;
    const auto factor = static_cast<float>(std::exp(-depth * depth));
    taper[i] *= factor, taper[n - 1 - i] *= factor;
  }
  for (std::size_t y = 0; y < n; ++y) {
    for (std::size_t x = 0; x < n; ++x) {
      const double wave = std::sin(0.05 * static_cast<double>(x)) * std::cos(0.07 * static_cast<double>(y));
      courant2[y * n + x] = static_cast<float>(0.16 + 0.04 * wave);
      keep[y * n + x] = taper[y] * taper[x];
    }
  }
  source[(n / 2) * n + n / 2] = 1;
  const Shape shape{cells, cells};
  return {tensor(courant2, shape), tensor(keep, shape), tensor(source, shape)};
}

Tensor Wave::wavelet(std::int64_t steps) const {
  std::vector<float> amplitudes;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double a = std::numbers::pi * (0.02 * static_cast<double>(i) - 1.2);
    amplitudes.push_back(static_cast<float>((1 - 2 * a * a) * std::exp(-a * a)));
  }
  return tensor(amplitudes, {steps});
}

Tensor Wave::heard(const Tensor& courant2, const Medium& m, const Tensor& amplitudes) const {
  const std::int64_t row = std::min<std::int64_t>(24, cells - 1);
  const auto step = [&](const std::pair<Tensor, Tensor>& state, const Tensor& amplitude) {
    const auto& [now, before] = state;
    Tensor after = m.keep * ((2.0 * now - m.keep * before) + courant2 * laplacian(now));
    after = after + m.source * amplitude;
    const Tensor receivers = slice(after, {row, 0}, {row + 1, cells}, {1, 8});
    return std::pair(std::pair(after, now), sum(square(receivers)));
  };
  const Tensor zero = zeros({cells, cells});
  return 0.5 * sum(scan(step, std::pair(zero, zero), amplitudes).second);
}

Tensor lstm_loss(const nn::LstmLayer& layer, const Tensor& x) {
  return sum(square(layer.scanned(x, layer.start(x.size(1))).first));
}

}  // namespace tidemark::testing
