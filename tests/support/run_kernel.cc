#include "tests/support/run_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/test_target.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/base/aligned.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/cpu_kernels.h"

namespace tidemark::testing {
namespace {

constexpr std::int64_t guard_bytes = 256;
// Each kind of memory has a guard of its own: else a copy too long by an element would go unnoticed.
constexpr std::byte operand_guard{0xC5}, result_guard{0xA5}, scratch_guard{0xC3};

// Memory with guards before and after.
class Guarded {
 public:
  Guarded(std::int64_t bytes, std::byte fill, std::byte guard)
      : bytes_(bytes), guard_(guard), memory_(allocate_aligned(bytes + 2 * guard_bytes)) {
    std::memset(memory_.get(), static_cast<int>(guard), static_cast<std::size_t>(bytes + 2 * guard_bytes));
    std::memset(data(), static_cast<int>(fill), static_cast<std::size_t>(bytes));
  }
  std::byte* data() const { return memory_.get() + guard_bytes; }
  bool intact() const {
    for (std::int64_t i = 0; i < guard_bytes; ++i) {
      if (memory_[static_cast<std::size_t>(i)] != guard_) return false;
      if (data()[bytes_ + i] != guard_) return false;
    }
    return true;
  }

 private:
  std::int64_t bytes_;
  std::byte guard_;
  AlignedBytes memory_;
};

// A literal's elements laid out in guarded memory of their own.
struct Placed {
  Placed(const Literal& literal, const OperandLayout& place, std::byte fill)
      : memory(span(literal.shape, place).bytes(literal.dtype), fill, operand_guard) {
    const std::int64_t size = size_of(literal.dtype);
    ref = {memory.data() + (place.first - span(literal.shape, place).low) * size, literal.dtype,
           literal.shape, place.strides};
    if (is_dense(ref.shape, ref.strides)) {
      std::ranges::copy(literal.bytes, ref.data);
      return;
    }
    for (std::int64_t i = 0; i < ref.count(); ++i) {
      std::memcpy(ref.data + offset_of(ref.shape, ref.strides, i) * size, literal.bytes.data() + i * size,
                  static_cast<std::size_t>(size));
    }
  }

  Guarded memory;
  TensorRef ref;

 private:
  // The positions [low, high] the strides reach, with position 0.
  struct Span {
    std::int64_t low, high;
    std::int64_t bytes(DType dtype) const { return (high - low + 1) * size_of(dtype); }
  };
  static Span span(const Shape& shape, const OperandLayout& place) {
    std::int64_t low = place.first, high = place.first;
    for (int d = 0; d < shape.rank(); ++d) {
      const std::int64_t reach = place.strides[d] * std::max<std::int64_t>(shape[d] - 1, 0);
      (reach < 0 ? low : high) += reach;
    }
    return {std::min<std::int64_t>(low, 0), std::max<std::int64_t>(high, 0)};
  }
};

Literal read(const TensorRef& ref) {
  const std::int64_t size = size_of(ref.dtype);
  if (is_dense(ref.shape, ref.strides)) {
    return {ref.dtype, ref.shape, std::vector<std::byte>(ref.data, ref.data + ref.count() * size)};
  }
  Literal literal{ref.dtype, ref.shape, std::vector<std::byte>(static_cast<std::size_t>(ref.count() * size))};
  for (std::int64_t i = 0; i < ref.count(); ++i) {
    std::memcpy(literal.bytes.data() + i * size, ref.data + offset_of(ref.shape, ref.strides, i) * size,
                static_cast<std::size_t>(size));
  }
  return literal;
}

// The op alone, on operands of these types.
Graph graph_of(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs, SourceLine where,
               const std::vector<Graph>& regions = {}) {
  Graph graph;
  Builder builder(graph);
  builder.set_where(where);
  std::vector<Var> in;
  for (const Literal& operand : operands) in.push_back(builder.input({operand.dtype, operand.shape}));
  for (const Var& result : builder.call(op, in, attrs, regions)) graph.add_output(result.id());
  return graph;
}

struct Region {
  const Graph* graph;
  ThreadPool* pool;
  static void run(void* self, std::byte* const* inputs, std::byte* const* outputs) {
    const Region& region = *static_cast<const Region*>(self);
    const std::vector<const std::byte*> data(inputs, inputs + region.graph->inputs().size());
    const std::vector<AlignedBytes> memory = interpret(*region.graph, data, *region.pool);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::int64_t bytes = region.graph->type(region.graph->outputs()[i]).bytes();
      std::memcpy(outputs[i], memory[i].get(), static_cast<std::size_t>(bytes));
    }
  }
};

enum class Layout { dense, padded, transposed, reversed };
constexpr Layout all_layouts[] = {Layout::dense, Layout::padded, Layout::transposed, Layout::reversed};

OperandLayout layout_of(const Shape& shape, Layout layout) {
  OperandLayout place = dense_layout(shape);
  if (layout == Layout::padded) {  // a window in the middle of something larger
    Shape larger = shape;
    for (std::int64_t& size : larger) size = 2 * size + 1;
    place.strides = dense_strides(larger);
    for (int i = 0; i < shape.rank(); ++i) {
      place.first += place.strides[i];
      if (i % 2 == 0) place.strides[i] *= 2;
    }
  } else if (layout == Layout::transposed) {  // column-major
    std::int64_t step = 1;
    for (int i = 0; i < shape.rank(); ++i) place.strides[i] = step, step *= shape[i];
  } else if (layout == Layout::reversed) {
    for (std::int64_t& stride : place.strides) stride = -stride;
  }
  return place;
}

std::vector<Literal> unharmed(const Op& op, KernelRun run) {
  EXPECT_EQ(run.broken, "") << op.name << " writes outside its memory";
  return std::move(run.results);
}

void expect_views_show(const std::vector<Literal>& expected, const std::vector<Literal>& operands,
                       NodeCall& call, Layout layout) {
  const Op& op = *call.call.op;
  std::vector<Placed> placed;
  std::vector<Strides> strides;
  for (const Literal& operand : operands) {
    placed.emplace_back(operand, layout_of(operand.shape, layout), std::byte{0x5a});
    strides.push_back(placed.back().ref.strides);
  }
  call.call.in_strides = strides;
  for (std::size_t r = 0; op.view && r < call.out.size(); ++r) {
    const std::optional<ViewSpec> view = op.view(call, static_cast<int>(r));
    if (!view) continue;
    const Type& type = call.out[r];
    std::byte* base = placed[static_cast<std::size_t>(view->operand)].ref.data;
    EXPECT_EQ(read({base + view->offset * size_of(type.dtype), type.dtype, type.shape, view->strides}),
              expected[r])
        << op.name << " as a view, layout " << static_cast<int>(layout);
  }
  call.call.in_strides = {};
}

}  // namespace

std::int64_t offset_of(const Shape& shape, const Strides& strides, std::int64_t index) {
  std::int64_t at = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at += index % shape[d] * strides[d];
    index /= shape[d];
  }
  return at;
}

KernelRun run_kernel(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs,
                     const KernelOptions& options) {
  const Graph graph = graph_of(op, operands, attrs, options.where, options.regions);
  NodeCall call(graph, graph.nodes().front());
  std::vector<Placed> placed;
  std::vector<TensorRef> in, out;
  std::vector<Strides> strides;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    placed.emplace_back(operands[i],
                        options.layouts.empty() ? dense_layout(operands[i].shape) : options.layouts[i],
                        options.fill);
    in.push_back(placed.back().ref);
    strides.push_back(placed.back().ref.strides);
  }
  call.call.in_strides = strides;
  std::vector<Guarded> memory;
  for (std::size_t r = 0; r < call.out.size(); ++r) {
    const Type& type = call.out[r];
    memory.emplace_back(type.bytes(), options.fill, result_guard);
    const bool aliased = options.over >= 0 && static_cast<int>(r) == options.result;
    out.push_back({.data = aliased ? in[static_cast<std::size_t>(options.over)].data : memory.back().data(),
                   .dtype = type.dtype,
                   .shape = type.shape,
                   .strides = dense_strides(type.shape)});
  }
  KernelRun run;
  run.scratch_bytes = test_target().scratch(call);
  const Guarded scratch(run.scratch_bytes, options.fill, scratch_guard);
  const CpuKernel* kernel = find_cpu_kernel(op);
  const std::shared_ptr<const void> attributes = kernel->prepare(call);
  ThreadPool pool = options.backwards ? ThreadPool::backwards(options.threads) : ThreadPool(options.threads);
  std::vector<Region> regions;
  std::vector<RegionFunction> region_functions;
  for (const Graph& region : options.regions) regions.push_back({&region, &pool});
  for (Region& region : regions) region_functions.push_back({Region::run, &region});
  try {
    kernel->run({.in = in,
                 .out = out,
                 .attributes = attributes.get(),
                 .scratch = scratch.data(),
                 .pool = &pool,
                 .regions = region_functions,
                 .where = options.where});
  } catch (const Error& error) {
    if (!options.may_fail) throw;
    run.failure = error.what();
  }
  run.tasks = pool.most_tasks();
  for (std::size_t r = 0; r < out.size(); ++r) {
    run.results.push_back(read(out[r]));
    if (!memory[r].intact()) run.broken = fmt::format("result {}", r);
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!placed[i].memory.intact()) run.broken = fmt::format("operand {}", i);
  }
  if (!scratch.intact()) run.broken = "scratch";
  return run;
}

std::vector<Literal> run(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs,
                         std::initializer_list<int> threads) {
  std::vector<Literal> results;
  for (const int* count = threads.begin(); count != threads.end(); ++count) {
    std::vector<Literal> given = unharmed(op, run_kernel(op, operands, attrs, {.threads = *count}));
    if (count == threads.begin()) results = given;
    EXPECT_EQ(bit_difference(given, results), "") << op.name << " depends on the number of threads";
  }
  return results;
}

std::vector<Literal> run(const Graph& graph, const std::vector<Literal>& operands) {
  static ThreadPool pool(2);
  const auto needs_expansion = [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; };
  return interpret(expand(graph, needs_expansion, ExpandRegions::inside), operands, pool);
}

std::vector<Literal> interpreted(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs) {
  return run(graph_of(op, operands, attrs, {}), operands);
}

std::vector<Literal> expect_same_every_way(const Op& op, const std::vector<Literal>& operands,
                                           const Attrs& attrs) {
  const std::vector<Literal> expected = run(op, operands, attrs, {1});
  const Graph graph = graph_of(op, operands, attrs, {});
  NodeCall call(graph, graph.nodes().front());
  for (int threads : {1, 2}) {
    for (Layout layout : all_layouts) {
      std::vector<OperandLayout> layouts;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool takes = test_target().takes_strides(call, static_cast<int>(i));
        layouts.push_back(layout_of(operands[i].shape, takes ? layout : Layout::dense));
      }
      const KernelRun run = run_kernel(op, operands, attrs, {.threads = threads, .layouts = layouts});
      EXPECT_EQ(bit_difference(unharmed(op, run), expected), "")
          << op.name << " with " << threads << " threads, layout " << static_cast<int>(layout);
    }
    for (int k = 0; k < static_cast<int>(operands.size()); ++k) {
      if (!test_target().may_overwrite(call, 0, k)) continue;
      const KernelRun run = run_kernel(op, operands, attrs, {.threads = threads, .over = k});
      EXPECT_EQ(bit_difference(unharmed(op, run), expected), "")
          << op.name << " over operand " << k << " with " << threads << " threads";
    }
  }
  for (Layout layout : all_layouts) expect_views_show(expected, operands, call, layout);
  return expected;
}

}  // namespace tidemark::testing
