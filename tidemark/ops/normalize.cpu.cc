// Layer and root-mean-square normalisation: rows of neighbours, gain and bias along them.
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

template <class T, bool centered>
void forward_row(const NormForm& form, std::int64_t r, const T* x, const T* gain, const T* bias, T* y,
                 compute_t<T>* mean_out, compute_t<T>* second_out) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const std::size_t n = size(form.s);
  const double share = 1.0 / static_cast<double>(form.s);
  x += r * form.s, y += r * form.s;
  W mean = 0;
  if constexpr (centered) {
    const double total = rows::sum(
        d, n, [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, x + i, count); });
    mean = static_cast<W>(total * share);
    mean_out[r] = mean;
  }
  const auto middle = hn::Set(d, mean);
  const double squares = rows::sum(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto c = hn::Sub(rows::load(d, x + i, count), middle);
    return hn::Mul(c, c);
  });
  const W rstd = static_cast<W>(1 / std::sqrt(squares * share + form.eps));
  second_out[r] = rstd;
  const auto scale = hn::Set(d, rstd);
  rows::map(d, n, y, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto c = hn::Mul(hn::Sub(rows::load(d, x + i, count), middle), scale);
    const auto v = hn::Mul(c, rows::load(d, gain + i, count));
    if constexpr (centered) return hn::Add(v, rows::load(d, bias + i, count));
    return v;
  });
}

template <class T, bool centered>
void backward_row(const NormForm& form, std::int64_t r, const T* x, compute_t<T> mean, compute_t<T> rstd,
                  const T* gain, const T* g, T* dx) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const std::size_t n = size(form.s);
  const double share = 1.0 / static_cast<double>(form.s);
  const auto middle = hn::Set(d, mean), scale = hn::Set(d, rstd);
  x += r * form.s, g += r * form.s, dx += r * form.s;
  const auto slope = [&](std::size_t i, std::size_t count) HWY_ATTR {
    return hn::Mul(rows::load(d, g + i, count), rows::load(d, gain + i, count));
  };
  double g_total = 0;
  if constexpr (centered) g_total = rows::sum(d, n, slope);
  const double gx_total = rows::sum(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    return hn::Mul(slope(i, count), hn::Mul(hn::Sub(rows::load(d, x + i, count), middle), scale));
  });
  const auto a = hn::Set(d, static_cast<W>(g_total * share)),
             b = hn::Set(d, static_cast<W>(gx_total * share));
  rows::map(d, n, dx, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(rows::load(d, x + i, count), middle), scale);
    auto v = hn::Sub(slope(i, count), hn::Mul(normal, b));
    if constexpr (centered) v = hn::Sub(v, a);
    return hn::Mul(v, scale);
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

// Calls f.operator()<T, centered>().
template <class F>
void dispatch_form(DType dtype, const NormForm& form, const F& f) {
  dispatch_float(dtype, [&]<class T>() {
    form.centered ? f.template operator()<T, true>() : f.template operator()<T, false>();
  });
}

void forward(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_form(args.in[0].dtype, form, [&]<class T, bool centered>() {
    using W = compute_t<T>;
    const T *x = args.in[0].as<T>(), *gain = args.in[1].as<T>(),
            *bias = centered ? args.in[2].as<T>() : nullptr;
    W *mean = centered ? args.out[1].as<W>() : nullptr, *second = args.out.back().as<W>();
    parallel_for(*args.pool, form.rows(), row_grain(form.count()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        forward_row<T, centered>(form, r, x, gain, bias, args.out[0].as<T>(), mean, second);
      }
    });
  });
}

void gradient(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_form(args.in[0].dtype, form, [&]<class T, bool centered>() {
    using W = compute_t<T>;
    constexpr std::size_t at = centered ? 2 : 1;
    const W *mean = args.in[1].as<W>(), *rstd = args.in[at].as<W>();
    const T *x = args.in[0].as<T>(), *gain = args.in[at + 1].as<T>(), *g = args.in[at + 2].as<T>();
    parallel_for(*args.pool, form.rows(), row_grain(form.count()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        backward_row<T, centered>(form, r, x, centered ? mean[r] : W{0}, rstd[r], gain, g,
                                  args.out[0].as<T>());
      }
    });
  });
}

void parameters(const KernelArgs& args) {
  const auto& form = args.attrs<NormForm>();
  dispatch_form(args.in[0].dtype, form, [&]<class T, bool centered>() {
    using W = compute_t<T>;
    constexpr std::size_t at = centered ? 2 : 1;
    const W *mean = args.in[1].as<W>(), *rstd = args.in[at].as<W>();
    const T *x = args.in[0].as<T>(), *g = args.in[at + 1].as<T>();
    T *dgain = args.out[0].as<T>(), *dbias = centered ? args.out[1].as<T>() : nullptr;
    parallel_for(*args.pool, form.s, column_block, [&](std::int64_t begin, std::int64_t end) {
      params_columns<T, centered>(form, begin, end - begin, x, mean, rstd, g, dgain, dbias);
    });
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
