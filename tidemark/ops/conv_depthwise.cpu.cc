#include <algorithm>

#include "tidemark/base/dtype.h"
#include "tidemark/ops/conv_depthwise.h"

namespace tidemark {
namespace {

constexpr std::int64_t chunk = 256;
constexpr std::int64_t work_per_task = 1 << 16;  // multiply-adds

std::int64_t planes_per_task(std::int64_t work_per_plane) {
  return std::max<std::int64_t>(1, work_per_task / std::max<std::int64_t>(1, work_per_plane));
}

// Positions o in [0, limit) with low ≤ o·step + base < high.
struct Span {
  std::int64_t begin, end;
};
Span span_of(std::int64_t base, std::int64_t step, std::int64_t low, std::int64_t high, std::int64_t limit) {
  const auto up = [&](std::int64_t x) { return x <= 0 ? 0 : (x + step - 1) / step; };
  const std::int64_t begin = std::min(up(low - base), limit);
  return {begin, std::clamp(up(high - base), begin, limit)};
}

// The output row that tap k of an input row at i comes from, or -1.
std::int64_t source_row(std::int64_t i, std::int64_t k, std::int64_t stride, std::int64_t low,
                        std::int64_t dilation, std::int64_t limit) {
  const std::int64_t from = i + low - k * dilation;
  return from < 0 || from % stride != 0 || from / stride >= limit ? -1 : from / stride;
}

template <class T, class S>
T dot(const S* a, const S* b, std::int64_t step, std::int64_t count) {
  constexpr std::int64_t lanes = 8;
  T sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t j = 0; j < lanes; ++j)
      sums[j] += static_cast<T>(a[i + j]) * static_cast<T>(b[(i + j) * step]);
  }
  for (; i < count; ++i) sums[0] += static_cast<T>(a[i]) * static_cast<T>(b[i * step]);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

template <class S>
void depthwise_forward(ThreadPool& pool, const ConvGeometry& g, const S* x, const S* w, S* y) {
  using T = compute_t<S>;
  const std::int64_t channels = g.groups * g.group_out;
  parallel_for(pool, g.batch * channels, planes_per_task(g.out_points * g.taps),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) {
                   const std::int64_t n = plane / channels, o = plane % channels;
                   const S* from = x + (n * g.groups + o / g.group_out) * g.in_points;
                   const S* weights = w + o * g.taps;
                   S* to = y + plane * g.out_points;
                   for (std::int64_t row = 0; row < g.out[0] * g.out[1]; ++row) {
                     const std::int64_t o0 = row / g.out[1], o1 = row % g.out[1];
                     for (std::int64_t left = 0; left < g.out[2]; left += chunk) {
                       const std::int64_t right = std::min(left + chunk, g.out[2]);
                       T sum[chunk] = {};
                       for (std::int64_t tap = 0; tap < g.taps; ++tap) {
                         const std::int64_t i0 =
                             o0 * g.stride[0] + tap / (g.kernel[2] * g.kernel[1]) * g.dilation[0] - g.low[0];
                         const std::int64_t i1 =
                             o1 * g.stride[1] + tap / g.kernel[2] % g.kernel[1] * g.dilation[1] - g.low[1];
                         if (i0 < 0 || i0 >= g.in[0] || i1 < 0 || i1 >= g.in[1]) continue;
                         const std::int64_t base = tap % g.kernel[2] * g.dilation[2] - g.low[2];
                         Span s = span_of(base, g.stride[2], 0, g.in[2], g.out[2]);
                         s = {std::max(s.begin, left), std::min(s.end, right)};
                         const S* line = from + (i0 * g.in[1] + i1) * g.in[2] + base;
                         const T weight = static_cast<T>(weights[tap]);
                         if (g.stride[2] == 1) {
                           for (std::int64_t j = s.begin; j < s.end; ++j)
                             sum[j - left] += weight * static_cast<T>(line[j]);
                         } else {
                           for (std::int64_t j = s.begin; j < s.end; ++j)
                             sum[j - left] += weight * static_cast<T>(line[j * g.stride[2]]);
                         }
                       }
                       for (std::int64_t j = left; j < right; ++j)
                         to[row * g.out[2] + j] = static_cast<S>(sum[j - left]);
                     }
                   }
                 }
               });
}

template <class S>
void depthwise_input_grad(ThreadPool& pool, const ConvGeometry& g, const S* y, const S* w, S* x) {
  using T = compute_t<S>;
  const std::int64_t work = g.out_points * g.taps * g.group_out;
  parallel_for(pool, g.batch * g.groups, planes_per_task(work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t group = plane % g.groups;
      for (std::int64_t row = 0; row < g.in[0] * g.in[1]; ++row) {
        const std::int64_t i0 = row / g.in[1], i1 = row % g.in[1];
        for (std::int64_t left = 0; left < g.in[2]; left += chunk) {
          const std::int64_t right = std::min(left + chunk, g.in[2]);
          T sum[chunk] = {};
          for (std::int64_t o = 0; o < g.group_out; ++o) {
            const S* from = y + (plane * g.group_out + o) * g.out_points;
            const S* weights = w + (group * g.group_out + o) * g.taps;
            for (std::int64_t tap = 0; tap < g.taps; ++tap) {
              const std::int64_t o0 = source_row(i0, tap / (g.kernel[2] * g.kernel[1]), g.stride[0], g.low[0],
                                                 g.dilation[0], g.out[0]);
              const std::int64_t o1 = source_row(i1, tap / g.kernel[2] % g.kernel[1], g.stride[1], g.low[1],
                                                 g.dilation[1], g.out[1]);
              if (o0 < 0 || o1 < 0) continue;
              const std::int64_t base = tap % g.kernel[2] * g.dilation[2] - g.low[2];
              const Span s = span_of(base, g.stride[2], left, right, g.out[2]);
              const S* line = from + (o0 * g.out[1] + o1) * g.out[2];
              const T weight = static_cast<T>(weights[tap]);
              T* at = sum + (base - left);
              if (g.stride[2] == 1) {
                for (std::int64_t j = s.begin; j < s.end; ++j) at[j] += weight * static_cast<T>(line[j]);
              } else {
                for (std::int64_t j = s.begin; j < s.end; ++j)
                  at[j * g.stride[2]] += weight * static_cast<T>(line[j]);
              }
            }
          }
          S* to = x + plane * g.in_points + row * g.in[2];
          for (std::int64_t j = left; j < right; ++j) to[j] = static_cast<S>(sum[j - left]);
        }
      }
    }
  });
}

template <class S>
void depthwise_weight_grad(ThreadPool& pool, const ConvGeometry& g, const S* x, const S* y, S* w) {
  using T = compute_t<S>;
  const std::int64_t channels = g.groups * g.group_out;
  const std::int64_t work = g.batch * g.out_points;
  parallel_for(pool, channels * g.taps, planes_per_task(work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const std::int64_t o = index / g.taps, tap = index % g.taps;
      double sum = 0;
      for (std::int64_t n = 0; n < g.batch; ++n) {
        const S* from = x + (n * g.groups + o / g.group_out) * g.in_points;
        const S* grad = y + (n * channels + o) * g.out_points;
        for_each_run(g, tap, 0, g.out_points, [&](std::int64_t at, std::int64_t length, std::int64_t start) {
          if (start >= 0) sum += static_cast<double>(dot<T>(grad + at, from + start, g.stride[2], length));
        });
      }
      w[index] = static_cast<S>(static_cast<T>(sum));
    }
  });
}

#define TM_DEPTHWISE(S)                                                                            \
  template void depthwise_forward<S>(ThreadPool&, const ConvGeometry&, const S*, const S*, S*);    \
  template void depthwise_input_grad<S>(ThreadPool&, const ConvGeometry&, const S*, const S*, S*); \
  template void depthwise_weight_grad<S>(ThreadPool&, const ConvGeometry&, const S*, const S*, S*);
TM_DEPTHWISE(float)
TM_DEPTHWISE(double)
TM_DEPTHWISE(BFloat16)
TM_DEPTHWISE(Float16)
#undef TM_DEPTHWISE

}  // namespace tidemark
