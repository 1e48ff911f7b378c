// Philox-4x32-10 on vectors: a lane is a block, so that the rounds need no shuffles. The bits are
// base/philox.h's. Compiled once per Highway target; include it from a file that uses hwy/foreach_target.h.
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

// The blocks first … first + n · Lanes - 1, a block per lane, in n chains that hide each other's latency:
// word w of those in chain i is chains[i][w].
template <int n>
HWY_INLINE void philox_chains(Philox philox, std::uint64_t first, std::uint64_t stream,
                              PhiloxLanes (&chains)[n][4]) {
  const PhiloxTag d;
  const auto lower = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto upper = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto lanes = static_cast<std::uint64_t>(hn::Lanes(d));
  const bool wraps = upper(first) != upper(first + n * lanes - 1);
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) {
    const std::uint64_t at = first + static_cast<std::uint64_t>(i) * lanes;
    PhiloxLanes(&c)[4] = chains[i];
    c[0] = hn::Add(hn::Set(d, lower(at)), hn::Iota(d, 0));
    c[1] = hn::Set(d, upper(at));
    if (HWY_UNLIKELY(wraps)) {  // some lanes have passed 2³²
      HWY_ALIGN std::uint32_t tops[hn::MaxLanes(d)];
      for (std::size_t k = 0; k < lanes; ++k) tops[k] = upper(at + k);
      c[1] = hn::Load(d, tops);
    }
    c[2] = hn::Set(d, lower(stream));
    c[3] = hn::Set(d, upper(stream));
  }
  const PhiloxLanes m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  const PhiloxLanes next0 = hn::Set(d, 0x9E3779B9u), next1 = hn::Set(d, 0xBB67AE85u);
  PhiloxLanes k0 = hn::Set(d, lower(philox.key)), k1 = hn::Set(d, upper(philox.key));
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      PhiloxLanes(&c)[4] = chains[i];
      const PhiloxProduct p0 = philox_multiply(c[0], m0), p1 = philox_multiply(c[2], m1);
      c[0] = hn::Xor(hn::Xor(p1.high, c[1]), k0);
      c[1] = p1.low;
      c[2] = hn::Xor(hn::Xor(p0.high, c[3]), k1);
      c[3] = p0.low;
    }
    k0 = hn::Add(k0, next0), k1 = hn::Add(k1, next1);
  }
}

// The words of the blocks first … first + count - 1, four after each other per block, into `words`.
HWY_INLINE void philox_fill(Philox philox, std::uint64_t first, std::uint64_t stream, std::int64_t count,
                            std::uint32_t* words) {
  const PhiloxTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto fill = [&]<int n>(std::int64_t i) HWY_ATTR {
    PhiloxLanes chains[n][4];
    philox_chains<n>(philox, first + static_cast<std::uint64_t>(i), stream, chains);
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) {
      const PhiloxLanes(&c)[4] = chains[k];
      hn::StoreInterleaved4(c[0], c[1], c[2], c[3], d, words + 4 * (i + k * lanes));
    }
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) fill.template operator()<4>(i);
  for (; i + lanes <= count; i += lanes) fill.template operator()<1>(i);
  for (; i < count; ++i) {
    const std::array<std::uint32_t, 4> block = philox(first + static_cast<std::uint64_t>(i), stream);
    for (std::size_t w = 0; w < 4; ++w) words[4 * static_cast<std::size_t>(i) + w] = block[w];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
