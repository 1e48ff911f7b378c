#include <algorithm>
#include <cstring>

#include "tidemark/kernel/copy.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/index_cpu.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// Asks for the first bytes of a row that is read soon: rows come in no order that the machine could guess.
void fetch_ahead(const void* row, std::int64_t bytes) {
  constexpr std::int64_t line = 64, most = 1024;
  for (std::int64_t at = 0; at < std::min(bytes, most); at += line) {
    __builtin_prefetch(static_cast<const std::byte*>(row) + at);
  }
}
constexpr std::int64_t rows_ahead = 3;

void run_take(const KernelArgs& args) {
  const TensorRef &x = args.in[0], &indices = args.in[1];
  const AroundAxis around(x.shape, static_cast<int>(args.attrs<AxisAttrs>().axis));
  check_indices(args, indices, around.size, "take");
  const std::int64_t taken = indices.count(), row_bytes = around.inner * size_of(x.dtype);
  if (args.out[0].count() == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 17) / row_bytes);
  with_indices(indices, [&](const auto* index) {
    parallel_for(*args.pool, around.outer * taken, grain, [&](std::int64_t begin, std::int64_t end) {
      const auto row = [&](std::int64_t i) {
        return x.data + (i / taken * around.size + index[i % taken]) * row_bytes;
      };
      for (std::int64_t i = begin; i < end; ++i) {
        if (i + rows_ahead < end) fetch_ahead(row(i + rows_ahead), row_bytes);
        std::memcpy(args.out[0].data + i * row_bytes, row(i), static_cast<std::size_t>(row_bytes));
      }
    });
  });
}

// Tasks own ranges of destination rows and, where there are too few of those, of their columns; a destination
// adds its updates in the order of the indices.
template <class T>
void run_take_add_typed(const KernelArgs& args) {
  const auto& attrs = args.attrs<TakeAddAttrs>();
  const TensorRef &updates = args.in[0], &indices = args.in[1], &out = args.out[0];
  const AroundAxis around(out.shape, static_cast<int>(attrs.axis));
  check_indices(args, indices, around.size, "take_add");
  if (out.count() == 0) return;
  using A = compute_t<T>;
  A* sums = std::is_same_v<A, T> ? out.as<A>() : reinterpret_cast<A*>(args.scratch);
  const std::int64_t taken = indices.count(), inner = around.inner;
  constexpr std::int64_t target = std::int64_t{1} << 16;  // elements of work per task
  const std::int64_t work = around.outer * (taken * inner + around.size * inner);
  const std::int64_t wanted = std::clamp<std::int64_t>(work / target / around.outer, 1, 16);
  const std::int64_t ranges = std::min(wanted, around.size), range = (around.size + ranges - 1) / ranges;
  const std::int64_t parts = std::clamp<std::int64_t>(inner / 256, 1, wanted / ranges);
  const std::int64_t width = (inner + parts - 1) / parts;
  with_indices(indices, [&](const auto* index) {
    args.pool->run(around.outer * ranges * parts, [&](std::int64_t task) {
      const std::int64_t o = task / parts / ranges, first = task / parts % ranges * range,
                         last = std::min(around.size, first + range);
      const std::int64_t column = task % parts * width, columns = std::min(width, inner - column);
      A* rows = sums + o * around.size * inner + column;
      for (std::int64_t r = first; r < last; ++r) std::fill_n(rows + r * inner, columns, A(0));
      const T* source = updates.as<T>() + o * taken * inner + column;
      // The updates of this range, some at a time: then it is known which come next.
      constexpr std::int64_t most = 256;
      std::int64_t matches[most];
      for (std::int64_t j = 0; j < taken;) {
        std::int64_t count = 0;
        for (; j < taken && count < most; ++j) {
          matches[count] = j;
          count += index[j] >= first && index[j] < last;
        }
        for (std::int64_t k = 0; k < count; ++k) {
          if (k + rows_ahead < count) {
            fetch_ahead(source + matches[k + rows_ahead] * inner, columns * std::int64_t{sizeof(T)});
          }
          A* row = rows + index[matches[k]] * inner;
          const T* update = source + matches[k] * inner;
          for (std::int64_t i = 0; i < columns; ++i) row[i] = add_wrapping(row[i], static_cast<A>(update[i]));
        }
      }
      if constexpr (!std::is_same_v<A, T>) {
        const TileStore store = tile_store(out.dtype);
        for (std::int64_t r = first; r < last; ++r) {
          store(reinterpret_cast<const std::byte*>(rows + r * inner), columns,
                out.data + ((o * around.size + r) * inner + column) * std::int64_t{sizeof(T)});
        }
      }
    });
  });
}

void run_take_add(const KernelArgs& args) {
  dispatch(args.in[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) run_take_add_typed<T>(args);
  });
}

Cost take_cost(const Call& call) {
  return {.flops = 0,
          .bytes = static_cast<double>(2 * call.out[0].bytes() + call.in[1].bytes()),
          .work = WorkKind::indexed};
}
// Zeros are written, then each update reads and writes its place.
Cost take_add_cost(const Call& call) {
  return {.flops = static_cast<double>(call.in[0].count()),
          .bytes = static_cast<double>(call.out[0].bytes() + call.in[1].bytes() + 3 * call.in[0].bytes()),
          .work = WorkKind::indexed};
}

}  // namespace

const CpuKernel cpu::take = cpu_kernel<AxisAttrs>(run_take, {.cost = take_cost});
const CpuKernel cpu::take_add =
    cpu_kernel<TakeAddAttrs>(run_take_add, {.cost = take_add_cost, .scratch = wide_sums_scratch});

}  // namespace tidemark
