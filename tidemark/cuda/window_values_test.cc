// Groups that read windows of padded arrays: plans of them, run by their kernels on the host, have the bits
// of the graph as it was written.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/group_values.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/command_source.h"
#include "tidemark/cuda/compiler.h"
#include "tidemark/cuda/target.h"
#include "tidemark/cuda/tile_layout.h"
#include "tidemark/cuda/tiled_group.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/opt/dce.h"
#include "tidemark/opt/windows.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/runtime/commands.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

ThreadPool& pool() {
  static ThreadPool one(1);
  return one;
}

Var fill(const Var& x, double number) { return constant_like(x, number); }

// Sums and products of shifted reads of two arrays, of parts of sums of padded arrays, of windows with gaps.
Graph random_stencil(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::i32};
  const DType dtype = dtypes[seed % std::size(dtypes)];
  const int rank = draw(1, 3);
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(draw(1, 9));
  Graph graph;
  Builder builder(graph);
  std::vector<Var> made = {builder.input({dtype, shape}), builder.input({dtype, shape})};
  const auto any = [&] { return made[static_cast<std::size_t>(draw(0, static_cast<int>(made.size()) - 1))]; };
  const auto padded = [&](const Var& x, int by) {
    Dims low, high;
    for (int d = 0; d < rank; ++d) {
      low.push_back(draw(0, 2 * by));
      high.push_back(2 * by - low[d]);
    }
    return pad(x, fill(x, draw(0, 2)), low, high, Dims::filled(rank, 0));
  };
  const auto part = [&](const Var& x) {  // of the common shape
    Dims start, limit;
    for (int d = 0; d < rank; ++d) {
      start.push_back(draw(0, static_cast<int>(x.shape()[d] - shape[d])));
      limit.push_back(start[d] + shape[d]);
    }
    return slice(x, start, limit, Dims::filled(rank, 1));
  };
  const auto spread = [&] {  // a few elements of another array, with gaps
    Shape few;
    Dims low, high, interior;
    for (int d = 0; d < rank; ++d) {
      few.push_back(draw(1, 3));
      interior.push_back(draw(0, 3));
      const std::int64_t size = few[d] + (few[d] - 1) * interior[d];
      low.push_back(draw(-1, 4));
      high.push_back(shape[d] - size - low[d]);
    }
    const Var x = builder.input({dtype, few});
    return pad(x, fill(x, 1), low, high, interior);
  };
  for (int k = 0; k < 6; ++k) {
    switch (draw(0, 4)) {
      case 0:
        made.push_back(part(padded(any(), draw(1, 3))));
        break;
      case 1: {
        const Var a = any(), b = any();
        const Var x = padded(a, 2), y = padded(b, 2);
        made.push_back(part(x + y * x));
        break;
      }
      case 2:
        made.push_back(spread());
        break;
      default: {
        const Var a = any(), b = any();
        made.push_back(draw(0, 1) ? a + b : a * fill(a, 3) - b);
      }
    }
  }
  Var sum = made.back();
  for (std::size_t k = 0; k + 1 < made.size(); ++k) sum = sum + made[k];
  graph.add_output(sum.id());
  graph.add_output(reduce_sum(sum * sum, all_axes(rank)).id());
  return graph;
}

// As a simulation writes it: a few steps of fields that move each other, on arrays of a few tiles or less
// than one, some of them read along one dimension only.
Graph random_simulation(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::i32, DType::f16};
  const DType dtype = dtypes[seed % std::size(dtypes)];
  const int rank = draw(1, 3);
  constexpr int most[] = {700, 90, 23};
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(draw(1, most[rank - 1]));
  Graph graph;
  Builder builder(graph);
  std::vector<Var> fields = {builder.input({dtype, shape}), builder.input({dtype, shape})};
  const Var medium = builder.input({dtype, shape});
  Shape row = shape;
  row[0] = 1;
  const Var along = builder.input({dtype, row}), number = builder.input({dtype, Shape{}});
  const int reach = draw(1, 2), steps = draw(1, 4);
  for (int s = 0; s < steps; ++s) {
    const Var& now = fields[static_cast<std::size_t>(draw(0, 1))];
    const double edge = draw(0, 3) == 0 ? draw(0, 2) : 0;
    const auto moved = [&](int d, int by) {
      Dims low = Dims::filled(rank, 0), high = low;
      low[d] = -by, high[d] = by;
      return pad(now, fill(now, draw(0, 9) == 0 ? 1 : edge), low, high, Dims::filled(rank, 0));
    };
    Var sum = now * (draw(0, 1) ? medium : along);
    for (int d = 0; d < rank; ++d) {
      if (draw(0, 2) == 0) continue;
      sum = sum + (moved(d, -draw(1, reach)) - moved(d, draw(1, reach)));
    }
    sum = sum + fields[1] * number;
    fields = {sum, draw(0, 1) ? fields[0] : sum - now};
    if (draw(0, 2) == 0) graph.add_output(sum.id());
  }
  graph.add_output(fields[0].id());
  graph.add_output((fields[1] + medium).id());
  return graph;
}

struct Planned {
  Graph graph;
  Plan plan;
  struct Launch {
    std::size_t kernel;
    std::vector<Location> in, out;
    std::optional<Location> scratch;
  };
  std::vector<Launch> launches;
  int windows = 0;             // in groups
  int tiled = 0, staying = 0;  // groups; those whose threads stay
};

Planned planned(const Graph& written, std::vector<KernelText>& kernels) {
  Planned p{.graph = dce(read_windows(written, known_ops(find_op))), .plan = {}};
  p.plan = make_plan(p.graph, cuda_target());
  const VerifiedPlan good = verified(p.graph, p.plan, cuda_target());
  CommandStream commands(p.graph, good);
  while (const Command* command = commands.next()) {
    TM_CHECK(has_kernel(*command), "{} has no kernel", command->steps[0].call.op->name);
    Planned::Launch launch{.kernel = kernels.size(), .in = {}, .out = {}, .scratch = command->scratch};
    for (const CommandOperand& operand : command->in) launch.in.push_back(operand.location);
    for (const CommandOperand& operand : command->out) launch.out.push_back(operand.location);
    if (command->is_group) {
      for (const GroupStep& step : command->steps) p.windows += step.call.op == &op::pad;
      const std::string name = fmt::format("window{}", kernels.size());
      if (works_in_tiles(command->steps)) {
        const bool stays = kernels.size() % 2 == 0;  // both kinds, whichever is faster
        ++p.tiled;
        p.staying += tile_layout(command->steps, stays).stays;
        kernels.push_back(write_tiled_group(command->steps, name, stays));
      } else {
        kernels.push_back(write_group(command->steps, name));
      }
    } else {
      kernels.push_back(write_command(*command));
      // Kernels of calls have a name of their own: here it must differ.
      const std::string name = fmt::format("alone{}", kernels.size());
      GroupStep step{.call = command->steps[0].call, .in = {}, .out = {{GroupRef::result, 0}}};
      for (std::size_t i = 0; i < step.call.in.size(); ++i)
        step.in.push_back({GroupRef::operand, static_cast<int>(i)});
      kernels.back() = write_group(std::span(&step, 1), name);
    }
    p.launches.push_back(std::move(launch));
  }
  return p;
}

std::vector<Literal> run(const Planned& p, const HostKernels& compiled, const std::vector<Literal>& inputs,
                         const std::vector<KernelText>& kernels, bool descending) {
  Shifted arena(p.plan.arena_bytes, 0);
  const auto at = [&](const Location& location) -> std::byte* {
    if (location.base == Location::arena) return arena.get() + location.offset;
    const Literal& input = inputs[static_cast<std::size_t>(location.which)];
    return const_cast<std::byte*>(input.bytes.data()) + location.offset;
  };
  for (const Planned::Launch& launch : p.launches) {
    const KernelText& kernel = kernels[launch.kernel];
    std::vector<const void*> in(static_cast<std::size_t>(kernel.operands));
    std::vector<void*> out(static_cast<std::size_t>(kernel.results));
    for (std::size_t i = 0; i < launch.in.size(); ++i) in[i] = at(launch.in[i]);
    for (std::size_t r = 0; r < launch.out.size(); ++r) out[r] = at(launch.out[r]);
    EXPECT_TRUE(
        compiled.run(launch.kernel, in, out, launch.scratch ? at(*launch.scratch) : nullptr, descending));
  }
  std::vector<Literal> results;
  for (const Ref& ref : p.plan.outputs) {
    const Buffer& buffer = p.plan.buffers[ref.buffer.index];
    results.push_back(literal_at(p.graph.type(ref.value), arena.get() + buffer.offset + ref.offset));
  }
  return results;
}

struct Found {
  int windows = 0, tiled = 0, staying = 0;
};
Found expect_bits(Graph (*program)(unsigned seed), unsigned count) {
  std::vector<KernelText> kernels;
  std::vector<Planned> plans;
  Found found;
  for (unsigned seed = 0; seed < count; ++seed) {
    plans.push_back(planned(program(seed), kernels));
    found.windows += plans.back().windows;
    found.tiled += plans.back().tiled;
    found.staying += plans.back().staying;
  }
  const HostKernels compiled(kernels);
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = program(seed);
    std::vector<Literal> inputs;
    for (const Input& input : graph.inputs()) {
      const Type& type = graph.type(input.value);
      const bool whole = !is_float(type.dtype);
      inputs.push_back(random_literal(type.dtype, type.shape, 7 + seed, whole ? 0 : -2, whole ? 9 : 2));
    }
    const std::vector<Literal> expected = interpret(graph, inputs, pool());
    for (const bool descending : {false, true}) {
      const std::vector<Literal> got = run(plans[seed], compiled, inputs, kernels, descending);
      EXPECT_EQ(bit_difference(got, expected), "") << print(plans[seed].graph);
      if (::testing::Test::HasFailure()) return found;
    }
  }
  return found;
}

TEST(WindowValues, StencilsHaveTheBitsOfThePaddedArraysTheyAreWrittenWith) {
  const Found found = expect_bits(random_stencil, 48);
  EXPECT_GT(found.windows, 60);
}

TEST(WindowValues, SimulationsInTilesHaveTheBitsOfTheirSteps) {
  const Found found = expect_bits(random_simulation, 60);
  EXPECT_GT(found.staying, 10);
  EXPECT_GT(found.tiled - found.staying, 10);
}

// Beyond what an index of 32 bits can say: by a shift that is 0 in its last 32 bits, of an array with gaps.
Graph far_windows(unsigned) {
  Graph graph;
  Builder builder(graph);
  constexpr std::int64_t far = std::int64_t{1} << 32;
  const Var x = builder.input({DType::f32, {300}}), few = builder.input({DType::f32, {3}});
  const Var made = neg(x);
  const Var near = pad(made, fill(x, 0), {1}, {-1}, {0});
  const Var shifted = pad(x, fill(x, 1), {far}, {-far}, {0});
  const Var spread = pad(few, fill(x, 2), {-far - 1}, {298 - far}, {far});
  graph.add_output((near + shifted + spread).id());
  return graph;
}

TEST(WindowValues, MayReachFartherThanSmallIndices) {
  const Found found = expect_bits(far_windows, 1);
  EXPECT_EQ(found.tiled, 1);
  EXPECT_EQ(found.windows, 3);
}

// A window on what the same kernel makes, where it does not work in tiles, or writes over, would be read
// before it is there, or after.
TEST(WindowValues, TheVerifierRefusesWindowsOnWhatTheirGroupMakesOrWrites) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {64}}), y = builder.input({DType::f32, {64}});
  const Var made = neg(x);
  const Var shifted = pad(made, fill(x, 0), {1}, {-1}, {0});
  graph.add_output((shifted + y).id());
  Target without = cuda_target();
  without.most_halo = 0;
  const Plan plan = make_plan(graph, without);
  ASSERT_TRUE(problems(graph, plan, without).empty());
  const auto op_of = [&](const Step& step) { return graph[step.node].op; };
  std::int32_t group = -1;
  for (const Step& step : plan.steps) {
    if (op_of(step) == &op::pad) group = step.group;
  }
  ASSERT_GE(group, 0) << "the window is a part of its reader's kernel";
  Plan together = plan;
  for (Step& step : together.steps) {
    if (op_of(step) == &op::neg) EXPECT_NE(step.group, group);
    step.group = group;
  }
  EXPECT_FALSE(problems(graph, together, without).empty());
  Plan over = plan;  // the sum where the window is read
  BufferId source;
  for (Step& step : over.steps) {
    if (op_of(step) == &op::pad) source = step.in[0].buffer;
  }
  for (Step& step : over.steps) {
    if (op_of(step) == &op::add) step.out[0].buffer = over.outputs[0].buffer = source;
  }
  bool found = false;
  for (const std::string& problem : problems(graph, over, without))
    found |= problem.find("writes where step") != std::string::npos;
  EXPECT_TRUE(found);
}

// Of windows on windows: `layers` of them, each so far from the one before.
struct Layers {
  Graph graph;
  explicit Layers(int layers, std::int64_t by) {
    Builder builder(graph);
    const Var x = builder.input({DType::f32, {40, 40}}), y = builder.input({DType::f32, {40, 40}});
    Var made = tril(x, 0) * y;  // of what is in memory
    for (int k = 0; k < layers; ++k)
      made = pad(made, fill(x, 0), {by, 0}, {-by, 0}, {0, 0}) + (k % 2 == 0 ? y : x);
    graph.add_output(made.id());
  }
  int kernels(const Target& target) const {
    const Plan plan = make_plan(graph, target);
    const VerifiedPlan good = verified(graph, plan, target);
    CommandStream commands(graph, good);
    int count = 0;
    while (commands.next()) ++count;
    return count;
  }
};

TEST(WindowValues, AKernelGoesAsFarBeyondItsTileAsTheTargetAllows) {
  EXPECT_EQ(Layers(6, 1).kernels(cuda_target()), 2);
  EXPECT_EQ(Layers(3, -2).kernels(cuda_target()), 2);
  EXPECT_GT(Layers(7, 1).kernels(cuda_target()), 2);
  EXPECT_GT(Layers(1, 7).kernels(cuda_target()), 2);
  Target small = cuda_target();
  small.tile_bytes = 1000;
  EXPECT_GT(Layers(1, 1).kernels(small), 2);
}

TEST(WindowValues, TheVerifierHoldsTilesToWhatTheirTargetSays) {
  const Layers layers(6, 1);
  const Plan plan = make_plan(layers.graph, cuda_target());
  ASSERT_TRUE(problems(layers.graph, plan, cuda_target()).empty());
  const auto refused = [&](const Target& target, const Plan& changed, std::string_view why) {
    for (const std::string& problem : problems(layers.graph, changed, target)) {
      if (problem.find(why) != std::string::npos) return true;
    }
    return false;
  };
  Target less = cuda_target();
  less.most_halo = 5;
  EXPECT_TRUE(refused(less, plan, "reach 6 elements"));
  less = cuda_target();
  less.tile_bytes = 10000;
  EXPECT_TRUE(refused(less, plan, "too large"));
  Plan over = plan;  // the result where neighbours still read
  ASSERT_EQ(over.outputs.size(), 1u);
  const auto first = std::ranges::find_if(
      over.steps, [&](const Step& step) { return layers.graph[step.node].op == &op::mul; });
  const BufferId read = first->in[0].buffer;
  over.steps.back().out[0].buffer = over.outputs[0].buffer = read;
  EXPECT_TRUE(refused(cuda_target(), over, "writes where step"));
}

TEST(WindowValues, CompileForTheGpu) {
  if (!compiler_version()) GTEST_SKIP() << compiler_version().error();
  std::vector<KernelText> kernels;
  for (unsigned seed = 0; seed < 4; ++seed) planned(random_stencil(seed), kernels);
  for (const KernelText& kernel : kernels) EXPECT_FALSE(compile(kernel.source, {9, 0}).empty());
  kernels.clear();
  for (unsigned seed = 0; seed < 5; ++seed) planned(random_simulation(seed), kernels);
  for (const KernelText& kernel : kernels) {
    for (const Architecture at : {Architecture{8, 0}, {9, 0}, {10, 0}})
      EXPECT_FALSE(compile(kernel.source, at).empty());
  }
}

}  // namespace
}  // namespace tidemark::cuda
