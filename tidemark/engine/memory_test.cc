// Holds the plan's figure against the whole process: every allocation is counted by hooks on malloc and mmap.
#include <gtest/gtest.h>

#include "tests/support/count_allocations.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

// What a call adds to the plan's figure in the process: handles of its results and bookkeeping of bound
// inputs (docs/concepts.md, "What the figure covers").
constexpr std::int64_t documented_constant = 16 << 10;

// What the steps of a plan take, made ready to run: kernels, shapes and strides.
constexpr std::int64_t constant_per_step = 2 << 10;

Tensor loss(Tensor w1, Tensor w2, Tensor x) { return mean(square(matmul(relu(matmul(x, w1)), w2))); }

TEST(Memory, TheProcessHoldsWhatThePlanSays) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const Tensor w1 = full({256, 512}, 0.01), w2 = full({512, 64}, 0.02), x = full({128, 256}, 0.5);
  compile(grad(loss))(w1, w2, x);  // BLAS and the pool take what they need once per process
  std::optional<Tensor> result;
  std::int64_t planned = 0, arena = 0;
  const auto program = [&] {
    const auto step = compile(grad(loss));
    step.prepare(w1, w2, x);  // tracing and planning allocate and free; only what stays counts below
    planned = step.plan().plan.arena_bytes;
    const std::int64_t base = live_bytes;
    peak_bytes = base;
    const std::int64_t before = allocations;
    result = step(w1, w2, x);
    arena = step.arena_high_water().count;
    EXPECT_LE(peak_bytes - base, documented_constant) << "running allocated";
    EXPECT_LE(allocations - before, 200) << "allocations of a call must not grow with the plan";
  };
  const Counted whole = count_allocations(program);
  EXPECT_EQ(arena, planned);
  EXPECT_GE(whole.peak, planned);
  EXPECT_EQ(result->shape(), (Shape{256, 512}));
}

TEST(Memory, TheProcessStaysWithinABudgetPlusWhatThePlanItselfTakes) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const auto deep = [](Tensor w, Tensor in) {
    for (int i = 0; i < 6; ++i) in = tanh(matmul(in, w));
    return mean(square(in));
  };
  const Tensor w = full({64, 64}, 0.01), x = full({512, 64}, 0.5);
  compile(grad(deep))(w, x);  // BLAS and the pool take what they need once per process
  constexpr Effort little = 0.01;
  const auto free = compile(grad(deep), {.effort = little});
  const std::int64_t most = free.prepare(types_of(w), types_of(x)).peak().count;
  const std::int64_t least = free.smallest(types_of(w), types_of(x)).memory.count;
  ASSERT_LT(least, most);
  for (int k = 0; k < 8; ++k) {
    const auto step =
        compile(grad(deep), {.memory = Bytes(least + (most - least) * k / 7), .effort = little});
    const Plan& plan = step.prepare(types_of(w), types_of(x)).plan;  // takes no memory for tensors
    const auto steps = static_cast<std::int64_t>(plan.steps.size());
    const std::int64_t inputs = w.type().bytes() + x.type().bytes();
    std::optional<Tensor> result;
    const Counted run = count_allocations([&] { result = step(w, x); });
    EXPECT_LE(plan.peak(), plan.budget);
    EXPECT_LE(inputs + run.peak, plan.peak() + documented_constant + steps * constant_per_step);
    EXPECT_EQ(step.arena_high_water().count, plan.arena_bytes);
  }
}

TEST(Memory, TheProcessStaysWithinABudgetWhileTheLastResultsAreHeld) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const auto step_of = [](Tensor w, Tensor in) {
    return grad<0, 1>([](Tensor v, Tensor u) {
      for (int i = 0; i < 4; ++i) u = tanh(matmul(u, v));
      return mean(square(u));
    })(w, in);
  };
  const Tensor w = full({64, 64}, 0.01), x = full({512, 64}, 0.5);
  compile(step_of)(w, x);  // BLAS and the pool take what they need once per process
  const std::int64_t inputs = w.type().bytes() + x.type().bytes();
  const Bytes budget = compile(step_of).prepare(types_of(w), types_of(x)).peak() + Bytes(inputs);
  for (int held : {0, 1}) {
    const auto step = compile(step_of, {.memory = budget, .effort = 0.01, .held_results = held});
    const auto steps = static_cast<std::int64_t>(step.prepare(types_of(w), types_of(x)).plan.steps.size());
    int refused = 0;
    const Counted run = count_allocations([&] {
      std::vector<std::tuple<Tensor, Tensor>> results;
      for (int i = 0; i < 4; ++i) {
        try {
          results.push_back(step(w, x));
        } catch (const Error&) {
          ++refused;  // nothing more fits
        }
        if (held == 1 && results.size() > 1) results.erase(results.begin());
      }
    });
    EXPECT_LE(inputs + run.peak, budget.count + documented_constant + steps * constant_per_step) << held;
    EXPECT_EQ(refused > 0, held == 0) << "there is room for one more set of results at most";
  }
}

TEST(Memory, TheReportOfWhatIsRememberedIsNearWhatTheProcessHolds) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const auto step = compile(grad(loss));
  const Tensor w1 = full({16, 16}, 0.01), w2 = full({16, 4}, 0.02);
  const auto call = [&](int batch) { step(w1, w2, full({batch, 16}, 0.5)); };
  call(40);  // reserves the arena
  const std::int64_t before = step.memory_report().cached().count;
  constexpr int shapes = 30;
  std::int64_t grown = 0;
  count_allocations([&] {
    const std::int64_t base = live_bytes;
    for (int batch = 1; batch <= shapes; ++batch) call(batch);
    grown = live_bytes - base;
  });
  const std::int64_t reported = step.memory_report().cached().count - before;
  EXPECT_GE(reported, grown / 2) << reported << " of " << grown;
  EXPECT_LE(reported, grown * 2) << reported << " of " << grown;
  EXPECT_EQ(step.memory_report().plans, std::size_t{shapes} + 1);
}

TEST(Memory, AThousandRunsAllocateNoMoreThanOne) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const Tensor w1 = full({64, 64}, 0.01), w2 = full({64, 8}, 0.02), x = full({32, 64}, 0.5);
  const auto step = compile(loss);
  step(w1, w2, x);
  const Counted one = count_allocations([&] { step(w1, w2, x); });
  const Counted many = count_allocations([&] {
    for (int i = 0; i < 1000; ++i) step(w1, w2, x);
  });
  EXPECT_LE(many.peak, documented_constant);
  EXPECT_LE(one.peak, documented_constant);
  EXPECT_EQ(many.allocations, 1000 * one.allocations);
}

TEST(Memory, StepsOfALoopAllocateNothing) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  const Tensor w = full({16, 16}, 0.01), x = full({4, 16}, 0.5);
  const auto allocations_of = [&](std::int64_t steps, std::optional<Bytes> memory) {
    const auto f = compile(grad([=](Tensor v, Tensor u) {
      return sum(repeat(steps, [&](Tensor y) { return tanh(matmul(y, v)); }, u, {.memory = memory}));
    }));
    f(w, x);
    return count_allocations([&] { f(w, x); }).allocations;
  };
  for (const std::optional<Bytes> memory : {std::optional<Bytes>(), std::optional(Bytes(3 * 256))})
    EXPECT_EQ(allocations_of(10, memory), allocations_of(200, memory));
}

}  // namespace
}  // namespace tidemark
