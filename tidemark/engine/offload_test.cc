// offload(x, disk) on real programs: the same bits, x on the disk while it waits, and a word about each hint,
// however it is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr int layers = 4;
constexpr std::int64_t rows = 512, width = 64;
constexpr std::int64_t layer_bytes = rows * width * 4;

Tensor waves_of(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency);
}
Tensor weight() { return waves_of({width, width}, 0.7) * 0.2; }
Tensor rows_in() { return waves_of({rows, width}, 0.3); }

// A net of tanh layers; what each makes passes through `hint`, with its number.
template <class Hint>
auto hinted_loss(const Hint& hint) {
  return [hint](Tensor w, Tensor x) {
    for (int l = 0; l < layers; ++l) x = hint(name(tanh(matmul(x, w)), "h" + std::to_string(l)), l);
    return mean(square(x));
  };
}
const auto unhinted = [](const Tensor& h, int) { return h; };

struct Outcome {
  std::vector<double> gradient;
  Plan plan;
  std::string summary;

  const HintReport& only() const {
    EXPECT_EQ(plan.hints.size(), 1u);
    return plan.hints.at(0);
  }
};

template <class F>
Outcome outcome_of(const F& f, std::optional<Bytes> disk_bytes = 1_GiB, Bytes memory = 64_MiB) {
  const ScratchFolder folder;
  CompileOptions options{.memory = memory, .effort = 0.1};
  if (disk_bytes) options.disk = DiskBudget{folder.path(), *disk_bytes};
  const auto step = compile(grad(f), options);
  Outcome outcome{step(weight(), rows_in()).to_vector(), {}, {}};
  EXPECT_EQ(step(weight(), rows_in()).to_vector(), outcome.gradient);
  EXPECT_TRUE(folder.empty());
  outcome.plan = step.plan().plan;
  outcome.summary = step.plan().summary();
  EXPECT_LE(step.plan().peak(), memory);
  return outcome;
}
template <class Hint>
Outcome outcome_with(const Hint& hint, std::optional<Bytes> disk_bytes = 1_GiB, Bytes memory = 64_MiB) {
  Outcome outcome = outcome_of(hinted_loss(hint), disk_bytes, memory);
  static const std::vector<double> expected =
      compile(grad(hinted_loss(unhinted)))(weight(), rows_in()).to_vector();
  EXPECT_EQ(outcome.gradient, expected);
  return outcome;
}

const auto first_to_disk = [](const Tensor& h, int l) { return l == 0 ? offload(h, disk) : h; };

int copies_of(const Plan& plan) {
  return static_cast<int>(std::ranges::count(plan.steps, StepKind::copy, &Step::kind));
}

TEST(Offload, AValueWaitsOnTheDiskThoughThereIsRoom) {
  const Outcome outcome = outcome_with(first_to_disk);
  EXPECT_EQ(copies_of(outcome.plan), 2) << outcome.summary;
  const HintReport& hint = outcome.only();
  EXPECT_TRUE(hint.honoured) << hint.reason;
  EXPECT_EQ(hint.bytes, layer_bytes);
  EXPECT_EQ(hint.runs, 2);
  EXPECT_GT(hint.seconds, 0);
  EXPECT_GE(outcome.plan.further.at(0).arena_bytes, layer_bytes);
  EXPECT_THAT(outcome.summary, HasSubstr("offload    `h0` (offload_test.cc:"));
  EXPECT_THAT(outcome.summary, HasSubstr("waits on the disk with 128.00 KiB, adds 2 copies of"));
}

// Planned alone, for layers that take longer to compute than to move.
TEST(Offload, TakesLessMemoryWhereCopiesHideBehindComputing) {
  constexpr std::size_t count = 8;
  const auto plan_of = [](bool hint) {
    const ScratchFolder folder;
    const auto loss = [hint](const std::vector<Tensor>& weights, Tensor x) {
      for (const Tensor& w : weights) {
        x = tanh(matmul(x, w));
        if (hint) x = offload(x, disk);
      }
      return mean(square(x));
    };
    const std::vector<Tensor> weights(count, Tensor::of_type({DType::f32, {1024, 1024}}));
    const auto step = compile(grad(loss), {.memory = 1_GiB, .disk = {{folder.path(), 1_GiB}}, .effort = 0.1});
    return step.prepare(weights, Tensor::of_type({DType::f32, {2048, 1024}})).plan;
  };
  const Plan plain = plan_of(false), hinted = plan_of(true);
  EXPECT_EQ(copies_of(plain), 0);
  EXPECT_GE(copies_of(hinted), 2 * static_cast<int>(count) - 2);
  EXPECT_LT(hinted.lower_bound, plain.lower_bound);
  EXPECT_LT(hinted.seconds, plain.seconds * 1.05);
}

TEST(Offload, WithoutADiskThereIsNothingToWaitOn) {
  const Outcome outcome = outcome_with(first_to_disk, {});
  EXPECT_FALSE(outcome.only().honoured);
  EXPECT_THAT(outcome.only().reason, HasSubstr("there is no disk to wait on"));
  EXPECT_EQ(copies_of(outcome.plan), 0);
  const auto free = compile(grad(hinted_loss(first_to_disk)));
  (void)free(weight(), rows_in());
  EXPECT_THAT(free.plan().summary(), HasSubstr("there is no disk to wait on"));
}

TEST(Offload, OutsideOfCompileDoesNothing) {
  const Tensor x = rows_in();
  EXPECT_EQ(offload(x, disk).to_vector(), x.to_vector());
  EXPECT_EQ(offload(2.5, disk).item(), 2.5);
  EXPECT_EQ(grad(hinted_loss(first_to_disk))(weight(), x).to_vector(),
            grad(hinted_loss(unhinted))(weight(), x).to_vector());
}

TEST(Offload, MoreThanTheDiskHasStaysInMemory) {
  const auto all = [](const Tensor& h, int) { return offload(h, disk); };
  const Outcome outcome = outcome_with(all, Bytes(layer_bytes + 4095));
  int honoured = 0, crowded = 0;
  for (const HintReport& hint : outcome.plan.hints) {
    honoured += hint.honoured;
    crowded += hint.reason == "the disk has no room left for it";
  }
  EXPECT_EQ(honoured, 1) << outcome.summary;
  EXPECT_GE(crowded, 1) << outcome.summary;
  EXPECT_LE(outcome.plan.further.at(0).peak(), layer_bytes + 4095);
  EXPECT_EQ(outcome_with(all, 1_B).plan.further.size(), 0u);
}

TEST(Offload, OnArgumentsAndOnNothingSaysSo) {
  const auto reason_of = [](const auto& f) {
    const Outcome outcome = outcome_of(f);
    EXPECT_FALSE(outcome.only().honoured) << outcome.summary;
    EXPECT_EQ(copies_of(outcome.plan), 0);
    return outcome.only().reason;
  };
  EXPECT_EQ(reason_of([](Tensor w, Tensor x) { return mean(tanh(matmul(offload(x, disk), w))); }),
            "an input is always there");
  EXPECT_EQ(reason_of([](Tensor w, Tensor x) {
              (void)offload(exp(x), disk);
              return mean(tanh(matmul(x, w)));
            }),
            "the value was optimised away");
  EXPECT_THAT(reason_of([](Tensor w, Tensor x) {
                const Tensor nothing = offload(sin(slice(x, {0, 0}, {0, width}) * 2), disk);
                return mean(tanh(matmul(x, w))) + sum(nothing);
              }),
              ::testing::AnyOf("it has only 0 bytes", "the value was optimised away"));
  EXPECT_EQ(reason_of([](Tensor w, Tensor x) {
              const Tensor small = offload(mean(exp(matmul(x, w))), disk);
              return small * mean(tanh(matmul(x, w))) + small;
            }),
            "it has only 4 bytes");
  EXPECT_THAT(reason_of([](Tensor w, Tensor x) { return mean(offload(matmul(x, w), disk)); }),
              ::testing::AnyOf("its readers follow each other without a wait", "nothing reads it",
                               "the value was optimised away"));
}

TEST(Offload, TwiceOnAValueIsOnce) {
  const Outcome outcome =
      outcome_with([](const Tensor& h, int l) { return l == 0 ? offload(offload(h, disk), disk) : h; });
  ASSERT_EQ(outcome.plan.hints.size(), 2u);
  EXPECT_TRUE(outcome.plan.hints[0].honoured) << outcome.summary;
  EXPECT_EQ(outcome.plan.hints[1].reason, "the same was asked before");
  EXPECT_EQ(copies_of(outcome.plan), 2);
}

TEST(Offload, GoesWithKeepAndGivesWayToRecompute) {
  const Outcome kept =
      outcome_with([](const Tensor& h, int l) { return l == 0 ? keep(offload(h, disk)) : h; });
  ASSERT_EQ(kept.plan.hints.size(), 2u);
  EXPECT_TRUE(kept.plan.hints[0].honoured && kept.plan.hints[1].honoured) << kept.summary;
  const Outcome again =
      outcome_with([](const Tensor& h, int l) { return l == 1 ? recompute(offload(h, disk)) : h; });
  ASSERT_EQ(again.plan.hints.size(), 2u);
  EXPECT_EQ(again.plan.hints[0].reason, "it is to be recomputed");
  EXPECT_TRUE(again.plan.hints[1].honoured) << again.summary;
}

TEST(Offload, OfACompressedValueHasNothingLeftThatWaits) {
  const auto both = hinted_loss(
      [](const Tensor& h, int l) { return l == 0 ? compress(offload(h, disk), codec::int8) : h; });
  const auto compressed =
      hinted_loss([](const Tensor& h, int l) { return l == 0 ? compress(h, codec::int8) : h; });
  EXPECT_EQ(outcome_of(both).gradient, compile(grad(compressed))(weight(), rows_in()).to_vector());
}

TEST(Offload, InsideACheckpointTheValueIsStoredThereAndNotComputedAgain) {
  const auto block = [](Tensor x, Tensor w, bool hint) {
    Tensor h = tanh(matmul(x, w));
    if (hint) h = offload(name(h, "inside"), disk);
    return tanh(matmul(h, w));
  };
  const auto loss = [&](bool hint) {
    return [&block, hint](Tensor w, Tensor x) {
      for (int l = 0; l < 3; ++l) x = checkpoint(block)(x, w, hint && l == 0);
      return mean(square(x));
    };
  };
  const Outcome plain = outcome_of(loss(false)), hinted = outcome_of(loss(true));
  EXPECT_EQ(plain.gradient, hinted.gradient);
  ASSERT_EQ(hinted.plan.hints.size(), 4u);
  EXPECT_TRUE(hinted.plan.hints[0].honoured) << hinted.summary;
  EXPECT_EQ(copies_of(hinted.plan), 2);
  EXPECT_LT(hinted.plan.flops, plain.plan.flops);
}

TEST(Offload, InBodiesOfLoopsAndBranchesGivesTheSameBits) {
  const auto loss = [](bool hint) {
    return [hint](Tensor w, Tensor x) {
      const auto mark = [&](const Tensor& h) { return hint ? offload(h, disk) : h; };
      x = repeat(
          3, [&](Tensor h) { return tanh(mark(matmul(h, w))); }, mark(tanh(x * 1.5)));
      x = cond(
          sum(x) > 0, [&](Tensor h) { return mark(sin(h)) * h; }, [](Tensor h) { return h; }, x);
      return mean(square(x));
    };
  };
  const Outcome plain = outcome_of(loss(false)), hinted = outcome_of(loss(true));
  EXPECT_EQ(plain.gradient, hinted.gradient);
  EXPECT_THAT(hinted.summary, HasSubstr("has no effect: bodies of loops do not use the disk"));
}

TEST(Offload, OfAResultAndInTightBudgets) {
  const ScratchFolder folder;
  const auto f = [](Tensor w, Tensor x) {
    const Tensor first = offload(name(tanh(matmul(x, w)), "first"), disk);
    Tensor h = first;
    for (int l = 0; l < layers; ++l) h = tanh(matmul(h, w));
    return std::pair(first, h * first);
  };
  const auto [first, last] = compile(f)(weight(), rows_in());
  const std::int64_t free = compile(f).prepare(weight(), rows_in()).peak().count;
  for (const std::int64_t percent : {200, 100, 95}) {
    const auto step = compile(f, {.memory = Bytes(free * percent / 100), .disk = {{folder.path(), 1_GiB}}});
    const auto [same_first, same_last] = step(weight(), rows_in());
    EXPECT_EQ(first.to_vector(), same_first.to_vector()) << percent;
    EXPECT_EQ(last.to_vector(), same_last.to_vector()) << percent;
    EXPECT_TRUE(step.plan().plan.hints.at(0).honoured) << step.plan().summary();
  }
}

TEST(Offload, ATangentWaitsLikeItsValue) {
  const ScratchFolder folder;
  const auto product = [](const auto& f) {
    return [f](Tensor w, Tensor x) { return hvp([&](Tensor v) { return f(v, x); }, w, w * 0.5); };
  };
  const auto step = compile(product(hinted_loss(first_to_disk)),
                            {.memory = 64_MiB, .disk = {{folder.path(), 1_GiB}}, .effort = 0.1});
  EXPECT_EQ(step(weight(), rows_in()).to_vector(),
            compile(product(hinted_loss(unhinted)))(weight(), rows_in()).to_vector());
  ASSERT_EQ(step.plan().plan.hints.size(), 2u);
  for (const HintReport& hint : step.plan().plan.hints) EXPECT_TRUE(hint.honoured) << hint.reason;
}

}  // namespace
}  // namespace tidemark
