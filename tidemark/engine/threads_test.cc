// Any number of threads may compute at once: results are those of one thread, bit for bit.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/support/on_threads.h"
#include "tests/support/sanitized.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

constexpr int results_each = sanitized ? 20 : 400;

Tensor loss(Tensor x, Tensor w) { return sum(tanh(matmul(x, w))); }

class TwoThreads : public ::testing::Test {
 protected:
  void SetUp() override { set_threads(2); }
  void TearDown() override { set_threads(0); }

  // `each` thread computes the same again and again.
  int wrong_of(const std::function<Tensor(int thread)>& compute) const {
    std::atomic<int> wrong = 0;
    on_threads(2, [&](int thread) {
      for (int i = 0; i < results_each; ++i) wrong += bits_of(compute(thread)) != expected_;
    });
    return wrong;
  }

  const Tensor x_ = random_uniform(key(1), {512, 256}) - 0.5, w_ = random_uniform(key(2), {256, 256}) - 0.5;
  const std::vector<std::byte> expected_ = bits_of(compile(grad(loss))(x_, w_));
};

TEST_F(TwoThreads, AFunctionEachGivesTheBitsOfOne) {
  const auto first = compile(grad(loss)), second = compile(grad(loss));
  EXPECT_EQ(wrong_of([&](int thread) { return (thread == 0 ? first : second)(x_, w_); }), 0);
}

TEST_F(TwoThreads, OneSharedFunctionGivesTheBitsOfOne) {
  const auto shared = compile(grad(loss));
  EXPECT_EQ(wrong_of([&](int) { return shared(x_, w_); }), 0);
}

TEST_F(TwoThreads, EagerOperationsGiveTheBitsOfOne) {
  EXPECT_EQ(wrong_of([&](int) { return grad(loss)(x_, w_); }), 0);
}

TEST_F(TwoThreads, TheNumberOfThreadsMayChangeMeanwhile) {
  std::atomic<bool> done = false;
  std::thread changing([&] {
    for (int i = 0; !done; ++i) set_threads(1 + i % 4);
  });
  EXPECT_EQ(
      wrong_of([&](int thread) { return thread == 0 ? grad(loss)(x_, w_) : compile(grad(loss))(x_, w_); }),
      0);
  done = true;
  changing.join();
}

TEST_F(TwoThreads, NumbersThatMakeNoSenseAreRefusedAndLeaveThePoolAlone) {
  for (const int threads : {-1, -100'000, 100'000, 2'000'000'000}) {
    try {
      set_threads(threads);
      ADD_FAILURE() << threads;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
      EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
      EXPECT_NE(error.parts().what.find(std::to_string(threads)), std::string::npos);
    }
    EXPECT_EQ(default_device()->pool().threads(), 2);
  }
  EXPECT_EQ(bits_of(compile(grad(loss))(x_, w_)), expected_);
}

TEST_F(TwoThreads, AResultIsReadWhereverItIsWhileItsFunctionRunsAgain) {
  const auto shared = compile(grad(loss));
  std::atomic<int> wrong = 0;
  on_threads(2, [&](int thread) {
    for (int i = 0; i < results_each; ++i) {
      const Tensor result = shared(x_, w_);
      std::this_thread::yield();  // the other thread may take the arena now
      if (thread == 0) {
        wrong += bits_of(result + 0) != expected_;
      } else {
        const auto data = std::as_bytes(result.data<float>());
        wrong += !std::ranges::equal(data, expected_);
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(TwoThreads, OneTensorsPointerIsTheSameForAll) {
  const auto shared = compile(grad(loss));
  for (int i = 0; i < 50; ++i) {
    const Tensor result = shared(x_, w_);
    const float* seen[2] = {};
    on_threads(2, [&](int thread) { seen[thread] = result.data<float>().data(); });
    ASSERT_EQ(seen[0], seen[1]);
  }
}

// Runs `inside` while the function made of it is running.
std::function<void()> inside;
Tensor with_something_inside(Tensor x) {
  static const Op& op =
      make_custom_op({.name = "with_something_inside",
                      .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                      .kernel =
                          [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                            inside();
                            std::copy_n(in[0].as<float>(), in[0].count(), out[0].as<float>());
                          }});
  return call(op, {x})[0] * 2;
}

// How many threads are inside at once, when several call and each waits a while for the others.
int most_at_once(const std::function<Tensor(Tensor)>& function, int threads) {
  std::atomic<int> now = 0, most = 0;
  inside = [&] {
    const int count = ++now;
    for (int seen = most; count > seen && !most.compare_exchange_weak(seen, count);) {
    }
    for (int i = 0; i < 2000 && most < threads; ++i) std::this_thread::yield();
    --now;
  };
  on_threads(threads, [&](int thread) {
    for (int i = 0; i < 10; ++i) {
      const Tensor x = full({3000}, thread);
      EXPECT_EQ(bits_of(function(x)), bits_of(x * 2));
    }
  });
  return most;
}

TEST(ConcurrentCalls, OfAFunctionWithABudgetTakeTurnsInOneArena) {
  const auto function = compile(with_something_inside, {.memory = Bytes(1 << 20)});
  EXPECT_EQ(most_at_once(function, 3), 1);
  EXPECT_EQ(function.memory_report().arena.count, function.plan().plan.arena_bytes);
}

TEST(ConcurrentCalls, OfAFunctionWithoutABudgetHaveAnArenaEach) {
  const auto function = compile(with_something_inside);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int most = most_at_once(function, 2);
  EXPECT_LE(most, cores);
  const std::int64_t arena = function.plan().plan.arena_bytes, held = function.memory_report().arena.count;
  EXPECT_EQ(held % arena, 0);
  EXPECT_GE(held / arena, most);
  EXPECT_LE(held / arena, cores);
}

TEST(ConcurrentCalls, OfOneThreadMayBeNested) {
  const auto function = compile(with_something_inside);
  const Tensor x = full({3000}, 1);
  std::vector<std::byte> inner;
  int depth = 0;
  inside = [&] {
    if (depth++ > 0) return;
    inner = bits_of(function(x + 1));
  };
  EXPECT_EQ(bits_of(function(x)), bits_of(x * 2));
  EXPECT_EQ(inner, bits_of((x + 1) * 2));
}

TEST(ConcurrentCalls, NestedInAFunctionWithABudgetAreRefusedNotHung) {
  const auto function = compile(with_something_inside, {.memory = Bytes(1 << 20)});
  const Tensor x = full({3000}, 1);
  inside = [&] {
    try {
      function(x);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::memory_in_use) << error.what();
    }
  };
  EXPECT_EQ(bits_of(function(x)), bits_of(x * 2)) << "the outer call goes on";
}

// An operation reads a result in the arena of a function that is called again meanwhile, by the same thread.
TEST(ConcurrentCalls, MayUseTheArenaOfAnOperandOnlyElsewhere) {
  for (const std::optional<Bytes> memory : {std::optional<Bytes>(), std::optional(Bytes(1 << 20))}) {
    const auto function = compile([](Tensor x) { return x + 1; }, {.memory = memory});
    const Tensor x = full({3000}, 1), lent = function(x);
    bool refused = false;
    inside = [&] {
      try {
        function(x * 10);
      } catch (const Error& error) {
        refused = error.code() == ErrorCode::memory_in_use;
      }
    };
    EXPECT_EQ(bits_of(with_something_inside(lent)), bits_of(full({3000}, 4)));
    EXPECT_EQ(refused, memory.has_value());
  }
}

TEST(ConcurrentCalls, ATensorIsNotDonatedWhileItIsRead) {
  const auto step = compile([](Tensor state) { return state + 1; }, {.donate = {0}});
  const Tensor state = full({3000}, 1);
  inside = [&] {
    try {
      step(state);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::memory_in_use) << error.what();
    }
  };
  EXPECT_EQ(bits_of(with_something_inside(state)), bits_of(full({3000}, 2)));
  EXPECT_EQ(bits_of(step(state)), bits_of(full({3000}, 2))) << "nothing was lost";
}

TEST(ConcurrentCalls, OneOfTwoThreadsGetsTheTensorThatBothDonate) {
  const auto step = compile([](Tensor state) { return state + 1; }, {.donate = {0}});
  for (int i = 0; i < (sanitized ? 10 : 100); ++i) {
    const Tensor state = full({3000}, i);
    std::atomic<int> given = 0;
    on_threads(2, [&](int) {
      try {
        EXPECT_EQ(bits_of(step(state)), bits_of(full({3000}, i + 1)));
        ++given;
      } catch (const Error&) {  // read by the other, or given to it
      }
    });
    EXPECT_LE(given, 1);
  }
}

// Kernels keep what they work on in the plan's scratch, not on the stack of whoever calls them.
void on_a_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, sanitized ? std::size_t{4} << 20 : std::size_t{512} << 10);
  pthread_t thread;
  const auto call = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(SmallStacks, AttentionAndItsGradientRunOnHalfAMebibyte) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const int threads : {1, 3}) {
      set_threads(threads);
      const auto draw = [&](int seed) { return cast(random_normal(key(seed), {2, 2, 300, 64}), dtype); };
      const std::vector<Tensor> heads = {draw(1), draw(2), draw(3)};
      const auto gradient = compile(grad([](std::vector<Tensor> h) {
        return sum(cast(square(attention(h[0], h[1], h[2], {.causal = true})), DType::f32));
      }));
      std::vector<Tensor> large, small;
      const auto compute = [&](std::vector<Tensor>& results) {
        for (const Tensor& g : gradient(heads)) results.push_back(cast(g, DType::f64));
      };
      compute(large);
      on_a_small_stack([&] { compute(small); });
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bits_of(large[i]), bits_of(small[i]));
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace tidemark
