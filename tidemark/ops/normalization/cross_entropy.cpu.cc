#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/labels.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalization/cross_entropy.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
compute_t<T> logsumexp_of(const T* x, std::size_t n) {
  const rows::Tag<T> d;
  const compute_t<T> top =
      rows::max(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, x + i, count); });
  const auto shift = hn::Set(d, top);
  return top + std::log(rows::sum(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR {
           return rows::exp_of_negative(d, hn::Sub(rows::load(d, x + i, count), shift));
         }));
}

template <class T>
void gradient_row(const T* x, compute_t<T> logsumexp, compute_t<T> g, std::int64_t label, T* dx,
                  std::size_t n) {
  const rows::Tag<T> d;
  const auto shift = hn::Set(d, logsumexp), scale = hn::Set(d, g);
  const compute_t<T> picked = static_cast<compute_t<T>>(x[label]);  // read before it may be overwritten
  rows::map(d, n, dx, [&](std::size_t i, std::size_t count) HWY_ATTR {
    return hn::Mul(rows::exp(d, hn::Sub(rows::load(d, x + i, count), shift)), scale);
  });
  dx[label] = T((std::exp(picked - logsumexp) - 1) * g);
}

void run_cross_entropy(const KernelArgs& args) {
  const std::int64_t classes = args.in[0].shape.back();
  const Labels labels(args.in[1], args.attrs<CrossEntropyAttrs>());
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* logits = args.in[0].as<T>();
    auto *loss = args.out[0].as<compute_t<T>>(), *logsumexp = args.out[1].as<compute_t<T>>();
    parallel_for(*args.pool, labels.count(), row_grain(classes), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* x = logits + r * classes;
        const std::int64_t label = labels.at(r);
        logsumexp[r] = logsumexp_of(x, static_cast<std::size_t>(classes));
        loss[r] = label < 0 ? 0 : logsumexp[r] - static_cast<compute_t<T>>(x[label]);
      }
    });
  });
}

void run_cross_entropy_grad(const KernelArgs& args) {
  const std::int64_t classes = args.in[0].shape.back();
  const Labels labels(args.in[1], args.attrs<CrossEntropyAttrs>());
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* logits = args.in[0].as<T>();
    const auto *logsumexp = args.in[2].as<compute_t<T>>(), *g = args.in[3].as<compute_t<T>>();
    T* out = args.out[0].as<T>();
    parallel_for(*args.pool, labels.count(), row_grain(classes), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t label = labels.at(r);
        if (label < 0) {
          std::fill_n(out + r * classes, classes, T(0));
        } else {
          gradient_row(logits + r * classes, logsumexp[r], g[r], label, out + r * classes,
                       static_cast<std::size_t>(classes));
        }
      }
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

// Before anything is written.
void require_labels(const KernelArgs& args) {
  const Labels labels(args.in[1], args.attrs<CrossEntropyAttrs>());
  labels.require_below(args.in[0].shape.back(), "cross_entropy", args.where);
}

HWY_EXPORT(run_cross_entropy);
HWY_EXPORT(run_cross_entropy_grad);

void run(const KernelArgs& args) {
  require_labels(args);
  HWY_DYNAMIC_DISPATCH(run_cross_entropy)(args);
}
void run_grad(const KernelArgs& args) {
  require_labels(args);
  HWY_DYNAMIC_DISPATCH(run_cross_entropy_grad)(args);
}

template <int flops>
Cost cost(const Call& call) {
  constexpr double per_row = 600;
  return {.flops = flops * static_cast<double>(call.in[0].count()) +
                   per_row * static_cast<double>(call.in[1].count()),
          .bytes = bytes_moved(call)};
}

// The gradient may take the logits' memory: an element is written after its only read.
bool grad_in_place(const Call&, int, int operand) { return operand == 0; }

}  // namespace

const CpuKernel cpu::cross_entropy = cpu_kernel<CrossEntropyAttrs>(run, {.cost = cost<25>});
const CpuKernel cpu::cross_entropy_grad =
    cpu_kernel<CrossEntropyAttrs>(run_grad, {.cost = cost<33>, .in_place = grad_in_place});

}  // namespace tidemark
#endif  // HWY_ONCE
