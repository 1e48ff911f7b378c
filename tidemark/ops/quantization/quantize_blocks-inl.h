// Blocks of a value to bytes and back (quant_format.h), on vectors; compiled once per Highway target. For the
// kernels that quantize: a value as it is, or what is left of it.
#if defined(TIDEMARK_OPS_QUANTIZE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_QUANTIZE_BLOCKS_INL_H_
#undef TIDEMARK_OPS_QUANTIZE_BLOCKS_INL_H_
#else
#define TIDEMARK_OPS_QUANTIZE_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tidemark/base/parallel.h"
#include "tidemark/kernel/philox_words.h"
#include "tidemark/ops/quantization/quantize_block.h"
#include "tidemark/ops/quantization/quantize_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace quant {

constexpr std::int64_t blocks_per_task = 128;  // 16k elements, as rows (ops/normalization/rows.h)

// The largest magnitude of a block by its bits, so that infinity is above every number and NaN above that.
HWY_INLINE float largest_magnitude(const float* x) {
  const Ints d;
  const auto mask = hn::Set(d, 0x7fffffff);
  const std::size_t lanes = hn::Lanes(d);
  const auto at = [&](std::size_t i)
                      HWY_ATTR { return hn::And(hn::BitCast(d, hn::LoadU(Floats(), x + i)), mask); };
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (std::size_t i = 0; i < block; i += 4 * lanes) {
    a = hn::Max(a, at(i));
    b = hn::Max(b, at(i + lanes));
    c = hn::Max(c, at(i + 2 * lanes));
    e = hn::Max(e, at(i + 3 * lanes));
  }
  return std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a, b), hn::Max(c, e)))));
}
HWY_INLINE double largest_magnitude(const double* x) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < block; ++i)
    largest = std::max(largest, std::bit_cast<std::uint64_t>(x[i]) & ~(std::uint64_t{1} << 63));
  return std::bit_cast<double>(largest);
}

// The numbers that become codes, within the limit. Those of f64 are rounded to odd on the way to f32, so that
// rounding them to a code rounds once (base/dtype.h).
HWY_INLINE void scale_numbers(const float* x, const BlockScale<float>& scale, float* numbers) {
  const Floats d;
  const auto first = hn::Set(d, scale.first), second = hn::Set(d, scale.second);
  const auto high = hn::Set(d, scale.limit), low = hn::Set(d, -scale.limit);
  for (std::size_t i = 0; i < block; i += hn::Lanes(d)) {
    const auto t = hn::Mul(hn::Mul(hn::LoadU(d, x + i), first), second);
    hn::StoreU(hn::Max(hn::Min(t, high), low), d, numbers + i);
  }
}
HWY_INLINE void scale_numbers(const double* x, const BlockScale<double>& scale, float* numbers) {
  for (std::size_t i = 0; i < block; ++i) {
    const float t = odd_float(x[i] * scale.first * scale.second);
    numbers[i] = t > scale.limit ? scale.limit : t < -scale.limit ? -scale.limit : t;
  }
}

struct Rounding {
  const Philox* philox = nullptr;  // none: to nearest
  std::uint64_t stream = 0;
};

// A block's elements in the type that computes, zeros behind the last: where they lie, if they lie so, else
// in `copied`.
template <class T>
const compute_t<T>* widened(const T* x, std::int64_t count, compute_t<T>* copied) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (count == quant_block) return x;
    std::copy_n(x, count, copied);
  } else {
    tile_load(dtype_of<T>, true)(reinterpret_cast<const std::byte*>(x), 1, count,
                                 reinterpret_cast<std::byte*>(copied));
  }
  std::fill(copied + count, copied + block, compute_t<T>(0));
  return copied;
}

// The codes of a block of finite elements. `number`: which block it is of all.
template <class W>
void encode_block(QuantFormat format, const Rounding& rounding, std::int64_t number, const W* elements,
                  const BlockScale<W>& scale, std::byte* codes) {
  const Floats d;
  if constexpr (std::is_same_v<W, float>) {
    if (scale.plain && !rounding.philox) {
      const auto factor = hn::Set(d, scale.second);
      const auto at = [&](std::size_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, elements + i), factor); };
      return encode(format, at, codes);
    }
  }
  HWY_ALIGN float numbers[block];
  scale_numbers(elements, scale, numbers);
  if (rounding.philox) {
    constexpr std::uint64_t draws = block / 4;  // of four words each
    HWY_ALIGN std::uint32_t words[block];
    philox_words(*rounding.philox, static_cast<std::uint64_t>(number) * draws, rounding.stream, draws, words);
    round_at_random(facts_of(format), words, numbers);
  }
  encode(
      format, [&](std::size_t i) HWY_ATTR { return hn::Load(d, numbers + i); }, codes);
}

// What is known of a block before it is written.
template <class W>
struct ReadBlock {
  const W* elements = nullptr;  // finite ones: zeros where they are not
  bool mixed = false;
  BlockScale<W> scale = {};
};
template <class T>
ReadBlock<compute_t<T>> read_block(const QuantFacts& facts, const Rounding& rounding, const T* x,
                                   std::int64_t count, compute_t<T>* copied) {
  using W = compute_t<T>;
  ReadBlock<W> read{.elements = widened(x, count, copied)};
  W largest = largest_magnitude(read.elements);
  read.mixed = !(largest <= std::numeric_limits<W>::max());
  if (HWY_UNLIKELY(read.mixed)) {
    for (std::size_t i = 0; i < block; ++i)
      copied[i] = std::isfinite(read.elements[i]) ? read.elements[i] : W(0);
    read.elements = copied;
    largest = largest_magnitude(copied);
  }
  read.scale =
      scale_of<W>(facts, largest, read.mixed, rounding.philox != nullptr, max_exponent_of(dtype_of<T>));
  return read;
}

template <class T>
void write_block(QuantFormat format, const Rounding& rounding, std::int64_t number, const T* x,
                 std::int64_t count, const ReadBlock<compute_t<T>>& read, std::byte* to) {
  using W = compute_t<T>;
  HWY_ALIGN std::byte part[2 * block];
  std::byte* codes = count == quant_block ? to + sizeof(W) : part;
  encode_block<W>(format, rounding, number, read.elements, read.scale, codes);
  if (HWY_UNLIKELY(read.mixed)) write_nonfinite(facts_of(format), x, count, codes);
  const W stored = read.mixed ? -read.scale.stored : read.scale.stored;
  std::memcpy(to, &stored, sizeof stored);
  if (codes == part)
    std::memcpy(to + sizeof stored, part, static_cast<std::size_t>(code_bytes(format, count)));
}

// Some blocks, read first and then written: the scale of a block is a long chain of operations, and those of
// several run side by side. They stay in the innermost cache.
constexpr std::int64_t blocks_at_once = 8;
template <class T>
void quantize_blocks(QuantFormat format, const Rounding& rounding, std::int64_t number, const T* x,
                     std::int64_t count, std::byte* to) {
  using W = compute_t<T>;
  HWY_ALIGN W copied[blocks_at_once * block];
  ReadBlock<W> read[blocks_at_once];
  const auto size = [&](std::int64_t b) { return std::min(quant_block, count - b * quant_block); };
  const std::int64_t stride = scale_bytes(dtype_of<T>) + code_bytes(format, quant_block);
  const std::int64_t blocks = (count + quant_block - 1) / quant_block;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = b * quant_block;
    read[b] = read_block(facts_of(format), rounding, x + first, size(b), copied + first);
  }
  for (std::int64_t b = 0; b < blocks; ++b)
    write_block(format, rounding, number + b, x + b * quant_block, size(b), read[b], to + b * stride);
}

HWY_INLINE void scale_back(QuantFormat format, const std::byte* codes, float unit, float scale, float* x) {
  const Floats d;
  const auto by_unit = hn::Set(d, unit), by_scale = hn::Set(d, scale);
  decode(
      format, codes, [&](hn::Vec<Floats> t) HWY_ATTR { return hn::Mul(hn::Mul(t, by_unit), by_scale); }, x);
}
HWY_INLINE void scale_back(QuantFormat format, const std::byte* codes, double unit, double scale, double* x) {
  HWY_ALIGN float numbers[block];
  decode(
      format, codes, [](hn::Vec<Floats> t) HWY_ATTR { return t; }, numbers);
  for (std::size_t i = 0; i < block; ++i) x[i] = static_cast<double>(numbers[i]) * unit * scale;
}

template <class T>
void dequantize_block(QuantFormat format, const std::byte* from, std::int64_t count, T* x) {
  using W = compute_t<T>;
  const QuantFacts& facts = facts_of(format);
  W stored;
  std::memcpy(&stored, from, sizeof stored);
  const bool mixed = std::signbit(stored);
  const std::byte* codes = from + sizeof stored;
  HWY_ALIGN std::byte part[2 * block];
  if (count < quant_block) {
    const auto bytes = static_cast<std::size_t>(code_bytes(format, count));
    std::memcpy(part, codes, bytes);
    std::memset(part + bytes, 0, sizeof part - bytes);
    codes = part;
  }
  HWY_ALIGN W made[block];
  W* elements = made;
  if constexpr (std::is_same_v<T, W>) {
    if (count == quant_block) elements = x;
  }
  scale_back(format, codes, code_unit<W>(facts, mixed), std::abs(stored), elements);
  if (mixed) read_nonfinite(facts, codes, count, elements);
  if constexpr (std::is_same_v<T, W>) {
    if (elements == made) std::copy_n(made, count, x);
  } else {
    tile_store(dtype_of<T>)(reinterpret_cast<const std::byte*>(made), count, reinterpret_cast<std::byte*>(x));
  }
}

// Calls f(first block, elements) for every few blocks of `count` elements.
template <class F>
void for_each_few(ThreadPool& pool, std::int64_t count, const F& f) {
  static_assert(blocks_per_task % blocks_at_once == 0);
  const std::int64_t blocks = (count + quant_block - 1) / quant_block;
  parallel_for(pool, blocks, blocks_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; b += blocks_at_once)
      f(b, std::min(blocks_at_once * quant_block, count - b * quant_block));
  });
}

}  // namespace quant
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
