#include <algorithm>

#include "tidemark/kernel/copy.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/index_cpu.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run_gather(const KernelArgs& args) {
  const TensorRef &x = args.in[0], &indices = args.in[1], &out = args.out[0];
  const auto axis = static_cast<int>(args.attrs<AxisAttrs>().axis);
  const AroundAxis from(x.shape, axis), to(out.shape, axis);
  check_indices(args, indices, from.size, "gather");
  const auto copy = [&]<class U>(const auto* index, U) {
    parallel_for(*args.pool, out.count(), std::int64_t{1} << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t o = p / (to.size * to.inner), i = p % to.inner;
        out.as<U>()[p] = x.as<U>()[(o * from.size + index[p]) * from.inner + i];
      }
    });
  };
  with_indices(indices, [&](const auto* index) {
    switch (size_of(x.dtype)) {
      case 1:
        return copy(index, std::uint8_t{});
      case 2:
        return copy(index, std::uint16_t{});
      case 4:
        return copy(index, std::uint32_t{});
      default:
        return copy(index, std::uint64_t{});
    }
  });
}

// A task owns a range of inner columns of one outer slice, so every destination adds its updates in order.
template <class T>
void run_scatter_add_typed(const KernelArgs& args) {
  const TensorRef &indices = args.in[1], &updates = args.in[2], &out = args.out[0];
  const auto axis = static_cast<int>(args.attrs<AxisAttrs>().axis);
  const AroundAxis to(out.shape, axis), from(updates.shape, axis);
  check_indices(args, indices, to.size, "scatter_add");
  if (out.count() == 0) return;
  using A = compute_t<T>;
  const std::int64_t rows = to.size + from.size;
  const std::int64_t width = std::clamp<std::int64_t>(
      (std::int64_t{1} << 14) / std::max<std::int64_t>(rows, 1), 16, std::max<std::int64_t>(to.inner, 16));
  const std::int64_t widths = (to.inner + width - 1) / width;
  if constexpr (std::is_same_v<A, T>) copy_elements(out, args.in[0], *args.pool);
  with_indices(indices, [&](const auto* index) {
    args.pool->run(to.outer * widths, [&](std::int64_t task) {
      const std::int64_t o = task / widths, first = task % widths * width,
                         last = std::min(to.inner, first + width);
      const std::int64_t base = o * to.size * to.inner;
      A* sums = (std::is_same_v<A, T> ? out.as<A>() : reinterpret_cast<A*>(args.scratch)) + base;
      if constexpr (!std::is_same_v<A, T>) {
        for (std::int64_t r = 0; r < to.size; ++r) {
          for (std::int64_t i = first; i < last; ++i) {
            sums[r * to.inner + i] = static_cast<A>(args.in[0].as<T>()[base + r * to.inner + i]);
          }
        }
      }
      for (std::int64_t k = 0; k < from.size; ++k) {
        const std::int64_t row = (o * from.size + k) * to.inner;
        for (std::int64_t i = first; i < last; ++i) {
          A& sum = sums[index[row + i] * to.inner + i];
          sum = add_wrapping(sum, static_cast<A>(updates.as<T>()[row + i]));
        }
      }
      if constexpr (!std::is_same_v<A, T>) {
        for (std::int64_t r = 0; r < to.size; ++r) {
          for (std::int64_t i = first; i < last; ++i)
            out.as<T>()[base + r * to.inner + i] = T(sums[r * to.inner + i]);
        }
      }
    });
  });
}

void run_scatter_add(const KernelArgs& args) {
  dispatch(args.in[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) run_scatter_add_typed<T>(args);
  });
}

Cost gather_cost(const Call& call) {
  constexpr double per_element = 40;  // an address each
  return {.flops = per_element * static_cast<double>(call.out[0].count()),
          .bytes = static_cast<double>(2 * call.out[0].bytes() + call.in[1].bytes()),
          .work = WorkKind::indexed};
}
// The operand is copied, or overwritten; then each update reads and writes its place.
Cost scatter_add_cost(const Call& call) {
  constexpr double per_update = 20;
  return {.flops = per_update * static_cast<double>(call.in[2].count()),
          .bytes = static_cast<double>(2 * call.out[0].bytes() + call.in[1].bytes() + 3 * call.in[2].bytes()),
          .work = WorkKind::indexed};
}

bool scatter_add_in_place(const Call&, int, int operand) { return operand == 0; }

}  // namespace

const CpuKernel cpu::gather = cpu_kernel<AxisAttrs>(run_gather, {.cost = gather_cost});
const CpuKernel cpu::scatter_add = cpu_kernel<AxisAttrs>(
    run_scatter_add,
    {.cost = scatter_add_cost, .scratch = wide_sums_scratch, .in_place = scatter_add_in_place});

}  // namespace tidemark
