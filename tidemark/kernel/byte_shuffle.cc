#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/byte_shuffle.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "tidemark/base/check.h"
#include "tidemark/kernel/byte_shuffle.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sixteen elements at a time: vectors of 16 bytes interleave alike on all machines, and are at the speed of
// memory. `stride`: from a plane to the next, as many bytes as there are elements.
constexpr hn::Full128<std::uint8_t> bytes_16;
constexpr std::size_t step = 16;

template <std::size_t width>
HWY_INLINE void shuffle_step(const std::uint8_t* from, std::uint8_t* to, std::size_t stride) {
  if constexpr (width == 2) {
    hn::Vec<decltype(bytes_16)> a, b;
    hn::LoadInterleaved2(bytes_16, from, a, b);
    hn::StoreU(a, bytes_16, to);
    hn::StoreU(b, bytes_16, to + stride);
  } else if constexpr (width == 4) {
    hn::Vec<decltype(bytes_16)> a, b, c, d;
    hn::LoadInterleaved4(bytes_16, from, a, b, c, d);
    hn::StoreU(a, bytes_16, to);
    hn::StoreU(b, bytes_16, to + stride);
    hn::StoreU(c, bytes_16, to + 2 * stride);
    hn::StoreU(d, bytes_16, to + 3 * stride);
  } else {  // bytes k and k + 4 of elements come in turns
    hn::Vec<decltype(bytes_16)> a0, a1, a2, a3, b0, b1, b2, b3;
    hn::LoadInterleaved4(bytes_16, from, a0, a1, a2, a3);
    hn::LoadInterleaved4(bytes_16, from + 4 * step, b0, b1, b2, b3);
    const auto store = [&](std::size_t k, auto a, auto b) {
      hn::StoreU(hn::ConcatEven(bytes_16, b, a), bytes_16, to + k * stride);
      hn::StoreU(hn::ConcatOdd(bytes_16, b, a), bytes_16, to + (k + 4) * stride);
    };
    store(0, a0, b0);
    store(1, a1, b1);
    store(2, a2, b2);
    store(3, a3, b3);
  }
}

template <std::size_t width>
HWY_INLINE void unshuffle_step(const std::uint8_t* from, std::uint8_t* to, std::size_t stride) {
  const auto plane = [&](std::size_t k) { return hn::LoadU(bytes_16, from + k * stride); };
  if constexpr (width == 2) {
    hn::StoreInterleaved2(plane(0), plane(1), bytes_16, to);
  } else if constexpr (width == 4) {
    hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), bytes_16, to);
  } else {
    const auto low = [&](std::size_t k) { return hn::InterleaveLower(bytes_16, plane(k), plane(k + 4)); };
    const auto high = [&](std::size_t k) { return hn::InterleaveUpper(bytes_16, plane(k), plane(k + 4)); };
    hn::StoreInterleaved4(low(0), low(1), low(2), low(3), bytes_16, to);
    hn::StoreInterleaved4(high(0), high(1), high(2), high(3), bytes_16, to + 4 * step);
  }
}

template <std::size_t width>
void shuffle_elements(const std::uint8_t* from, std::uint8_t* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + step <= count; i += step) shuffle_step<width>(from + i * width, to + i, count);
  for (; i < count; ++i)
    for (std::size_t k = 0; k < width; ++k) to[k * count + i] = from[i * width + k];
}

template <std::size_t width>
void unshuffle_elements(const std::uint8_t* from, std::uint8_t* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + step <= count; i += step) unshuffle_step<width>(from + i, to + i * width, count);
  for (; i < count; ++i)
    for (std::size_t k = 0; k < width; ++k) to[i * width + k] = from[k * count + i];
}

void shuffle_all(std::size_t width, const std::uint8_t* from, std::uint8_t* to, std::size_t count) {
  if (width == 2) return shuffle_elements<2>(from, to, count);
  if (width == 4) return shuffle_elements<4>(from, to, count);
  shuffle_elements<8>(from, to, count);
}

void unshuffle_all(std::size_t width, const std::uint8_t* from, std::uint8_t* to, std::size_t count) {
  if (width == 2) return unshuffle_elements<2>(from, to, count);
  if (width == 4) return unshuffle_elements<4>(from, to, count);
  unshuffle_elements<8>(from, to, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {
HWY_EXPORT(shuffle_all);
HWY_EXPORT(unshuffle_all);

// What is left to `move` are whole elements of several bytes each.
template <class Move>
void move_bytes(std::size_t width, std::span<const std::byte> from, std::byte* to, const Move& move) {
  TM_CHECK(width == 1 || width == 2 || width == 4 || width == 8, "elements of {} bytes", width);
  const std::size_t count = width == 1 ? 0 : from.size() / width, moved = count * width;
  if (count > 0)
    move(width, reinterpret_cast<const std::uint8_t*>(from.data()), reinterpret_cast<std::uint8_t*>(to),
         count);
  if (moved < from.size()) std::memcpy(to + moved, from.data() + moved, from.size() - moved);
}

}  // namespace

void shuffle_bytes(std::size_t width, std::span<const std::byte> elements, std::byte* planes) {
  move_bytes(width, elements, planes, HWY_DYNAMIC_DISPATCH(shuffle_all));
}

void unshuffle_bytes(std::size_t width, std::span<const std::byte> planes, std::byte* elements) {
  move_bytes(width, planes, elements, HWY_DYNAMIC_DISPATCH(unshuffle_all));
}

}  // namespace tidemark
#endif
