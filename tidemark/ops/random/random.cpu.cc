#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "tidemark/base/philox.h"
#include "tidemark/kernel/philox_words.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/random/random_stream.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/normal_quantile.h"

namespace tidemark {
namespace {

Philox key_of(const KernelArgs& args) { return {static_cast<std::uint64_t>(*args.in[0].as<std::int64_t>())}; }

constexpr std::int64_t block_grain = 2048;  // Philox blocks per task
constexpr std::int64_t chunk_words = 512;

// Where the elements of a call begin among the key's.
std::uint64_t first_of(const KernelArgs& args) {
  return args.in.size() < 2 ? 0 : static_cast<std::uint64_t>(*args.in[1].as<std::int64_t>());
}

// Calls fill(words, skip, first, count) for every chunk: the words of its blocks, of which each has per_block
// elements, give elements [first, first + count) behind the `skip` that belong to nobody.
template <int per_block, class F>
void for_each_chunk(const KernelArgs& args, std::uint64_t stream, const F& fill) {
  const std::int64_t n = args.out[0].count();
  const Philox philox = key_of(args);
  const std::uint64_t start = first_of(args), first_block = start / per_block;
  const auto ahead = static_cast<std::int64_t>(start % per_block);  // in the first block
  parallel_for(*args.pool, (ahead + n + per_block - 1) / per_block, block_grain,
               [&](std::int64_t begin, std::int64_t end) {
                 std::uint32_t words[chunk_words];
                 for (std::int64_t b = begin; b < end; b += chunk_words / 4) {
                   const std::int64_t blocks = std::min(end - b, chunk_words / 4);
                   const std::int64_t skip = b == 0 ? ahead : 0, first = b * per_block - ahead + skip;
                   philox_words(philox, first_block + static_cast<std::uint64_t>(b), stream, blocks, words);
                   fill(words, skip, first, std::min(blocks * per_block - skip, n - first));
                 }
               });
}

void run_bits(const KernelArgs& args) {
  static_assert(std::endian::native == std::endian::little);  // the words' bytes in memory are the elements'
  const auto& attrs = args.attrs<RandomBitsAttrs>();
  const auto run = [&]<int size>() {
    for_each_chunk<16 / size>(
        args, stream_of(RandomDomain::bits, attrs.stream),
        [&](const std::uint32_t* words, std::int64_t skip, std::int64_t first, std::int64_t count) {
          std::memcpy(args.out[0].data + first * size,
                      reinterpret_cast<const std::byte*>(words) + skip * size,
                      static_cast<std::size_t>(count * size));
        });
  };
  switch (size_of(attrs.dtype)) {
    case 1:
      return run.template operator()<1>();
    case 4:
      return run.template operator()<4>();
    default:
      return run.template operator()<8>();
  }
}

// The largest value of T below x, for a uniform draw that rounding lifted onto the open end.
template <class T>
T below(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(x, -std::numeric_limits<T>::infinity());
  } else {
    const bool zero = (x.bits & 0x7fffu) == 0;
    if (zero) {
      x.bits = 0x8001u;
    } else {
      x.bits = static_cast<std::uint16_t>(x.bits & 0x8000u ? x.bits + 1 : x.bits - 1);
    }
    return x;
  }
}

void run_uniform(const KernelArgs& args) {
  const auto& attrs = args.attrs<RandomUniformAttrs>();
  dispatch_float(attrs.dtype, [&]<class T>() {
    using W = compute_t<T>;
    T* out = args.out[0].as<T>();
    const auto fill = [&](const std::uint32_t* words, std::int64_t skip, std::int64_t first,
                          std::int64_t count) {
      words += skip * static_cast<std::int64_t>(sizeof(W) / 4);
      const W low = static_cast<W>(attrs.low), high = static_cast<W>(attrs.high), span = high - low;
      const T last = below(T(high));
      T* to = out + first;
      for (std::int64_t i = 0; i < count; ++i) {
        W unit;
        if constexpr (sizeof(W) == 8) {
          unit = unit_double(words[2 * i], words[2 * i + 1]);
        } else {
          unit = unit_float(words[i]);
        }
        const T value = T(low + span * unit);
        to[i] = static_cast<W>(value) < high ? value : last;
      }
    };
    for_each_chunk<16 / sizeof(W)>(args, stream_of(RandomDomain::uniform, attrs.stream), fill);
  });
}

void run_normal(const KernelArgs& args) {
  const auto& attrs = args.attrs<RandomNormalAttrs>();
  dispatch_float(attrs.dtype, [&]<class T>() {
    using W = compute_t<T>;
    T* out = args.out[0].as<T>();
    for_each_chunk<16 / sizeof(W)>(
        args, stream_of(RandomDomain::normal, attrs.stream),
        [&](const std::uint32_t* words, std::int64_t skip, std::int64_t first, std::int64_t count) {
          words += skip * static_cast<std::int64_t>(sizeof(W) / 4);
          static_assert(quantile_chunk >= chunk_words);
          double p[chunk_words];  // the middles of some of 2³² or 2⁵² equal parts of (0, 1)
          for (std::int64_t i = 0; i < count; ++i) {
            if constexpr (sizeof(W) == 8) {
              const std::uint64_t bits = std::uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
              p[i] = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
            } else {
              p[i] = (static_cast<double>(words[i]) + 0.5) * 0x1p-32;
            }
          }
          double x[chunk_words];
          normal_quantiles(p, count, x);
          const double mean = attrs.mean, deviation = attrs.deviation;
          T* to = out + first;
          for (std::int64_t i = 0; i < count; ++i) to[i] = T(static_cast<W>(mean + deviation * x[i]));
        });
  });
}

void run_bernoulli(const KernelArgs& args) {
  const auto& attrs = args.attrs<RandomBernoulliAttrs>();
  const BernoulliDraw draw = bernoulli_draw(attrs.p, attrs.stream);
  bool* out = args.out[0].as<bool>();
  if (draw.threshold >> 32) {
    std::fill_n(out, args.out[0].count(), true);
    return;
  }
  for_each_chunk<4>(
      args, draw.stream,
      [&, bound = static_cast<std::uint32_t>(draw.threshold)](const std::uint32_t* words, std::int64_t skip,
                                                              std::int64_t first, std::int64_t count) {
        bool* to = out + first;
        for (std::int64_t i = 0; i < count; ++i) to[i] = words[skip + i] < bound;
      });
}

using Words = std::array<std::uint32_t, 4>;

// Fisher-Yates. Sequential by nature; the bias of scaling 64 random bits to [0, i] is below i 2⁻⁶⁴.
void run_permutation(const KernelArgs& args) {
  const auto& attrs = args.attrs<RandomPermutationAttrs>();
  const Philox philox = key_of(args);
  std::int64_t* out = args.out[0].as<std::int64_t>();
  std::iota(out, out + attrs.size, std::int64_t{0});
  for (std::int64_t i = attrs.size - 1; i > 0; --i) {
    const Words words =
        philox(static_cast<std::uint64_t>(i), stream_of(RandomDomain::permutation, attrs.stream));
    const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1],
                        range = static_cast<std::uint64_t>(i) + 1;
    const auto j = static_cast<std::int64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
    std::swap(out[i], out[j]);
  }
}

std::int64_t key_from(const Words& words) {
  return std::bit_cast<std::int64_t>(std::uint64_t{words[0]} << 32 | words[1]);
}

void run_split(const KernelArgs& args) {
  const Philox philox = key_of(args);
  std::int64_t* out = args.out[0].as<std::int64_t>();
  for (std::int64_t i = 0; i < args.out[0].count(); ++i) {
    out[i] = key_from(philox(static_cast<std::uint64_t>(i), stream_of(RandomDomain::split)));
  }
}

void run_fold_in(const KernelArgs& args) {
  const auto number = static_cast<std::uint64_t>(*args.in[1].as<std::int64_t>());
  *args.out[0].as<std::int64_t>() = key_from(key_of(args)(number, stream_of(RandomDomain::fold)));
}

// About 30 integer operations per 32-bit word, and what the op makes of a word.
template <int per_word>
Cost cost(const Call& call) {
  const double words = static_cast<double>(call.out[0].bytes()) / 4;
  return {.flops = (30 + per_word) * words, .bytes = static_cast<double>(call.out[0].bytes())};
}
Cost cost_bernoulli(const Call& call) {
  return {.flops = 32.0 * static_cast<double>(call.out[0].count()),
          .bytes = static_cast<double>(call.out[0].bytes())};
}

}  // namespace

BernoulliDraw bernoulli_draw(double p, std::int64_t stream) {
  return {stream_of(RandomDomain::bernoulli, stream), static_cast<std::uint64_t>(std::llround(p * 0x1p32))};
}

std::uint64_t rounding_stream(std::int64_t stream) { return stream_of(RandomDomain::rounding, stream); }

const CpuKernel cpu::random_bits = cpu_kernel<RandomBitsAttrs>(run_bits, {.cost = cost<0>});
const CpuKernel cpu::random_uniform = cpu_kernel<RandomUniformAttrs>(run_uniform, {.cost = cost<4>});
const CpuKernel cpu::random_normal = cpu_kernel<RandomNormalAttrs>(run_normal, {.cost = cost<220>});
const CpuKernel cpu::random_bernoulli =
    cpu_kernel<RandomBernoulliAttrs>(run_bernoulli, {.cost = cost_bernoulli});
const CpuKernel cpu::random_permutation =
    cpu_kernel<RandomPermutationAttrs>(run_permutation, {.cost = cost<4>});
const CpuKernel cpu::random_split = cpu_kernel<RandomSplitAttrs>(run_split, {.cost = cost<0>});
const CpuKernel cpu::fold_in = cpu_kernel<NoAttrs>(run_fold_in, {.cost = cost<0>});

}  // namespace tidemark
