// Philox-4x32-10 on vectors: a lane is a block, so that the rounds need no shuffles. The bits are base/philox.h's.
// Compiled once per Highway target; include it from a file that uses hwy/foreach_target.h.
#if defined(TIDEMARK_KERNEL_SIMD_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_KERNEL_SIMD_PHILOX_INL_H_
#undef TIDEMARK_KERNEL_SIMD_PHILOX_INL_H_
#else
#define TIDEMARK_KERNEL_SIMD_PHILOX_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "tidemark/base/philox.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PhiloxTag = hn::ScalableTag<std::uint32_t>;
using PhiloxLanes = hn::Vec<PhiloxTag>;

// Word w of the blocks first … first + Lanes - 1 is word(w), a block per lane.
struct PhiloxBlocks {
  PhiloxLanes word0, word1, word2, word3;
};

struct PhiloxProduct {
  PhiloxLanes low, high;
};
HWY_INLINE PhiloxProduct philox_multiply(PhiloxLanes x, PhiloxLanes factor) {
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  const uint32x4_t lower = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(x.raw), vget_low_u32(factor.raw)));
  const uint32x4_t upper = vreinterpretq_u32_u64(vmull_high_u32(x.raw, factor.raw));
  return {PhiloxLanes(vuzp1q_u32(lower, upper)), PhiloxLanes(vuzp2q_u32(lower, upper))};
#else
  const PhiloxTag d;
  const hn::Repartition<std::uint64_t, PhiloxTag> wide;
  const auto even = hn::MulEven(x, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), factor);
  return {hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even)),
          hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)))};
#endif
}

HWY_INLINE PhiloxBlocks philox_blocks(Philox philox, std::uint64_t first, std::uint64_t stream) {
  const PhiloxTag d;
  const auto lower = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto upper = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  PhiloxLanes c0 = hn::Add(hn::Set(d, lower(first)), hn::Iota(d, 0));
  // The lanes whose counter has passed 2³² have wrapped around.
  HWY_ALIGN std::uint32_t tops[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) tops[i] = upper(first + i);
  PhiloxLanes c1 = hn::Load(d, tops), c2 = hn::Set(d, lower(stream)), c3 = hn::Set(d, upper(stream));
  const PhiloxLanes m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  std::uint32_t k0 = lower(philox.key), k1 = upper(philox.key);
  for (int round = 0; round < 10; ++round) {
    const PhiloxProduct p0 = philox_multiply(c0, m0), p1 = philox_multiply(c2, m1);
    c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
    c1 = p1.low;
    c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
    c3 = p0.low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// The words of the blocks first … first + count - 1, four after each other per block, into `words`.
HWY_INLINE void philox_fill(Philox philox, std::uint64_t first, std::uint64_t stream, std::int64_t count,
                            std::uint32_t* words) {
  const PhiloxTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {  // two chains hide each other's latency
    const std::uint64_t at = first + static_cast<std::uint64_t>(i);
    const PhiloxBlocks x = philox_blocks(philox, at, stream);
    const PhiloxBlocks y = philox_blocks(philox, at + static_cast<std::uint64_t>(lanes), stream);
    hn::StoreInterleaved4(x.word0, x.word1, x.word2, x.word3, d, words + 4 * i);
    hn::StoreInterleaved4(y.word0, y.word1, y.word2, y.word3, d, words + 4 * (i + lanes));
  }
  for (; i < count; ++i) {
    const std::array<std::uint32_t, 4> block = philox(first + static_cast<std::uint64_t>(i), stream);
    for (std::size_t w = 0; w < 4; ++w) words[4 * static_cast<std::size_t>(i) + w] = block[w];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
