#include <algorithm>
#include <type_traits>

#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// f32 and the 16-bit formats are carried wider and rounded at every store; integers wrap.
template <class T>
using Carry = std::conditional_t<std::is_same_v<T, float>, double,
                                 std::conditional_t<std::is_integral_v<T>, std::uint64_t, compute_t<T>>>;

// Each element is read before its place is written, so the result may lie over the operand.
template <class T>
void run_typed(const KernelArgs& args) {
  const auto& attrs = args.attrs<CumsumAttrs>();
  const auto axis = static_cast<int>(attrs.axis);
  const TensorRef &x = args.in[0], &y = args.out[0];
  if (y.count() == 0) return;
  const std::int64_t n = x.shape[axis], to_step = y.strides[axis], from_step = x.strides[axis];
  Shape kept = x.shape;
  Strides from_strides = x.strides, to_strides = y.strides;
  kept.erase(axis), from_strides.erase(axis), to_strides.erase(axis);
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 14) / n);
  parallel_for(*args.pool, y.count() / n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* from = x.as<T>() + offset_at(kept, from_strides, i);
      T* to = y.as<T>() + offset_at(kept, to_strides, i);
      Carry<T> total = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t at = attrs.reverse ? n - 1 - k : k;
        total += static_cast<Carry<T>>(from[at * from_step]);
        to[at * to_step] = static_cast<T>(total);
      }
    }
  });
}

void run(const KernelArgs& args) {
  dispatch(args.in[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) run_typed<T>(args);
  });
}

}  // namespace

const CpuKernel cpu::cumsum = cpu_kernel<CumsumAttrs>(
    run, {.in_place = [](const Call& call, int, int) { return call.is_dense_operand(0); },
          .strided = takes_any_strides});

}  // namespace tidemark
