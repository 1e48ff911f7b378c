// Lossy copies of what waits for the backward pass, as a user has them: what they touch and what they do not,
// what they save, what they cost in accuracy, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/sanitized.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;

struct LossyNet {
  std::vector<Tensor> weights;
  TM_FIELDS(LossyNet, weights)
};
Tensor lossy_loss(const LossyNet& net, Tensor x) {
  for (const Tensor& w : net.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}
LossyNet lossy_net(std::int64_t width = 128) {
  LossyNet made;
  for (int i = 0; i < 8; ++i) made.weights.push_back(random_normal(key(i), {width, width}, 0, 0.1));
  return made;
}
Tensor lossy_batch(std::int64_t rows = 2048, std::int64_t width = 128) {
  return random_normal(key(99), {rows, width});
}

std::vector<double> joined(const LossyNet& net) {
  std::vector<double> all;
  for (const Tensor& w : net.weights) {
    const std::vector<double> part = w.to_vector();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  return difference / size;
}
bool codes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.op->unpacks || std::ranges::any_of(node.regions, codes);
  });
}

constexpr Lossy eight_bits{.error = 4e-3};

TEST(Lossy, LeavesTheForwardPassAloneAndBringsGradientsClose) {
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  const auto free = compile(value_and_grad(lossy_loss));
  const auto [value, gradient] = free(net, x);
  const Bytes budget(free.plan().peak().count * 6 / 10);
  const auto step =
      compile(value_and_grad(lossy_loss), {.memory = budget, .lossy = eight_bits, .effort = 0.1});
  const auto [same, close] = step(net, x);
  ASSERT_TRUE(codes(step.plan().graph)) << step.plan().summary();
  EXPECT_EQ(value.to_vector(), same.to_vector());
  EXPECT_NE(joined(gradient), joined(close));
  EXPECT_LT(distance(joined(gradient), joined(close)), 0.02);
  EXPECT_LE(step.plan().peak(), budget);
  EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
  EXPECT_THAT(step.plan().summary(), ::testing::HasSubstr("compressed"));
  // Exact, for the same budget.
  const auto exact = compile(value_and_grad(lossy_loss), {.memory = budget, .effort = 0.1});
  (void)exact(net, x);
  EXPECT_LT(step.plan().plan.seconds, exact.plan().plan.seconds);
}

TEST(Lossy, DoesNothingWhereThereIsNoNeed) {
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  const auto free = compile(grad(lossy_loss));
  const std::vector<double> exact = joined(free(net, x));
  const auto without_budget = compile(grad(lossy_loss), {.lossy = eight_bits});
  EXPECT_EQ(exact, joined(without_budget(net, x)));
  EXPECT_EQ(free.plan().peak(), without_budget.plan().peak());
  const auto roomy = compile(grad(lossy_loss), {.memory = free.plan().peak(), .lossy = eight_bits});
  EXPECT_EQ(exact, joined(roomy(net, x)));
  // No format is this close.
  const auto strict = compile(
      grad(lossy_loss),
      {.memory = Bytes(free.plan().peak().count * 7 / 10), .lossy = Lossy{.error = 1e-6}, .effort = 0.1});
  EXPECT_EQ(exact, joined(strict(net, x)));
}

TEST(Lossy, FitsWhereNothingElseDoesAndErrorsProposeIt) {
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  // Nothing may run twice here, so that only smaller forms help.
  const auto kept = [](const LossyNet& n, Tensor h) {
    for (const Tensor& w : n.weights) h = keep(tanh(keep(matmul(h, w))));
    return mean(square(h));
  };
  const Bytes least = compile(grad(kept), {.effort = 0.1}).smallest(net, x).memory;
  const Bytes with_forms = compile(grad(kept), {.lossy = eight_bits, .effort = 0.1}).smallest(net, x).memory;
  EXPECT_LT(with_forms.count, least.count * 7 / 10);
  const auto step = compile(grad(kept), {.memory = with_forms, .lossy = eight_bits, .effort = 0.1});
  EXPECT_LT(distance(joined(compile(grad(kept))(net, x)), joined(step(net, x))), 0.02);
  EXPECT_LE(step.plan().peak(), with_forms);
  try {
    (void)compile(grad(kept), {.memory = Bytes(least.count - 1), .effort = 0.1})(net, x);
    FAIL() << "a budget below the least";
  } catch (const InfeasibleBudget& infeasible) {
    EXPECT_THAT(infeasible.what(), ::testing::HasSubstr("lossy"));
  }
}

TEST(Lossy, GradientErrorSaysWhatWasMeasured) {
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  const auto exact = compile(grad(lossy_loss));
  const std::vector<double> right = joined(exact(net, x));
  const auto step =
      compile(grad(lossy_loss),
              {.memory = Bytes(exact.plan().peak().count * 7 / 10), .lossy = eight_bits, .effort = 0.1});
  const std::vector<double> given = joined(step(net, x));
  const GradientError error = step.gradient_error(net, x);
  ASSERT_EQ(error.results.size(), net.weights.size());
  EXPECT_GT(error.largest, 0);
  EXPECT_LT(error.largest, 0.05);
  ASSERT_FALSE(error.values.empty());
  for (const LossyValue& value : error.values) {
    EXPECT_EQ(value.form, Form(QuantFormat::int8));
    EXPECT_GT(value.plain.count, 3 * value.small.count);
    ASSERT_TRUE(value.measured);
    EXPECT_GT(*value.measured, 0);
    EXPECT_LE(*value.measured, value.bound);
    EXPECT_LE(value.bound, eight_bits.error);
  }
  EXPECT_THAT(error.text(), ::testing::HasSubstr("int8"));
  EXPECT_THAT(error.text(), ::testing::HasSubstr("lossy_test.cc"));
  EXPECT_EQ(given, joined(step(net, x))) << "the call is what it was";
  EXPECT_EQ(exact.gradient_error(net, x).largest, 0);
  EXPECT_TRUE(exact.gradient_error(net, x).values.empty());
}

TEST(Lossy, CompressActsOnOneValueAndIsReported) {
  const Tensor w = random_normal(key(1), {64, 64}), x = random_normal(key(2), {4096, 64});
  const auto with = [](auto mark) {
    return [mark](Tensor w1, Tensor in) {
      const Tensor h = mark(tanh(matmul(in, w1)));
      return mean(square(sin(matmul(h, w1))));
    };
  };
  const auto plain = compile(grad(with([](Tensor h) { return h; })));
  const auto hinted = compile(grad(with([](Tensor h) { return compress(h, codec::int8); })));
  const std::vector<double> exact = plain(w, x).to_vector(), close = hinted(w, x).to_vector();
  EXPECT_NE(exact, close);
  EXPECT_LT(distance(exact, close), 0.02);
  EXPECT_LT(hinted.plan().peak(), plain.plan().peak());
  ASSERT_EQ(hinted.plan().plan.hints.size(), 1u);
  const HintReport& report = hinted.plan().plan.hints[0];
  EXPECT_TRUE(report.honoured) << report.reason;
  EXPECT_GT(report.bytes, 4096 * 64 * 2);
  ASSERT_EQ(hinted.gradient_error(w, x).values.size(), 1u);
  // The same bits at every budget: what is computed again passes through the same copy.
  const Bytes least = hinted.smallest(w, x).memory;
  for (const double part : {0.0, 0.3, 0.7}) {
    const auto bytes = static_cast<double>(hinted.plan().peak().count - least.count) * part;
    const auto tight = compile(grad(with([](Tensor h) { return compress(h, codec::int8); })),
                               {.memory = Bytes(least.count + static_cast<std::int64_t>(bytes))});
    EXPECT_EQ(close, tight(w, x).to_vector()) << part;
  }
}

TEST(Lossy, CompressWithoutEffectSaysWhy) {
  const Tensor w = random_normal(key(1), {64, 64});
  const auto step = compile(grad([](Tensor w1) {
    const Tensor argument = compress(w1, codec::int8), sum_alone = compress(w1 + 1, codec::int4);
    return sum(square(argument)) + sum(sum_alone);
  }));
  (void)step(w);
  ASSERT_EQ(step.plan().plan.hints.size(), 2u);
  for (const HintReport& report : step.plan().plan.hints) {
    EXPECT_FALSE(report.honoured);
    EXPECT_FALSE(report.reason.empty());
  }
}

TEST(Lossy, RulesThatDivideReadWhatWasComputed) {
  // A block whose small numbers a format would make 0.
  std::vector<double> values(8192, 1e-6);
  for (std::size_t i = 0; i < values.size(); i += 64) values[i] = 1e6;
  const Tensor x = tensor(std::vector<float>(values.begin(), values.end()), {8192});
  const auto f = [](Tensor in) {
    const Tensor h = keep(in * 1.5);
    return sum(log(h)) + sum(1.0 / h) + sum(sqrt(h)) + sum(pow(h, h * 0.0 + 0.5)) +
           sum(maximum(h, flip(h, {0})));
  };
  const auto free = compile(grad(f));
  const std::vector<double> exact = free(x).to_vector();
  for (const double part : {0.9, 0.8, 0.7}) {
    const Bytes budget(static_cast<std::int64_t>(static_cast<double>(free.plan().peak().count) * part));
    const auto step = compile(grad(f), {.memory = budget, .lossy = Lossy{.error = 0.2}, .effort = 0.1});
    try {
      for (const double g : step(x).to_vector()) ASSERT_TRUE(std::isfinite(g));
    } catch (const InfeasibleBudget&) {
      break;
    }
  }
}

TEST(Lossy, LoopsKeepSmallRecords) {
  const Tensor w = random_normal(key(3), {64, 64}, 0, 0.15), xs = random_normal(key(4), {64, 32, 64});
  const auto f = [](Tensor weights, Tensor inputs) {
    const auto step = [&](Tensor h, Tensor in) { return tanh(matmul(h, weights) + in); };
    return mean(square(scan(step, zeros({32, 64}), inputs)));
  };
  const auto free = compile(grad(f));
  const std::vector<double> exact = free(w, xs).to_vector();
  const Bytes budget(free.plan().peak().count * 7 / 10);
  const auto step = compile(grad(f), {.memory = budget, .lossy = eight_bits, .effort = 0.1});
  const std::vector<double> close = step(w, xs).to_vector();
  EXPECT_LE(step.plan().peak(), budget);
  EXPECT_LT(distance(exact, close), 0.05);
  const auto recomputing = compile(grad(f), {.memory = budget, .effort = 0.1});
  (void)recomputing(w, xs);
  EXPECT_LE(step.plan().plan.seconds, recomputing.plan().plan.seconds);
  for (const LossyValue& value : step.gradient_error(w, xs).values) EXPECT_GE(value.copies, 1);
}

TEST(Lossy, SecondDerivativesPassThroughCopies) {
  const Tensor x = random_normal(key(5), {64, 64}), v = random_normal(key(6), {64, 64});
  const auto f = [](Tensor in) { return sum(sin(matmul(tanh(in), in))); };
  const auto h = [&](Tensor at, Tensor along) { return hvp(f, at, along); };
  const auto free = compile(h);
  const std::vector<double> exact = free(x, v).to_vector();
  const Bytes least = compile(h, {.lossy = eight_bits, .effort = 0.1}).smallest(x, v).memory;
  const auto tight = compile(h, {.memory = least, .lossy = eight_bits, .effort = 0.1});
  EXPECT_LT(distance(exact, tight(x, v).to_vector()), 0.05);
}

TEST(Lossy, CheckpointsAndLargestBatchesGoAlong) {
  const LossyNet net = lossy_net();
  const auto block = checkpoint([](Tensor h, Tensor w) { return tanh(matmul(tanh(matmul(h, w)), w)); });
  const auto f = [&](const LossyNet& n, Tensor h) {
    for (const Tensor& w : n.weights) h = block(h, w);
    return mean(square(h));
  };
  // What a block reads it reads exactly, to compute its inside again: there is little left to save.
  const std::vector<double> exact = joined(compile(grad(f))(net, lossy_batch()));
  const Bytes least =
      compile(grad(f), {.lossy = eight_bits, .effort = 0.1}).smallest(net, lossy_batch()).memory;
  const auto step =
      compile(grad(f), {.memory = least, .lossy = eight_bits, .effort = 0.1, .max_batch = 2048});
  EXPECT_LT(distance(exact, joined(step(net, lossy_batch()))), 0.02);
  EXPECT_LE(step.plan().peak(), least);
  const std::vector<double> small = joined(compile(grad(f))(net, lossy_batch(96)));
  EXPECT_LT(distance(small, joined(step(net, lossy_batch(96)))), 0.02);
  EXPECT_LE(step.plan().peak(), least);
}

TEST(Lossy, SmallerBatchesKeepTheFormsOfTheLargest) {
  const LossyNet net = lossy_net();
  const auto free = compile(grad(lossy_loss));
  (void)free.prepare(net, lossy_batch());
  const auto step = compile(grad(lossy_loss), {.memory = Bytes(free.plan().peak().count * 7 / 10),
                                               .lossy = eight_bits,
                                               .effort = 0.1,
                                               .max_batch = 2048});
  (void)step(net, lossy_batch());
  const std::size_t forms = step.gradient_error(net, lossy_batch()).values.size();
  ASSERT_GT(forms, 0u);
  for (const std::int64_t rows : {1, 96, 1000}) {
    const std::vector<double> exact = joined(free(net, lossy_batch(rows)));
    EXPECT_LT(distance(exact, joined(step(net, lossy_batch(rows)))), 0.05) << rows;
    EXPECT_EQ(step.gradient_error(net, lossy_batch(rows)).values.size(), forms) << rows;
  }
}

TEST(Lossy, MicroBatchesMayHaveCopiesToo) {
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  const auto hinted = [](const LossyNet& n, Tensor h) {
    for (const Tensor& w : n.weights) h = compress(tanh(matmul(h, w)), codec::int8);
    return mean(square(h));
  };
  const std::vector<double> exact = joined(compile(grad(lossy_loss))(net, x));
  const auto plain = compile(grad(lossy_loss), {.accumulate = 4});
  const auto step = compile(grad(hinted), {.accumulate = 4});
  const std::vector<double> cut = joined(plain(net, x)), close = joined(step(net, x));
  EXPECT_LT(distance(exact, cut), 1e-5);
  EXPECT_GT(distance(exact, close), 1e-5);
  EXPECT_LT(distance(exact, close), 0.02);
  EXPECT_LT(step.plan().peak(), plain.plan().peak());
  EXPECT_EQ(step.gradient_error(net, x).values.size(), net.weights.size());
  const Bytes least = compile(grad(lossy_loss), {.lossy = eight_bits, .effort = 0.1, .accumulate = 4})
                          .smallest(net, x)
                          .memory;
  const auto tight =
      compile(grad(lossy_loss), {.memory = least, .lossy = eight_bits, .effort = 0.1, .accumulate = 4});
  EXPECT_LT(distance(exact, joined(tight(net, x))), 0.02);
  EXPECT_LE(tight.plan().peak(), least);
}

TEST(Lossy, ThreadsGetTheSameBits) {
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  const auto free = compile(grad(lossy_loss));
  (void)free.prepare(net, x);
  const auto step = compile(grad(lossy_loss), {.memory = Bytes(free.plan().peak().count * 9 / 10),
                                               .lossy = eight_bits,
                                               .effort = 0.1,
                                               .held_results = 3});
  const std::vector<double> expected = joined(step(net, x));
  ASSERT_TRUE(codes(step.plan().graph));
  std::vector<int> wrong(3, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 2; ++run) wrong[t] += joined(step(net, x)) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0}));
}

TEST(Lossy, AllowingMoreIsNeverSlower) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const LossyNet net = lossy_net();
  const Tensor x = lossy_batch();
  const auto free = compile(grad(lossy_loss));
  (void)free.prepare(net, x);
  const Bytes least = compile(grad(lossy_loss), {.effort = 0.1}).smallest(net, x).memory;
  for (const double part : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    if (few && part != 0.2) continue;
    const auto room = static_cast<double>(free.plan().peak().count - least.count);
    const Bytes budget(least.count + static_cast<std::int64_t>(part * room));
    double before = std::numeric_limits<double>::infinity();
    for (const double error : {0.0, 5e-4, 4e-3, 9e-2}) {
      std::optional<Lossy> lossy;
      if (error > 0) lossy = Lossy{error};
      const auto step = compile(grad(lossy_loss), {.memory = budget, .lossy = lossy, .effort = 0.1});
      const PlannedGraph planned = step.prepare(net, x);
      EXPECT_LE(planned.peak(), budget);
      EXPECT_GE(planned.plan.extra_time(), -1e-9);
      // Against the exact plan; what finer and coarser forms give is each found by a search of its own.
      if (error == 0) before = planned.plan.seconds;
      EXPECT_LE(planned.plan.seconds, before * (1 + 1e-12)) << part << " of the room, error " << error;
    }
  }
}

TEST(Lossy, MeasuredErrorsKeepTheirBoundsInEveryDtypeAndWithInfinities) {
  const auto f = [](Tensor in) { return sum(square(compress(in * 1.0, codec::int4))); };
  const auto g = [](Tensor in) { return sum(square(compress(in * 1.0, codec::int8))); };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const double scale = dtype == DType::f64 ? 1e50 : 1e-3;
    for (const bool infinite : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(dtype), infinite));
      std::vector<double> values;
      for (int i = 0; i < 4096; ++i) values.push_back(scale * std::sin(0.1 * i));
      if (infinite) values[100] = std::numeric_limits<double>::infinity();
      if (infinite) values[900] = std::nan("");
      const Tensor x = cast(tensor(values, {4096}), dtype);
      for (const GradientError& error :
           {compile(grad(f)).gradient_error(x), compile(grad(g)).gradient_error(x)}) {
        ASSERT_EQ(error.values.size(), 1u);
        EXPECT_GT(*error.values[0].measured, 0);
        EXPECT_LE(*error.values[0].measured, error.values[0].bound);
      }
    }
  }
}

TEST(Lossy, ValuesWithoutElementsHaveNoError) {
  const auto f = [](Tensor in) { return sum(square(compress(in * 2, codec::int8))); };
  const GradientError error = compile(grad(f)).gradient_error(zeros({0, 4}));
  EXPECT_EQ(error.largest, 0);
  for (const LossyValue& value : error.values) EXPECT_EQ(value.measured.value_or(0), 0);
}

TEST(Lossy, ASmallerBatchMayBeTracedToAnotherGraph) {
  const LossyNet net = lossy_net();
  const auto f = [](const LossyNet& n, Tensor x) {
    if (x.shape()[0] < 100) {
      for (const Tensor& w : n.weights) x = sin(matmul(x, w));
    }
    for (const Tensor& w : n.weights) x = tanh(matmul(x, w));
    return mean(square(x));
  };
  const auto free = compile(grad(f));
  (void)free.prepare(net, lossy_batch());
  const auto step = compile(grad(f), {.memory = Bytes(free.plan().peak().count * 7 / 10),
                                      .lossy = eight_bits,
                                      .effort = 0.1,
                                      .max_batch = 2048});
  (void)step(net, lossy_batch());
  EXPECT_LT(distance(joined(free(net, lossy_batch(50))), joined(step(net, lossy_batch(50)))), 0.1);
  EXPECT_LT(step.gradient_error(net, lossy_batch(50)).largest, 0.1);
}

TEST(Lossy, ErrorsThatAreNoneAreRefused) {
  const auto with = [](double error) {
    return [=] { (void)compile(grad(lossy_loss), {.lossy = Lossy{error}})(lossy_net(), lossy_batch()); };
  };
  EXPECT_EQ(code_of(with(0)), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with(-1e-3)), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with(1)), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with(std::nan(""))), ErrorCode::bad_plan_option);
}

}  // namespace
}  // namespace tidemark
