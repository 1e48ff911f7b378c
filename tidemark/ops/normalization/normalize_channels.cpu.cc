// Batch and group normalisation: rows of segments, each a run of one channel with one gain and bias.
//
// Forward reads a row three times (mean, variance, result), its gradient twice, that of gain and bias once. A
// row of a usual batch norm stays in the second-level cache from one pass to the next.
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/normalization/normalize_cpu.h"
#include "tidemark/ops/normalization/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalization/normalize_channels.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Of a lambda: sums stay in registers.
#define TM_INLINED HWY_ATTR __attribute__((always_inline))

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Calls f(offset of the segment's first element, its channel) for the segments of row r.
template <class F>
HWY_INLINE void for_each_segment(const NormForm& form, std::int64_t r, const F& f) {
  std::int64_t at = r * form.row_stride(), channel = form.across_batch ? r : r % form.g * form.k;
  const std::int64_t channel_step = form.across_batch ? 0 : 1;
  for (std::int64_t i = 0; i < form.segments(); ++i, at += form.segment_stride(), channel += channel_step)
    f(at, channel);
}

// Calls f(i, count) for [0, n) in vectors, four at a time: those are independent, `part` of 0 to 3.
template <class D, class F>
HWY_INLINE void for_each_vector(D d, std::size_t n, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    f(i, lanes, 0), f(i + lanes, lanes, 1), f(i + 2 * lanes, lanes, 2), f(i + 3 * lanes, lanes, 3);
  }
  for (; i + lanes <= n; i += lanes) f(i, lanes, 0);
  if (i < n) f(i, n - i, 1);
}

// A sum over segments: vectors while it is short, then a double. Its order follows from the sizes alone.
template <class D>
class Sum {
 public:
  using V = hn::Vec<D>;
  HWY_INLINE explicit Sum(D d) : a_{hn::Zero(d)}, b_{hn::Zero(d)}, c_{hn::Zero(d)}, e_{hn::Zero(d)} {}
  HWY_INLINE V& operator[](int part) { return part == 0 ? a_ : part == 1 ? b_ : part == 2 ? c_ : e_; }
  HWY_INLINE void flush(D d) {
    total_ += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a_, b_), hn::Add(c_, e_)))));
    a_ = b_ = c_ = e_ = hn::Zero(d);
  }
  double total() const { return total_; }

 private:
  V a_, b_, c_, e_;
  double total_ = 0;
};
constexpr std::int64_t short_sum = 4096;  // elements

template <class T>
compute_t<T> rstd_of(const NormForm& form, compute_t<T> second) {
  using W = compute_t<T>;
  return form.variance ? static_cast<W>(1 / std::sqrt(static_cast<double>(second) + form.eps)) : second;
}

// Σ over a row of f(offset, count, channel), a vector of terms; lanes past `count` are left out.
template <class D, class F>
HWY_INLINE double row_sum(D d, const NormForm& form, std::int64_t r, const F& f) {
  Sum<D> sum(d);
  std::int64_t length = 0;
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t) HWY_ATTR {
    for_each_vector(d, size(form.s), [&](std::size_t i, std::size_t count, int part) TM_INLINED {
      auto v = f(at + static_cast<std::int64_t>(i), count);
      if (count < hn::Lanes(d)) v = hn::IfThenElseZero(hn::FirstN(d, count), v);
      sum[part] = hn::Add(sum[part], v);
    });
    if ((length += form.s) >= short_sum) sum.flush(d), length = 0;
  });
  sum.flush(d);
  return sum.total();
}

template <class T>
void forward_row(const NormForm& form, std::int64_t r, const T* x, const T* gain, const T* bias, T* y,
                 compute_t<T>* mean_out, compute_t<T>* second_out) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const double share = 1.0 / static_cast<double>(form.count());
  const double total = row_sum(d, form, r, [&](std::int64_t at, std::size_t count) TM_INLINED {
    return rows::load(d, x + at, count);
  });
  const W mean = static_cast<W>(total * share);
  const auto middle = hn::Set(d, mean);
  const double squares = row_sum(d, form, r, [&](std::int64_t at, std::size_t count) TM_INLINED {
    const auto c = hn::Sub(rows::load(d, x + at, count), middle);
    return hn::Mul(c, c);
  });
  const double variance = squares * share;
  const W rstd = static_cast<W>(1 / std::sqrt(variance + form.eps));
  mean_out[r] = mean;
  second_out[r] = form.variance ? static_cast<W>(variance) : rstd;
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t channel) HWY_ATTR {
    const auto scale = hn::Set(d, rstd * static_cast<W>(gain[channel]));
    const auto shift = hn::Set(d, static_cast<W>(bias[channel]));
    for_each_vector(d, size(form.s), [&](std::size_t i, std::size_t count, int) TM_INLINED {
      const auto c = hn::Sub(rows::load(d, x + at + i, count), middle);
      rows::store(d, y + at + i, count, hn::MulAdd(c, scale, shift));
    });
  });
}

// Σ g · weight and Σ g · (x - mean) · slope over segments.
template <class T>
class GradSums {
 public:
  using W = compute_t<T>;
  HWY_INLINE GradSums() : plain_(d_), product_(d_) {}
  HWY_INLINE void add(const T* x, const T* g, std::int64_t n, W mean, W weight, W slope) {
    const auto middle = hn::Set(d_, mean), u = hn::Set(d_, weight), v = hn::Set(d_, slope);
    for_each_vector(d_, size(n), [&](std::size_t i, std::size_t count, int part) TM_INLINED {
      const auto gi = rows::load(d_, g + i, count);  // 0 past `count`
      const auto c = hn::Sub(rows::load(d_, x + i, count), middle);
      plain_[part] = hn::MulAdd(gi, u, plain_[part]);
      product_[part] = hn::MulAdd(hn::Mul(gi, c), v, product_[part]);
    });
    if ((length_ += n) >= short_sum) flush();
  }
  HWY_INLINE void flush() { plain_.flush(d_), product_.flush(d_), length_ = 0; }
  double plain() const { return plain_.total(); }
  double product() const { return product_.total(); }

 private:
  rows::Tag<T> d_;
  Sum<rows::Tag<T>> plain_, product_;
  std::int64_t length_ = 0;
};

template <class T>
void backward_row(const NormForm& form, std::int64_t r, const T* x, compute_t<T> mean, compute_t<T> rstd,
                  const T* gain, const T* g, T* dx) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  GradSums<T> sums;
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t channel) HWY_ATTR {
    const W factor = static_cast<W>(gain[channel]);
    sums.add(x + at, g + at, form.s, mean, factor, factor);
  });
  sums.flush();
  // dx = rstd (gain g - mean of it - normalised x · mean of their product)
  const double share = 1.0 / static_cast<double>(form.count()), wide = static_cast<double>(rstd);
  const auto middle = hn::Set(d, mean);
  const auto a = hn::Set(d, static_cast<W>(sums.plain() * share * wide));
  const auto b = hn::Set(d, static_cast<W>(sums.product() * share * wide * wide * wide));
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t channel) HWY_ATTR {
    const auto scale = hn::Set(d, rstd * static_cast<W>(gain[channel]));
    for_each_vector(d, size(form.s), [&](std::size_t i, std::size_t count, int) TM_INLINED {
      const auto c = hn::Sub(rows::load(d, x + at + i, count), middle);
      const auto v = hn::NegMulAdd(c, b, hn::MulSub(rows::load(d, g + at + i, count), scale, a));
      rows::store(d, dx + at + i, count, v);
    });
  });
}

template <class T>
void params_channel(const NormForm& form, std::int64_t channel, const T* x, const compute_t<T>* mean,
                    const compute_t<T>* second, const T* g, T* dgain, T* dbias) {
  using W = compute_t<T>;
  GradSums<T> sums;
  for (std::int64_t n = 0; n < form.n; ++n) {
    const std::int64_t at = (n * form.g * form.k + channel) * form.s;
    const std::int64_t row = form.across_batch ? channel : n * form.g + channel / form.k;
    sums.add(x + at, g + at, form.s, mean[row], W(1), rstd_of<T>(form, second[row]));
  }
  sums.flush();
  dgain[channel] = T(static_cast<W>(sums.product()));
  dbias[channel] = T(static_cast<W>(sums.plain()));
}

void forward(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    using W = compute_t<T>;
    parallel_for(*args.pool, form.rows(), row_grain(form.count()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        forward_row<T>(form, r, args.in[0].as<T>(), args.in[1].as<T>(), args.in[2].as<T>(),
                       args.out[0].as<T>(), args.out[1].as<W>(), args.out[2].as<W>());
      }
    });
  });
}

void gradient(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    using W = compute_t<T>;
    const W *mean = args.in[1].as<W>(), *second = args.in[2].as<W>();
    parallel_for(*args.pool, form.rows(), row_grain(form.count()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        backward_row<T>(form, r, args.in[0].as<T>(), mean[r], rstd_of<T>(form, second[r]), args.in[3].as<T>(),
                        args.in[4].as<T>(), args.out[0].as<T>());
      }
    });
  });
}

void parameters(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    using W = compute_t<T>;
    parallel_for(*args.pool, form.g * form.k, row_grain(form.n * form.s),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t c = begin; c < end; ++c) {
                     params_channel<T>(form, c, args.in[0].as<T>(), args.in[1].as<W>(), args.in[2].as<W>(),
                                       args.in[3].as<T>(), args.out[0].as<T>(), args.out[1].as<T>());
                   }
                 });
  });
}

#undef TM_INLINED

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {

TM_DISPATCHED(run_channel_norm, forward)
TM_DISPATCHED(run_channel_norm_grad, gradient)
TM_DISPATCHED(run_channel_norm_params, parameters)

}  // namespace tidemark
#endif  // HWY_ONCE
