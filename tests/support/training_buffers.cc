#include "tests/support/training_buffers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tidemark/solve/pack/work.h"

namespace tidemark::testing {
namespace {

using packing::Noise;

constexpr std::int64_t grain = 256;  // bytes; sizes are multiples
constexpr int ops_per_layer = 14;
constexpr int buffers_per_op = 3;  // about

int below(Noise& noise, int n) { return static_cast<int>(noise.uniform() * n); }

// Powers of two and all between, from grain × 2^low to grain × 2^high.
std::int64_t random_size(Noise& noise, double low, double high) {
  return grain * static_cast<std::int64_t>(std::exp2(low + (high - low) * noise.uniform()));
}

std::int64_t on_grain(double bytes) {
  return std::max(grain, static_cast<std::int64_t>(bytes) / grain * grain);
}

std::vector<PackItem> mixed(int count, Noise& noise) {
  std::vector<PackItem> items;
  for (int i = 0; i < count; ++i) {
    const bool long_lived = noise.uniform() < 0.1;
    const double length = long_lived ? noise.uniform() * count / 2 : std::exp2(12 * noise.uniform());
    const std::int64_t lower = below(noise, count);
    const std::int64_t upper =
        std::min<std::int64_t>(count + 10, lower + 1 + static_cast<std::int64_t>(length));
    items.push_back({lower, upper, random_size(noise, 0, 14)});
  }
  return items;
}

}  // namespace

std::vector<PackItem> training_buffers(TrainingShape shape, int count, std::uint64_t seed) {
  Noise noise(seed);
  if (shape == TrainingShape::mixed) return mixed(count, noise);

  const int layers = std::max(1, count / (ops_per_layer * buffers_per_op));
  constexpr int kinds = 4;
  std::array<std::array<std::int64_t, ops_per_layer>, kinds> sizes;
  for (auto& kind : sizes)
    for (std::int64_t& size : kind) size = random_size(noise, 4, 14);

  const std::int64_t ops = std::int64_t{layers} * ops_per_layer;
  std::vector<std::int64_t> bytes;
  for (int layer = 0; layer < layers; ++layer) {
    const int kind = shape == TrainingShape::transformer ? 0 : below(noise, kinds);
    const double scale =
        shape == TrainingShape::unet ? std::exp2(-12.0 * std::min(layer, layers - layer) / layers) : 1;
    for (int k = 0; k < ops_per_layer; ++k)
      bytes.push_back(on_grain(scale * static_cast<double>(sizes[kind][k])));
  }

  constexpr std::array<std::int64_t, 6> stays = {1, 1, 1, 2, 3, 7};
  std::vector<PackItem> items;
  std::int64_t update = 2 * ops;
  for (std::int64_t op = ops - 1; op >= 0; --op) {
    const std::int64_t backward = 2 * ops - 1 - op, size = bytes[static_cast<std::size_t>(op)];
    const std::int64_t stay = stays[static_cast<std::size_t>(below(noise, 6))];
    items.push_back({op, noise.uniform() < 0.55 ? backward + 1 : op + 1 + stay, size});
    items.push_back({backward, backward + 1 + stays[static_cast<std::size_t>(below(noise, 6))], size});
    if (noise.uniform() < 0.35)  // scratch
      items.push_back({backward, backward + 1, on_grain(static_cast<double>(size) / (1 << below(noise, 3)))});
    if (noise.uniform() < 0.3) {  // a weight's gradient and the scratch of its update
      const std::int64_t weight = random_size(noise, 0, 12);
      items.push_back({backward, update + 1, weight});
      items.push_back({update, update + 1, weight});
      ++update;
    }
  }
  return items;
}

}  // namespace tidemark::testing
