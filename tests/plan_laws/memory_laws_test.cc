// What a plan says about memory, held against what its kernels do (tests/support/checked_run.h): nobody
// writes outside of results and scratch, nobody reads what is dead, what was touched is what was planned, and
// a run allocates nothing. Over models, loops, loops with files, attention, convolutions and random programs.
#include <gtest/gtest.h>

#include "tests/support/checked_run.h"
#include "tests/support/count_allocations.h"
#include "tests/support/random_programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tests/support/tiny_models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/program.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::testing {
namespace {

using Bits = std::vector<std::byte>;

std::vector<Bits> bits_of(std::span<const Tensor> tensors) {
  std::vector<Bits> list;
  for (const Tensor& tensor : tensors) {
    const std::byte* bytes = tensor.bytes();
    list.emplace_back(bytes, bytes + tensor.type().bytes());
  }
  return list;
}

// The bytes written in either of two runs, whose patterns no byte can both be.
std::vector<bool> written_in(const CheckedRun& a, const CheckedRun& b) {
  std::vector<bool> written = a.written;
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = written[i] || b.written[i];
  return written;
}

Counted allocations_of_a_run(const Graph& graph, const Plan& plan, const std::vector<Bits>& inputs,
                             int threads) {
  CpuDevice device(threads);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, verified(graph, plan, test_target()), device, arena);
  std::vector<AlignedBytes> held;
  std::vector<std::byte*> memory;
  const auto fill = [&] {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].empty()) std::memcpy(memory[i], inputs[i].data(), inputs[i].size());
  };
  for (const Bits& input : inputs) {
    held.push_back(allocate_aligned(static_cast<std::int64_t>(input.size())));
    memory.push_back(held.back().get());
  }
  fill();
  const std::vector<Address> addresses = host_addresses(memory);
  executor.run(addresses);  // threads and libraries take what they need once per process
  fill();
  return count_allocations([&] { executor.run(addresses); });
}

void expect_memory_laws(const Graph& graph, const Plan& plan, const std::vector<Bits>& inputs,
                        const std::string& what) {
  const PlainRun plain = run_plain(graph, plan, inputs);
  const CheckedRun first = run_checked(graph, plan, inputs),
                   second = run_checked(graph, plan, inputs, {.threads = 3, .second_pattern = true});
  EXPECT_EQ(first.faults, std::vector<std::string>()) << what;
  EXPECT_EQ(second.faults, std::vector<std::string>()) << what << ", three threads";
  EXPECT_TRUE(first.outputs == plain.outputs) << what << ": what is dead, or not written yet, was read";
  EXPECT_TRUE(second.outputs == plain.outputs) << what << ": what is dead was read, with three threads";
  EXPECT_GE(first.launches, static_cast<std::int64_t>(kernel_count(plan))) << what;

  // Written: all bytes of values, some of scratch, no others; and so to the height of the plan.
  const std::vector<bool> written = written_in(first, second);
  const PlannedBytes planned = planned_bytes(graph, plan);
  std::int64_t touched = 0, expected = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    ASSERT_TRUE(written[i] || !planned.values[i])
        << what << ": byte " << i << " is planned and never written";
    ASSERT_TRUE(!written[i] || planned.values[i] || planned.scratch[i]) << what << ": byte " << i;
    if (written[i]) touched = static_cast<std::int64_t>(i) + 1;
    if (planned.values[i] || planned.scratch[i]) expected = static_cast<std::int64_t>(i) + 1;
  }
  EXPECT_EQ(align_up(expected, buffer_alignment), plan.arena_bytes) << what;
  const bool ends_in_scratch = expected > 0 && !planned.values[static_cast<std::size_t>(expected - 1)];
  if (!ends_in_scratch) {
    EXPECT_EQ(touched, expected) << what << ": the high-water mark";
  }

  // The operating system saw the same pages touched in a run that nobody watched.
  for (std::size_t page = 0; page < plain.pages.size(); ++page) {
    const auto begin = static_cast<std::int64_t>(page) * plain.page_bytes;
    const auto end = std::min(begin + plain.page_bytes, static_cast<std::int64_t>(written.size()));
    const auto any_of = [&](const std::vector<bool>& bytes) {
      return std::find(bytes.begin() + begin, bytes.begin() + end, true) != bytes.begin() + end;
    };
    // Which lanes of its scratch a kernel takes depends on the threads' speed.
    if (any_of(planned.values)) {
      EXPECT_EQ(plain.pages[page], any_of(written))
          << what << ": page " << page << " of " << plain.pages.size();
    } else if (!any_of(planned.scratch)) {
      EXPECT_FALSE(plain.pages[page]) << what << ": page " << page << " of " << plain.pages.size();
    }
  }

  if (!hooked) return;
  for (int threads : {1, 2}) {
    const Counted run = allocations_of_a_run(graph, plan, inputs, threads);
    EXPECT_EQ(run.allocations, 0) << what << ", threads " << threads;
  }
}

// With no budget and with one between the smallest arena and that.
void expect_memory_laws_at_budgets(const Graph& traced, const std::vector<Bits>& inputs,
                                   const std::string& what) {
  const Graph graph = prepare_graph(traced);
  const Plan free = make_plan(graph, test_target(), {.effort = 0.05});
  expect_memory_laws(graph, free, inputs, what);
  const PlanOptions less{.memory = free.input_bytes + free.arena_bytes * 3 / 4, .effort = 0.02};
  const Graph small = prepare_within(traced, {}, less).graph;
  const Result<Plan, Infeasible> plan = try_plan(small, test_target(), less);
  expect_memory_laws(small, plan ? plan.value() : plan.error().smallest, inputs, what + " in less memory");
}

template <class F, class... Args>
void expect_memory_laws_of(const std::string& what, const F& f, const Args&... args) {
  const auto traced = trace_call(f, std::tuple<Args...>(args...), {});
  expect_memory_laws_at_budgets(*traced.graph, bits_of(traced.inputs), what);
}

Tensor waves(const Shape& shape, double scale = 1) {
  return reshape(sin(arange(element_count(shape), DType::f32) * 0.37), shape) * scale;
}

TEST(MemoryLaws, HoldForEveryModel) {
  for (const tiny::TinyModel& model : tiny::all())
    expect_memory_laws_at_budgets(model.step, bits_of(model.inputs()), model.name);
}

TEST(MemoryLaws, HoldForRandomPrograms) {
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    const Graph graph = RandomProgram(seed, {.random = seed % 2 == 1}).joint();
    std::vector<Bits> inputs;
    for (const Literal& input : inputs_of(graph)) inputs.push_back(input.bytes);
    expect_memory_laws_at_budgets(graph, inputs, fmt::format("seed {}", seed));
  }
}

TEST(MemoryLaws, HoldForLoops) {
  const Tensor w = waves({16, 16}, 0.2), x = waves({4, 16}), xs = waves({12, 4, 16});
  for (const std::optional<Bytes> memory : {std::optional<Bytes>(), std::optional(Bytes(3 * 256))}) {
    const auto repeated = [=](Tensor v, Tensor u) {
      return sum(repeat(12, [&](Tensor y) { return tanh(matmul(y, v)); }, u, {.memory = memory}));
    };
    expect_memory_laws_of("repeat", repeated, w, x);
    expect_memory_laws_of("grad of repeat", grad<0, 1>(repeated), w, x);
    const auto scanned = [=](Tensor v, Tensor us) {
      const auto body = [&](Tensor h, Tensor u) {
        const Tensor next = tanh(matmul(h, v) + u);
        return std::pair(next, sum(next * next));
      };
      const auto [end, ys] = scan(body, zeros({4, 16}), us, {.memory = memory});
      return sum(end) + sum(ys);
    };
    expect_memory_laws_of("scan", scanned, w, xs);
    expect_memory_laws_of("grad of scan", grad<0, 1>(scanned), w, xs);
    const auto nested = [=](Tensor v, Tensor u) {
      const auto inner = [&](Tensor y) {
        return repeat(
                   3, [&](Tensor z) { return sin(matmul(z, v)); }, y) +
               y;
      };
      return sum(repeat(5, inner, u, {.memory = memory}));
    };
    expect_memory_laws_of("grad of a loop in a loop", grad<0, 1>(nested), w, x);
  }
}

TEST(MemoryLaws, HoldForLoopsOfUnknownLengthAndBranches) {
  const Tensor w = waves({16, 16}, 0.2), x = waves({4, 16});
  const auto looped = [](Tensor v, Tensor u) {
    return sum(while_loop([](Tensor y) { return sum(y * y) > 0.01; },
                          [&](Tensor y) { return tanh(matmul(y, v) * 0.2); }, u));
  };
  expect_memory_laws_of("while_loop", looped, w, x);
  expect_memory_laws_of("grad of while_loop", grad<0, 1>(looped), w, x);
  const auto bounded = [](Tensor v, Tensor u) {
    return sum(while_loop([](Tensor y) { return sum(y * y) > 0.01; },
                          [&](Tensor y) { return tanh(matmul(y, v) * 0.2); }, u,
                          {.max_steps = 100, .memory = Bytes(1024)}));
  };
  expect_memory_laws_of("grad of while_loop in a few slots", grad<0, 1>(bounded), w, x);
  for (double sign : {1.0, -1.0}) {
    const auto branched = [=](Tensor v, Tensor u) {
      return cond(
          sum(u) * sign > 0, [](Tensor a, Tensor b) { return sum(tanh(matmul(b, a))); },
          [](Tensor a, Tensor b) { return sum(a) * sum(exp(b)); }, v, u);
    };
    expect_memory_laws_of("cond", branched, w, x);
    expect_memory_laws_of("grad of cond", grad<0, 1>(branched), w, x);
  }
}

// As loops with a disk are cut; here all of it stays in memory.
TEST(MemoryLaws, HoldForLoopsInSegmentsThatRunAgain) {
  const Tensor w = waves({16, 16}, 0.2), xs = waves({30, 4, 16});
  const std::int64_t state = 4 * 16 * 4;
  const auto looped = [](Tensor v, Tensor inputs) {
    const auto body = [&](Tensor y, Tensor x) {
      const Tensor next = tanh(matmul(y, v) + x);
      return std::pair(next, sum(next));
    };
    const auto [end, ys] = scan(body, ones({4, 16}), inputs);
    return sum(end) + sum(ys * ys);
  };
  const auto traced = trace_call(grad<0, 1>(looped), std::tuple(w, xs), {});
  for (const std::int64_t again : {0, 2, 6}) {
    for (const std::int64_t own : {2 * state, 5 * state, 100 * state}) {
      LoopMemory memory;
      memory.each = {.own = own, .segments = 7, .again = again, .on_disk = true};
      const Graph graph = prepare_graph(*traced.graph, {}, nullptr, memory);
      expect_memory_laws(graph, make_plan(graph, test_target()), bits_of(traced.inputs),
                         fmt::format("{} of 7 segments again, {} bytes each", again, own));
    }
  }
}

TEST(MemoryLaws, HoldForAttention) {
  for (const auto& [queries, keys] : {std::pair(5, 5), {70, 70}, {33, 130}}) {
    const Tensor q = waves({2, 4, queries, 24}), k = waves({2, 2, keys, 24}),
                 v = waves({2, 2, keys, 24}, 0.5);
    for (bool causal : {false, true}) {
      if (causal && queries != keys) continue;
      const auto f = [=](Tensor a, Tensor b, Tensor c) {
        return sum(square(attention(a, b, c, {.causal = causal})));
      };
      expect_memory_laws_of("attention", f, q, k, v);
      expect_memory_laws_of("grad of attention", grad<0, 1, 2>(f), q, k, v);
    }
  }
}

TEST(MemoryLaws, HoldForConvolutions) {
  const Tensor x = waves({2, 6, 19, 17}), dense = waves({10, 6, 3, 3}, 0.3),
               strided = waves({8, 6, 5, 3}, 0.3), depthwise = waves({6, 1, 3, 3}, 0.3),
               pointwise = waves({9, 6, 1, 1}, 0.3);
  const auto check = [&](const std::string& what, const Tensor& w, const ConvAttrs& options) {
    const auto f = [=](Tensor a, Tensor b) { return sum(square(conv(a, b, options))); };
    expect_memory_laws_of(what, f, x, w);
    expect_memory_laws_of("grad of " + what, grad<0, 1>(f), x, w);
  };
  check("conv", dense, {.low = {1, 1}, .high = {1, 1}});
  check("strided conv", strided, {.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}});
  check("depthwise conv", depthwise, {.low = {1, 1}, .high = {1, 1}, .groups = 6});
  check("pointwise conv", pointwise, {});
}

TEST(MemoryLaws, HoldForOpsWithScratch) {
  const Tensor a = waves({3, 12, 12}) + reshape(eye(12), {1, 12, 12}) * 8, b = waves({3, 12, 4});
  expect_memory_laws_of("grad of solve", grad<0, 1>([](Tensor m, Tensor r) { return sum(solve(m, r)); }), a,
                        b);
  const Tensor x = waves({7, 300});
  expect_memory_laws_of("grad of sort",
                        grad([](Tensor t) { return sum(sort(t, 1).first * arange(300, DType::f32)); }), x);
  expect_memory_laws_of("half precision", grad([](Tensor t) {
                          const Tensor h = cast(t, DType::bf16);
                          return sum(cast(matmul(h, transpose(h, {1, 0})), DType::f32));
                        }),
                        x);
}

// The watch itself: a plan that lies is seen to lie.
TEST(MemoryLaws, SeeAPlanThatSharesMemoryTooEarly) {
  const auto traced = trace_call([](Tensor u) { return tanh(matmul(tanh(matmul(u, u)), u)); },
                                 std::tuple(waves({16, 16})), {});
  const Graph graph = prepare_graph(*traced.graph);
  const Plan plan = make_plan(graph, test_target(), {.skip = {"in_place", "fuse"}});
  const std::vector<Bits> inputs = bits_of(traced.inputs);
  const std::vector<Bits> right = run_plain(graph, plan, inputs).outputs;
  EXPECT_TRUE(run_checked(graph, plan, inputs).outputs == right);
  Plan lie = plan;
  for (Buffer& buffer : lie.buffers) {
    if (buffer.binding == Binding::arena && buffer.end > buffer.begin + 1) buffer.end = buffer.begin + 1;
  }
  EXPECT_FALSE(run_checked(graph, plan, inputs, {.watched = &lie}).outputs == right);
}

}  // namespace
}  // namespace tidemark::testing
