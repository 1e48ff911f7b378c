#include "tidemark/ops/indexing/sort.h"

#include <algorithm>
#include <bit>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/ops/indexing/sort_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// An unsigned number that orders as the element does: NaN above all, -0 as 0.
template <class T>
std::uint64_t sort_key(T x, bool descending) {
  std::uint64_t key;
  if constexpr (std::is_integral_v<T>) {
    key = static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ (std::uint64_t{1} << 63);
  } else {
    const double value = static_cast<compute_t<T>>(x);
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0 + 0 is 0
    key = value != value ? ~std::uint64_t{0} : bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
  }
  return descending ? ~key : key;
}

// The first k of every row in order.
template <class T>
void sort_rows(const KernelArgs& args, int axis, bool descending, std::int64_t k) {
  const TensorRef &x = args.in[0], &values = args.out[0], &indices = args.out[1];
  const std::int64_t n = x.shape[axis];
  if (values.count() == 0) return;
  Shape kept = x.shape;
  Strides from = x.strides, to = values.strides;
  kept.erase(axis), from.erase(axis), to.erase(axis);
  const std::int64_t rows = element_count(kept), slots = sort_slots(rows);
  args.pool->run(slots, [&](std::int64_t slot) {
    SortEntry* entries = reinterpret_cast<SortEntry*>(args.scratch) + slot * n;
    for (std::int64_t row = slot; row < rows; row += slots) {
      const T* source = x.as<T>() + offset_at(kept, from, row);
      const std::int64_t to_at = offset_at(kept, to, row);
      for (std::int64_t i = 0; i < n; ++i)
        entries[i] = {sort_key(source[i * x.strides[axis]], descending), i};
      const auto before = [](const SortEntry& a, const SortEntry& b) {
        return a.key != b.key ? a.key < b.key : a.index < b.index;
      };
      if (k < n) {
        std::partial_sort(entries, entries + k, entries + n, before);
      } else {
        std::sort(entries, entries + n, before);
      }
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t at = to_at + i * values.strides[axis];
        values.as<T>()[at] = source[entries[i].index * x.strides[axis]];
        indices.as<std::int64_t>()[at] = entries[i].index;
      }
    }
  });
}

void run_sort(const KernelArgs& args) {
  const auto& attrs = args.attrs<SortAttrs>();
  const auto axis = static_cast<int>(attrs.axis);
  dispatch(args.in[0].dtype,
           [&]<class T>() { sort_rows<T>(args, axis, attrs.descending, args.in[0].shape[axis]); });
}

void run_top_k(const KernelArgs& args) {
  const auto& attrs = args.attrs<TopKAttrs>();
  dispatch(args.in[0].dtype,
           [&]<class T>() { sort_rows<T>(args, static_cast<int>(attrs.axis), true, attrs.k); });
}

template <class A>
std::int64_t scratch(const Call& call) {
  const std::int64_t size = call.in[0].shape[static_cast<int>(call.attrs_as<A>().axis)];
  return size == 0 ? 0 : sort_scratch(size, call.in[0].count() / size);
}

Cost cost_sort(const Call& call) {
  const double count = static_cast<double>(call.in[0].count());
  const auto length = call.in[0].shape[static_cast<int>(call.attrs_as<SortAttrs>().axis)];
  return {.flops = 8 * count * repeatable::log2(static_cast<double>(std::max<std::int64_t>(length, 2))),
          .bytes = bytes_moved(call),
          .work = WorkKind::sort};
}
// Most elements are compared with the least of the k largest, and no more.
Cost cost_top_k(const Call& call) {
  return {.flops = 6 * static_cast<double>(call.in[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::sort};
}

}  // namespace

const CpuKernel cpu::sort = cpu_kernel<SortAttrs>(
    run_sort, {.cost = cost_sort, .scratch = scratch<SortAttrs>, .strided = takes_any_strides});
const CpuKernel cpu::top_k = cpu_kernel<TopKAttrs>(
    run_top_k, {.cost = cost_top_k, .scratch = scratch<TopKAttrs>, .strided = takes_any_strides});

}  // namespace tidemark
