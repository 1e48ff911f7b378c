#include "tidemark/ops/normalize.h"
#include "tidemark/ops/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalize.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Calls f(offset of the segment's first element, index of its gain) for the segments of row r.
template <class F>
HWY_INLINE void for_each_segment(const NormForm& form, std::int64_t r, const F& f) {
  std::int64_t at = r * form.row_stride();
  std::int64_t channel = form.per_element ? 0 : form.across_batch ? r : r % form.g * form.k;
  const std::int64_t channel_step = form.per_element || form.across_batch ? 0 : 1;
  for (std::int64_t i = 0; i < form.segments(); ++i, at += form.segment_stride(), channel += channel_step)
    f(at, channel);
}

// The gain (or bias) of `count` elements from i on, in a segment whose gain is p[channel] or runs along it.
template <bool per_element, class T, class D>
HWY_INLINE hn::Vec<D> affine_at(D d, const T* p, std::int64_t channel, std::size_t i, std::size_t count) {
  if constexpr (per_element) {
    return rows::load(d, p + i, count);
  } else {
    return hn::Set(d, static_cast<hn::TFromD<D>>(p[channel]));
  }
}

template <class T, bool per_element, bool centered>
void forward_row(const NormForm& form, std::int64_t r, const T* x, const T* gain, const T* bias, T* y,
                 compute_t<T>* mean_out, compute_t<T>* second_out) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const double share = 1.0 / static_cast<double>(form.count());
  W mean = 0;
  if constexpr (centered) {
    double total = 0;
    for_each_segment(form, r, [&](std::int64_t at, std::int64_t) HWY_ATTR {
      total += rows::sum(d, size(form.s), [&](std::size_t i, std::size_t count) HWY_ATTR {
        return rows::load(d, x + at + i, count);
      });
    });
    mean = static_cast<W>(total * share);
    mean_out[r] = mean;
  }
  const auto middle = hn::Set(d, mean);
  double squares = 0;
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t) HWY_ATTR {
    squares += rows::sum(d, size(form.s), [&](std::size_t i, std::size_t count) HWY_ATTR {
      const auto c = hn::Sub(rows::load(d, x + at + i, count), middle);
      return hn::Mul(c, c);
    });
  });
  const double variance = squares * share;
  const W rstd = static_cast<W>(1 / std::sqrt(variance + form.eps));
  second_out[r] = form.variance ? static_cast<W>(variance) : rstd;
  const auto scale = hn::Set(d, rstd);
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t channel) HWY_ATTR {
    rows::map(d, size(form.s), y + at, [&](std::size_t i, std::size_t count) HWY_ATTR {
      const auto c = hn::Mul(hn::Sub(rows::load(d, x + at + i, count), middle), scale);
      const auto v = hn::Mul(c, affine_at<per_element>(d, gain, channel, i, count));
      if constexpr (centered) return hn::Add(v, affine_at<per_element>(d, bias, channel, i, count));
      return v;
    });
  });
}

template <class T, bool per_element, bool centered>
void backward_row(const NormForm& form, std::int64_t r, const T* x, compute_t<T> mean, compute_t<T> rstd,
                  const T* gain, const T* g, T* dx) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const double share = 1.0 / static_cast<double>(form.count());
  const auto middle = hn::Set(d, mean), scale = hn::Set(d, rstd);
  double g_total = 0, gx_total = 0;
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t channel) HWY_ATTR {
    const auto slope = [&](std::size_t i, std::size_t count) HWY_ATTR {
      return hn::Mul(rows::load(d, g + at + i, count), affine_at<per_element>(d, gain, channel, i, count));
    };
    if constexpr (centered) g_total += rows::sum(d, size(form.s), slope);
    gx_total += rows::sum(d, size(form.s), [&](std::size_t i, std::size_t count) HWY_ATTR {
      return hn::Mul(slope(i, count), hn::Mul(hn::Sub(rows::load(d, x + at + i, count), middle), scale));
    });
  });
  const auto a = hn::Set(d, static_cast<W>(g_total * share)),
             b = hn::Set(d, static_cast<W>(gx_total * share));
  for_each_segment(form, r, [&](std::int64_t at, std::int64_t channel) HWY_ATTR {
    rows::map(d, size(form.s), dx + at, [&](std::size_t i, std::size_t count) HWY_ATTR {
      const auto normal = hn::Mul(hn::Sub(rows::load(d, x + at + i, count), middle), scale);
      const auto slope =
          hn::Mul(rows::load(d, g + at + i, count), affine_at<per_element>(d, gain, channel, i, count));
      auto v = hn::Sub(slope, hn::Mul(normal, b));
      if constexpr (centered) v = hn::Sub(v, a);
      return hn::Mul(v, scale);
    });
  });
}

constexpr std::int64_t column_block = 64;
constexpr std::int64_t row_block =
    64;  // partial sums over so many rows are added up: two short sums for a long one

// Gain along S: sums down the columns [first, first + width), over all rows.
template <class T, bool centered>
void params_columns(const NormForm& form, std::int64_t first, std::int64_t width, const T* x,
                    const compute_t<T>* mean, const compute_t<T>* rstd, const T* g, T* dgain, T* dbias) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < size(width); j += lanes) {
    const std::size_t count = std::min(lanes, size(width) - j);
    auto gain_total = hn::Zero(d), bias_total = hn::Zero(d);
    for (std::int64_t top = 0; top < form.rows(); top += row_block) {
      auto gain_part = hn::Zero(d), bias_part = hn::Zero(d);
      for (std::int64_t r = top; r < std::min(top + row_block, form.rows()); ++r) {
        const std::size_t at = size(r * form.s + first) + j;
        const auto gi = rows::load(d, g + at, count);
        auto c = rows::load(d, x + at, count);
        if constexpr (centered) c = hn::Sub(c, hn::Set(d, mean[r]));
        gain_part = hn::Add(gain_part, hn::Mul(gi, hn::Mul(c, hn::Set(d, static_cast<W>(rstd[r])))));
        bias_part = hn::Add(bias_part, gi);
      }
      gain_total = hn::Add(gain_total, gain_part);
      bias_total = hn::Add(bias_total, bias_part);
    }
    rows::store(d, dgain + first + j, count, gain_total);
    if constexpr (centered) rows::store(d, dbias + first + j, count, bias_total);
  }
}

template <class T>
struct Rstd {  // of statistics row r, whichever statistic is stored
  const compute_t<T>* second;
  bool variance;
  double eps;
  compute_t<T> operator()(std::int64_t r) const {
    return variance ? static_cast<compute_t<T>>(1 / std::sqrt(static_cast<double>(second[r]) + eps))
                    : second[r];
  }
};

// Gain along channels: sums over the batch and S of one channel.
template <class T>
void params_channel(const NormForm& form, std::int64_t channel, const T* x, const compute_t<T>* mean,
                    const Rstd<T>& rstd, const T* g, T* dgain, T* dbias) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  double gain_total = 0, bias_total = 0;
  for (std::int64_t n = 0; n < form.n; ++n) {
    const std::int64_t at = (n * form.g * form.k + channel) * form.s;
    const std::int64_t row = form.across_batch ? channel : n * form.g + channel / form.k;
    const auto middle = hn::Set(d, mean[row]), scale = hn::Set(d, rstd(row));
    const auto slope = [&](std::size_t i, std::size_t count)
                           HWY_ATTR { return rows::load(d, g + at + i, count); };
    bias_total += rows::sum(d, size(form.s), slope);
    gain_total += rows::sum(d, size(form.s), [&](std::size_t i, std::size_t count) HWY_ATTR {
      return hn::Mul(slope(i, count), hn::Mul(hn::Sub(rows::load(d, x + at + i, count), middle), scale));
    });
  }
  dgain[channel] = T(static_cast<W>(gain_total));
  dbias[channel] = T(static_cast<W>(bias_total));
}

// Calls f.operator()<T, per_element, centered>() for the combinations that exist.
template <class F>
void dispatch_form(DType dtype, const NormForm& form, const F& f) {
  dispatch_float(dtype, [&]<class T>() {
    if (!form.centered) {
      f.template operator()<T, true, false>();
    } else if (form.per_element) {
      f.template operator()<T, true, true>();
    } else {
      f.template operator()<T, false, true>();
    }
  });
}

void forward(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_form(args.in[0].dtype, form, [&]<class T, bool per_element, bool centered>() {
    using W = compute_t<T>;
    const T *x = args.in[0].as<T>(), *gain = args.in[1].as<T>(),
            *bias = centered ? args.in[2].as<T>() : nullptr;
    W *mean = centered ? args.out[1].as<W>() : nullptr, *second = args.out.back().as<W>();
    parallel_for(*args.pool, form.rows(), row_grain(form.count()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        forward_row<T, per_element, centered>(form, r, x, gain, bias, args.out[0].as<T>(), mean, second);
      }
    });
  });
}

void gradient(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_form(args.in[0].dtype, form, [&]<class T, bool per_element, bool centered>() {
    using W = compute_t<T>;
    constexpr std::size_t at = centered ? 2 : 1;
    const W* mean = args.in[1].as<W>();
    const Rstd<T> rstd{args.in[at].as<W>(), form.variance, form.eps};
    const T *x = args.in[0].as<T>(), *gain = args.in[at + 1].as<T>(), *g = args.in[at + 2].as<T>();
    parallel_for(*args.pool, form.rows(), row_grain(form.count()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        backward_row<T, per_element, centered>(form, r, x, centered ? mean[r] : W{0}, rstd(r), gain, g,
                                               args.out[0].as<T>());
      }
    });
  });
}

void parameters(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_form(args.in[0].dtype, form, [&]<class T, bool per_element, bool centered>() {
    using W = compute_t<T>;
    constexpr std::size_t at = centered ? 2 : 1;
    const W *mean = args.in[1].as<W>(), *second = args.in[at].as<W>();
    const T *x = args.in[0].as<T>(), *g = args.in[at + 1].as<T>();
    T *dgain = args.out[0].as<T>(), *dbias = centered ? args.out[1].as<T>() : nullptr;
    if constexpr (per_element) {
      parallel_for(*args.pool, form.s, column_block, [&](std::int64_t begin, std::int64_t end) {
        params_columns<T, centered>(form, begin, end - begin, x, mean, second, g, dgain, dbias);
      });
    } else {
      const Rstd<T> rstd{second, form.variance, form.eps};
      parallel_for(*args.pool, form.g * form.k, row_grain(form.n * form.s),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t c = begin; c < end; ++c)
                       params_channel<T>(form, c, x, mean, rstd, g, dgain, dbias);
                   });
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
HWY_EXPORT(forward);
HWY_EXPORT(gradient);
HWY_EXPORT(parameters);

void run_norm(const KernelArgs& args) { HWY_DYNAMIC_DISPATCH(forward)(args); }
void run_norm_grad(const KernelArgs& args) { HWY_DYNAMIC_DISPATCH(gradient)(args); }
void run_norm_params(const KernelArgs& args) { HWY_DYNAMIC_DISPATCH(parameters)(args); }
}  // namespace tidemark
#endif  // HWY_ONCE
