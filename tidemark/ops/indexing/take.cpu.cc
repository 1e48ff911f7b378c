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
  const auto& attrs = args.attrs<TakeAttrs>();
  const AroundAxis around(x.shape, static_cast<int>(attrs.axis));
  check_indices(args, indices, around.size, "take", attrs.what);
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

// The updates of each destination as a list, first to last. The end is -1.
struct UpdateLists {
  std::int64_t *first, *next;  // per destination, per update
};
template <class Index>
UpdateLists update_lists(std::byte* scratch, const Index* index, std::int64_t updates,
                         std::int64_t destinations) {
  auto* first = reinterpret_cast<std::int64_t*>(scratch);
  const UpdateLists lists{first, first + destinations};
  std::fill_n(lists.first, destinations, std::int64_t{-1});
  for (std::int64_t j = updates - 1; j >= 0; --j) {
    lists.next[j] = lists.first[index[j]];
    lists.first[index[j]] = j;
  }
  return lists;
}
std::int64_t lists_scratch(const Call& call) {
  const auto axis = static_cast<int>(call.attrs_as<TakeAddAttrs>().axis);
  return std::int64_t{sizeof(std::int64_t)} * (call.out[0].shape[axis] + call.in[1].count());
}

// Onto a third operand, where that lies: the updates of a destination are summed by themselves, rounded, and
// then added, so that the bits are those of an addition behind take_add.
template <class T>
void run_take_add_onto(const KernelArgs& args) {
  const TensorRef &updates = args.in[0], &indices = args.in[1], &onto = args.in[2], &out = args.out[0];
  const AroundAxis around(out.shape, static_cast<int>(args.attrs<TakeAddAttrs>().axis));
  check_indices(args, indices, around.size, "take_add");
  if (out.count() == 0) return;
  using A = compute_t<T>;
  const std::int64_t taken = indices.count(), inner = around.inner;
  UpdateLists lists{};
  with_indices(indices,
               [&](const auto* index) { lists = update_lists(args.scratch, index, taken, around.size); });
  constexpr std::int64_t target = std::int64_t{1} << 16;  // elements of work per task
  const std::int64_t per_row = inner + taken * inner / around.size;
  const std::int64_t grain = std::max<std::int64_t>(1, target / std::max<std::int64_t>(1, per_row));
  parallel_for(*args.pool, around.outer * around.size, grain, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t most = 256;
    A sums[most];
    for (std::int64_t row = begin; row < end; ++row) {
      const T* source = updates.as<T>() + row / around.size * taken * inner;
      const std::int64_t first = lists.first[row % around.size];
      for (std::int64_t column = 0; column < inner; column += most) {
        const std::int64_t columns = std::min(most, inner - column);
        std::fill_n(sums, columns, A(0));
        for (std::int64_t j = first; j >= 0; j = lists.next[j]) {
          if (lists.next[j] >= 0) {
            fetch_ahead(source + lists.next[j] * inner + column, columns * std::int64_t{sizeof(T)});
          }
          const T* update = source + j * inner + column;
          for (std::int64_t i = 0; i < columns; ++i)
            sums[i] = add_wrapping(sums[i], static_cast<A>(update[i]));
        }
        const T* before = onto.as<T>() + row * inner + column;
        T* after = out.as<T>() + row * inner + column;
        for (std::int64_t i = 0; i < columns; ++i) {
          const T sum = static_cast<T>(sums[i]);
          after[i] = static_cast<T>(add_wrapping(static_cast<A>(before[i]), static_cast<A>(sum)));
        }
      }
    }
  });
}

void run_take_add(const KernelArgs& args) {
  dispatch(args.in[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      if (args.in.size() == 3) {
        run_take_add_onto<T>(args);
      } else {
        run_take_add_typed<T>(args);
      }
    }
  });
}

Cost take_cost(const Call& call) {
  return {.flops = 0,
          .bytes = static_cast<double>(2 * call.out[0].bytes() + call.in[1].bytes()),
          .work = WorkKind::indexed};
}
// Zeros are written, then each update reads and writes its place. Onto another tensor: that is read and
// written once, and so is each update.
Cost take_add_cost(const Call& call) {
  if (call.in.size() == 3) {
    return {.flops = static_cast<double>(call.in[0].count() + call.out[0].count()),
            .bytes = static_cast<double>(2 * call.out[0].bytes() + call.in[1].bytes() + call.in[0].bytes()),
            .work = WorkKind::indexed};
  }
  return {.flops = static_cast<double>(call.in[0].count()),
          .bytes = static_cast<double>(call.out[0].bytes() + call.in[1].bytes() + 3 * call.in[0].bytes()),
          .work = WorkKind::indexed};
}

std::int64_t take_add_scratch(const Call& call) {
  return call.in.size() == 3 ? lists_scratch(call) : wide_sums_scratch(call);
}
bool take_add_in_place(const Call&, int, int operand) { return operand == 2; }

}  // namespace

const CpuKernel cpu::take = cpu_kernel<TakeAttrs>(run_take, {.cost = take_cost});
const CpuKernel cpu::take_add = cpu_kernel<TakeAddAttrs>(
    run_take_add, {.cost = take_add_cost, .scratch = take_add_scratch, .in_place = take_add_in_place});

}  // namespace tidemark
