// Tensors that a compiled function uses from outside are read at every call, as if the function ran again.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

Tensor global_scale;

struct Model {
  Tensor w, b;
  Tensor operator()(const Tensor& x) const { return x * w + b; }
};

// What every case does: calls the function, changes what it captured, and calls it again.
template <class F, class Change>
void expect_follows(const F& f, const Change& change, const Tensor& x = scalar(3)) {
  const auto compiled = compile(f);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(compiled(x).to_vector(), f(x).to_vector()) << "change " << i;
    change(i);
  }
  EXPECT_EQ(compiled(x).to_vector(), f(x).to_vector());
}

TEST(Captures, AReferenceIsReadAtEveryCall) {
  Tensor scale = scalar(2);
  expect_follows([&](Tensor x) { return x * scale; }, [&](int i) { scale = scalar(5 + i); });
}

TEST(Captures, UpdatesInPlaceAreSeen) {
  Tensor scale = tensor<float>({1, 2});
  expect_follows([&](Tensor x) { return x * scale; },
                 [&](int) {
                   scale += 1;
                   scale.at(0) = scale.at(1);
                 });
}

TEST(Captures, AValueCapturedByValueIsTheClosuresOwn) {
  Tensor scale = scalar(2);
  const auto f = compile([scale](Tensor x) { return x * scale; });
  EXPECT_EQ(f(scalar(3)).item(), 6);
  scale = scalar(5);
  EXPECT_EQ(f(scalar(3)).item(), 6);
}

TEST(Captures, AGlobalIsReadAtEveryCall) {
  global_scale = scalar(2);
  expect_follows([](Tensor x) { return x * global_scale; }, [](int i) { global_scale = scalar(5 + i); });
}

TEST(Captures, MembersBehindAPointerAreReadAtEveryCall) {
  Model model{scalar(2), scalar(1)};
  expect_follows([m = &model](Tensor x) { return (*m)(x); },
                 [&](int i) { (i % 2 ? model.w : model.b) = scalar(5 + i); });
}

TEST(Captures, AModelReplacedByMovingAnotherIntoItIsSeen) {
  Model model{scalar(2), scalar(1)};
  expect_follows([&](Tensor x) { return model(x); }, [&](int i) { model = Model{scalar(5 + i), scalar(7)}; });
}

TEST(Captures, ASwapIsSeen) {
  Tensor a = scalar(2), b = scalar(5);
  expect_follows([&](Tensor x) { return x * a - b; }, [&](int) { std::swap(a, b); });
}

TEST(Captures, AVectorThatGrowsIsSeen) {
  std::vector<Tensor> list = {scalar(2), scalar(3)};
  expect_follows([&](Tensor x) { return x * list[0] + list[1]; },
                 [&](int i) {
                   for (int k = 0; k < 10; ++k) list.push_back(scalar(0));  // moves them elsewhere
                   list[0] = scalar(10 + i);
                 });
}

TEST(Captures, AModelMadeAnewIsSeen) {
  auto model = std::make_unique<Model>(Model{scalar(2), scalar(1)});
  expect_follows([&](Tensor x) { return (*model)(x); },
                 [&](int i) {
                   model = std::make_unique<Model>(Model{scalar(5 + i), scalar(7)});
                 });
}

TEST(Captures, CopiesMadeInsideTheFunctionFollowTheOriginal) {
  Tensor scale = scalar(2);
  expect_follows(
      [&](Tensor x) {
        Tensor local = tensor<float>({1});
        x = x * local;
        local = scale;
        const Model model{local, scale};
        std::vector<Tensor> list;
        for (int i = 0; i < 5; ++i) list.push_back(model.w);
        return model(x) + list[3];
      },
      [&](int i) { scale = scalar(5 + i); });
}

TEST(Captures, TwoVariablesThatShareATensorArePartedWhenOneChanges) {
  Tensor a = scalar(2), b = a;
  expect_follows([&](Tensor x) { return x * a + b; }, [&](int i) { b = scalar(5 + i); });
}

TEST(Captures, InsideDerivativesLoopsAndBranchesTheyAreRead) {
  Tensor scale = scalar(2);
  const auto change = [&](int i) { scale = scalar(5 + i); };
  expect_follows(grad([&](Tensor x) { return x * x * scale; }), change);
  expect_follows(
      [&](Tensor x) {
        return repeat(
            3, [&](Tensor u) { return u * scale; }, x);
      },
      change);
  expect_follows(
      [&](Tensor x) {
        return while_loop([&](Tensor u) { return u < scale * 10; }, [&](Tensor u) { return u + scale; }, x);
      },
      change);
  expect_follows(
      [&](Tensor x) {
        return cond(
            x > 0, [&](Tensor u) { return u * scale; }, [&](Tensor u) { return u + scale; }, x);
      },
      change);
  const auto ruled = custom_vjp([&](Tensor x) { return x * scale; },
                                [&](Tensor, Tensor, Tensor seed) { return seed * scale; });
  expect_follows(ruled, change);
  expect_follows(grad(ruled), change);
  const auto nested = compile([&](Tensor x) { return x * scale; });
  expect_follows([&](Tensor x) { return nested(x) + 1; }, change);
}

TEST(Captures, AnotherTypeIsTracedAnew) {
  Tensor scale = scalar(2);
  int traces = 0;
  const auto f = compile([&](Tensor x) {
    ++traces;
    return x * scale;
  });
  EXPECT_EQ(f(scalar(3)).item(), 6);
  scale = tensor<float>({1, 2});
  EXPECT_EQ(f(scalar(3)).to_vector(), (std::vector<double>{3, 6}));
  scale = scalar(4);
  EXPECT_EQ(f(scalar(3)).item(), 12);
  scale = tensor<float>({3, 4});
  EXPECT_EQ(f(scalar(3)).to_vector(), (std::vector<double>{9, 12}));
  EXPECT_EQ(traces, 2);
}

TEST(Captures, AValueReadWhileTracingIsTracedAnewWhenItChanges) {
  Tensor scale = scalar(2), sign = scalar(1);
  expect_follows([&](Tensor x) { return sign.item() > 0 ? x * scale.item() : x - scale.to_vector()[0]; },
                 [&](int i) { (i % 2 ? scale : sign) = scalar(i % 2 ? 7 + i : -1 - i); });
}

TEST(Captures, ReadingThemTakesNoNewTrace) {
  Tensor scale = scalar(2);
  int traces = 0;
  const auto f = compile([&](Tensor x) {
    ++traces;
    return x * scale + scale;
  });
  for (int i = 0; i < 20; ++i) {
    scale = scalar(i);
    EXPECT_EQ(f(scalar(3)).item(), 4 * i);
  }
  EXPECT_EQ(traces, 1);
}

TEST(Captures, TracingAgainForVariablesElsewhereNeedsNoNewPlan) {
  int traces = 0;
  std::deque<Tensor> at;  // the last is the one that counts
  const auto f = compile([&](Tensor x) {
    ++traces;
    return x * at.back();
  });
  for (int i = 0; i < 5; ++i) {
    at.clear();
    at.push_back(scalar(2 + i));
    EXPECT_EQ(f(scalar(3)).item(), 3 * (2 + i));
  }
  EXPECT_LE(traces, 5);
  EXPECT_EQ(f.memory_report().plans, 1u);
}

TEST(Captures, DataMadeInsideTheFunctionIsAConstant) {
  int traces = 0;
  const auto f = compile([&](Tensor x) {
    ++traces;
    return x * tensor<float>({1, 2, 3});
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(scalar(2)).to_vector(), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(traces, 1);
}

TEST(Captures, ATensorMovedAwayIsAnErrorAtItsLine) {
  Tensor scale = scalar(2);
  const auto f = compile([&](Tensor x) { return x * scale; });
  EXPECT_EQ(f(scalar(3)).item(), 6);
  const Tensor taken = std::move(scale);
  scale = Tensor();
  EXPECT_THROW(f(scalar(3)), Error);
  scale = taken;
  EXPECT_EQ(f(scalar(3)).item(), 6) << "and nothing was lost";
}

TEST(Captures, StateThatAnotherFunctionUpdatesInPlaceIsRead) {
  Tensor state = full({2000}, 1.0);
  const auto step = compile([](Tensor s) { return s * 2; }, {.donate = {0}});
  const auto total = compile([&](Tensor x) { return sum(state) * x; });
  EXPECT_EQ(total(scalar(1)).item(), 2000);
  state = step(state);
  EXPECT_EQ(total(scalar(1)).item(), 4000);
}

TEST(Captures, AWindowTakenInsideIsRead) {
  Tensor table = tensor<float>({1, 2, 3});
  expect_follows([&](Tensor x) { return x * table.at(1); }, [&](int i) { table.at(1) = 10 + i; });
}

TEST(Captures, ThreadsMayTraceAtOnceWhatUsesTheSameVariable) {
  const Tensor shared = tensor<float>({2, 3});
  const auto one_for_all = compile([&](Tensor x) { return x * shared; });
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto own = compile([&](Tensor x) {
          const Tensor copy = shared;
          return x * copy;
        });
        const std::vector<double> expected = {2.0 * t, 3.0 * t};
        wrong += own(scalar(t)).to_vector() != expected;
        wrong += one_for_all(scalar(t)).to_vector() != expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Captures, PreparedFunctionsReadThemToo) {
  Tensor scale = scalar(2);
  const auto f = compile([&](Tensor x) { return x * scale; });
  f.prepare(types_of(scalar(3)));
  scale = scalar(5);
  EXPECT_EQ(f(scalar(3)).item(), 15);
}

}  // namespace
}  // namespace tidemark
