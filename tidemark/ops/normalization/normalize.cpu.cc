// Layer and root-mean-square normalisation: rows of neighbours, gain and bias along them.
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/normalization/normalize_cpu.h"
#include "tidemark/ops/normalization/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalization/normalize.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

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
  const rows::Pair<W> sums = rows::sum_pair(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto gi = slope(i, count);
    const auto normal = hn::Mul(hn::Sub(rows::load(d, x + i, count), middle), scale);
    return rows::VectorPair<rows::Tag<T>>{gi, hn::Mul(gi, normal)};
  });
  const auto a = hn::Set(d, static_cast<W>(sums.first * share)),
             b = hn::Set(d, static_cast<W>(sums.second * share));
  rows::map(d, n, dx, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(rows::load(d, x + i, count), middle), scale);
    auto v = hn::Sub(slope(i, count), hn::Mul(normal, b));
    if constexpr (centered) v = hn::Sub(v, a);
    return hn::Mul(v, scale);
  });
}

// Columns per task of the sums down the columns: some tasks, and of long rows pieces of several pages, as
// many as there are threads, or the machine would wait for the beginning of every piece. No sum sees where
// columns are cut.
constexpr std::int64_t max_columns = 4096;
constexpr std::int64_t columns_of(std::int64_t s, std::int64_t threads) {
  const std::int64_t wanted = s < max_columns ? s / 8 : std::max(s / threads, max_columns / 4);
  return std::clamp<std::int64_t>((wanted + 63) / 64 * 64, 64, max_columns);
}
// Partial sums over so many rows are added up: two short sums for a long one.
constexpr std::int64_t row_block = 64;

// The sums of a few rows, from row r on, added to those of their block: x̂·ȳ for the gain, ȳ for the bias.
template <int few, bool centered, class T>
HWY_INLINE void add_rows(const NormForm& form, std::int64_t r, std::int64_t first, std::size_t width,
                         const T* x, const compute_t<T>* mean, const compute_t<T>* rstd, const T* g,
                         compute_t<T>* gain_part, compute_t<T>* bias_part) {
  const rows::Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto add = [&](std::size_t j, std::size_t count) HWY_ATTR {
    auto gain = hn::Load(d, gain_part + j), bias = hn::Load(d, bias_part + j);
    for (int k = 0; k < few; ++k) {
      const std::size_t at = size((r + k) * form.s + first) + j;
      const auto gi = rows::load(d, g + at, count);
      auto c = rows::load(d, x + at, count);
      if constexpr (centered) c = hn::Sub(c, hn::Set(d, mean[r + k]));
      gain = hn::Add(gain, hn::Mul(gi, hn::Mul(c, hn::Set(d, rstd[r + k]))));
      if constexpr (centered) bias = hn::Add(bias, gi);
    }
    hn::Store(gain, d, gain_part + j);
    if constexpr (centered) hn::Store(bias, d, bias_part + j);
  };
  std::size_t j = 0;
  for (; j + lanes <= width; j += lanes) add(j, lanes);
  if (j < width) add(j, width - j);
}

// Gain along S: sums down the columns [first, first + width), over all rows, each column in the order of the
// rows.
template <class T, bool centered>
void params_columns(const NormForm& form, std::int64_t first, std::int64_t width, const T* x,
                    const compute_t<T>* mean, const compute_t<T>* rstd, const T* g, T* dgain, T* dbias) {
  const rows::Tag<T> d;
  using W = compute_t<T>;
  const std::size_t lanes = hn::Lanes(d), padded = (size(width) + lanes - 1) / lanes * lanes;
  HWY_ALIGN W gain_total[max_columns];
  HWY_ALIGN W bias_total[max_columns];
  HWY_ALIGN W gain_part[max_columns];
  HWY_ALIGN W bias_part[max_columns];
  std::fill_n(gain_total, padded, W{0});
  std::fill_n(bias_total, padded, W{0});
  for (std::int64_t top = 0; top < form.rows(); top += row_block) {
    std::fill_n(gain_part, padded, W{0});
    std::fill_n(bias_part, padded, W{0});
    const std::int64_t end = std::min(top + row_block, form.rows());
    std::int64_t r = top;
    for (; r + 4 <= end; r += 4) {
      add_rows<4, centered>(form, r, first, size(width), x, mean, rstd, g, gain_part, bias_part);
    }
    for (; r < end; ++r) {
      add_rows<1, centered>(form, r, first, size(width), x, mean, rstd, g, gain_part, bias_part);
    }
    for (std::size_t j = 0; j < padded; j += lanes) {
      hn::Store(hn::Add(hn::Load(d, gain_total + j), hn::Load(d, gain_part + j)), d, gain_total + j);
      hn::Store(hn::Add(hn::Load(d, bias_total + j), hn::Load(d, bias_part + j)), d, bias_total + j);
    }
  }
  for (std::size_t j = 0; j < size(width); j += lanes) {
    const std::size_t count = std::min(lanes, size(width) - j);
    rows::store(d, dgain + first + j, count, hn::Load(d, gain_total + j));
    if constexpr (centered) rows::store(d, dbias + first + j, count, hn::Load(d, bias_total + j));
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
    parallel_for(*args.pool, form.s, columns_of(form.s, args.pool->threads()),
                 [&](std::int64_t begin, std::int64_t end) {
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

TM_DISPATCHED(run_norm, forward)
TM_DISPATCHED(run_norm_grad, gradient)
TM_DISPATCHED(run_norm_params, parameters)

namespace {
// Further readings of a row hit the cache. A row takes its start, too.
Cost row_cost(const Call& call, const NormForm& form, double flops) {
  constexpr double per_row = 300;
  return {
      .flops = flops * static_cast<double>(call.in[0].count()) + per_row * static_cast<double>(form.rows()),
      .bytes = bytes_moved(call)};
}
}  // namespace
Cost cost_norm(const Call& call, const NormForm& form) { return row_cost(call, form, 8); }
Cost cost_norm_grad(const Call& call, const NormForm& form) { return row_cost(call, form, 11); }
// Sums across rows are carried for every element of gain and bias.
Cost cost_norm_params(const Call& call, const NormForm& form) {
  return row_cost(call, form, form.per_element ? 19 : 4);
}

}  // namespace tidemark
#endif  // HWY_ONCE
