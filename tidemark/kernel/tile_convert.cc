#include "tidemark/kernel/tile_convert.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

template <class Stored, class Computed>
void load(const std::byte* source, std::int64_t stride, std::int64_t n, std::byte* tile) {
  const auto* from = reinterpret_cast<const Stored*>(source);
  auto* to = reinterpret_cast<Computed*>(tile);
  if (stride == 0) {
    std::fill_n(to, n, static_cast<Computed>(*from));
  } else if (std::is_same_v<Stored, Computed> && stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(Stored));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Computed>(from[i * stride]);
  }
}

template <class Stored>
void store(const std::byte* tile, std::int64_t n, std::byte* target) {
  const auto* from = reinterpret_cast<const float*>(tile);
  auto* to = reinterpret_cast<Stored*>(target);
  for (std::int64_t i = 0; i < n; ++i) to[i] = Stored(from[i]);
}

}  // namespace

TileLoad tile_load(DType storage, bool widen) {
  if (widen && storage == DType::bf16) return load<BFloat16, float>;
  if (widen && storage == DType::f16) return load<Float16, float>;
  switch (size_of(storage)) {
    case 1:
      return load<std::uint8_t, std::uint8_t>;
    case 2:
      return load<std::uint16_t, std::uint16_t>;
    case 4:
      return load<std::uint32_t, std::uint32_t>;
    default:
      return load<std::uint64_t, std::uint64_t>;
  }
}

TileStore tile_store(DType storage) {
  if (storage == DType::bf16) return store<BFloat16>;
  if (storage == DType::f16) return store<Float16>;
  return nullptr;
}

}  // namespace tidemark
