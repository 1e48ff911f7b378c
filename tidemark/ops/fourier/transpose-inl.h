// Lines of numbers turned into lanes and back, in blocks of registers: transforms that lie one after another
// in memory go side by side. Compiled once per Highway target.
#if defined(TIDEMARK_OPS_FOURIER_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_FOURIER_TRANSPOSE_INL_H_
#undef TIDEMARK_OPS_FOURIER_TRANSPOSE_INL_H_
#else
#define TIDEMARK_OPS_FOURIER_TRANSPOSE_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {
namespace turn {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of 16 bytes, which every target has: 4 × 4 or 2 × 2 numbers.
template <class T>
constexpr std::int64_t block = 16 / static_cast<std::int64_t>(sizeof(T));
template <class T>
using Tag = hn::FixedTag<T, 16 / sizeof(T)>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

HWY_INLINE void transpose(Vector<float>& a, Vector<float>& b, Vector<float>& c, Vector<float>& d) {
  const Tag<float> tag;
  const auto ab_low = hn::InterleaveLower(tag, a, b), ab_high = hn::InterleaveUpper(tag, a, b);
  const auto cd_low = hn::InterleaveLower(tag, c, d), cd_high = hn::InterleaveUpper(tag, c, d);
  a = hn::ConcatLowerLower(tag, cd_low, ab_low);
  b = hn::ConcatUpperUpper(tag, cd_low, ab_low);
  c = hn::ConcatLowerLower(tag, cd_high, ab_high);
  d = hn::ConcatUpperUpper(tag, cd_high, ab_high);
}
HWY_INLINE void transpose(Vector<double>& a, Vector<double>& b) {
  const Tag<double> tag;
  const auto low = hn::InterleaveLower(tag, a, b), high = hn::InterleaveUpper(tag, a, b);
  a = low;
  b = high;
}

// from(r) and to(r) are where row r of the block begins. Scaled on the way.
template <class From, class To>
HWY_INLINE void transpose_block(const From& from, const To& to, float scale) {
  const Tag<float> tag;
  const auto factor = hn::Set(tag, scale);
  auto a = hn::LoadU(tag, from(0)), b = hn::LoadU(tag, from(1)), c = hn::LoadU(tag, from(2)),
       d = hn::LoadU(tag, from(3));
  transpose(a, b, c, d);
  hn::StoreU(hn::Mul(a, factor), tag, to(0));
  hn::StoreU(hn::Mul(b, factor), tag, to(1));
  hn::StoreU(hn::Mul(c, factor), tag, to(2));
  hn::StoreU(hn::Mul(d, factor), tag, to(3));
}
template <class From, class To>
HWY_INLINE void transpose_block(const From& from, const To& to, double scale) {
  const Tag<double> tag;
  const auto factor = hn::Set(tag, scale);
  auto a = hn::LoadU(tag, from(0)), b = hn::LoadU(tag, from(1));
  transpose(a, b);
  hn::StoreU(hn::Mul(a, factor), tag, to(0));
  hn::StoreU(hn::Mul(b, factor), tag, to(1));
}

// to(c)[r] = scale · from(r)[c] for r < rows, c < columns.
template <class T, class From, class To>
HWY_INLINE void transpose(const From& from, std::int64_t rows, std::int64_t columns, const To& to, T scale) {
  constexpr std::int64_t size = block<T>;
  const std::int64_t whole_rows = rows / size * size, whole_columns = columns / size * size;
  for (std::int64_t r = 0; r < whole_rows; r += size) {
    for (std::int64_t c = 0; c < whole_columns; c += size) {
      transpose_block([&](std::int64_t i) HWY_ATTR { return from(r + i) + c; },
                      [&](std::int64_t i) HWY_ATTR { return to(c + i) + r; }, scale);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) to(c)[r] = scale * from(r)[c];
  }
}

}  // namespace turn
}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
