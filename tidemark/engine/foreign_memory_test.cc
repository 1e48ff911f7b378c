// Tensors in memory of another library as arguments, captures and donated state of compiled functions: what
// is shared, what is written, and that each is given back once, whoever held it last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/foreign_array.h"
#include "tests/support/on_threads.h"
#include "tests/support/sanitized.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::ForeignArray;
using ::testing::HasSubstr;
using Managed = DLManagedTensorVersioned;

constexpr std::int64_t count = 4000;  // large enough for results to stay in the arena

std::vector<float> small_numbers(std::int64_t n = count) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 16 - 0.5F;
  return values;
}

Tensor updated(const Tensor& x) { return x * 0.5 + 1; }

TEST(ForeignMemory, AnArgumentIsReadWhereItIsAndGivenBackAfterTheCall) {
  std::vector<float> values = small_numbers();
  const std::vector<float> before = values;
  const Tensor own = tensor(values, {count});
  ForeignArray array(values);
  const auto f = compile(updated);
  EXPECT_EQ(bits_of(f(from_dlpack(array.lend<Managed>()))), bits_of(f(own)));
  EXPECT_EQ(array.returned, 1) << "nothing keeps an argument";
  EXPECT_EQ(bits_of(f(from_dlpack(array.lend<DLManagedTensor>()))), bits_of(f(own)));
  EXPECT_EQ(array.returned, 2);
  EXPECT_EQ(values, before);
}

TEST(ForeignMemory, ACaptureIsHeldByItsVariableAlone) {
  std::vector<float> values = small_numbers();
  ForeignArray array(values);
  Tensor scale = from_dlpack(array.lend<Managed>());
  const auto f = compile([&](Tensor x) { return x * scale; });
  const Tensor ones = full({count}, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bits_of(f(ones)), bits_of(scale));
  EXPECT_EQ(array.returned, 0);
  scale = ones;
  EXPECT_EQ(array.returned, 1);
  EXPECT_EQ(bits_of(f(ones)), bits_of(ones));
}

TEST(ForeignMemory, AConstantOfATraceIsHeldByTheFunctionAndNotCountedAsItsOwn) {
  std::vector<float> values = small_numbers();
  ForeignArray array(values);
  {
    const auto f = compile([&](Tensor x) { return x * from_dlpack(array.lend<Managed>()); });
    for (int i = 0; i < 3; ++i) f(full({count}, 1));
    EXPECT_LT(f.memory_report().constants, Bytes(4 * count));
    EXPECT_EQ(array.returned, 0);
  }
  EXPECT_EQ(array.returned, 1);
}

TEST(ForeignMemory, DonatedMemoryIsWrittenInPlaceAndGivenBackWithTheLastResult) {
  std::vector<float> values = small_numbers();
  const std::vector<float> expected = [&] {
    const Tensor twice = updated(updated(tensor(values, {count})));
    return std::vector(twice.data<float>().begin(), twice.data<float>().end());
  }();
  ForeignArray array(values);
  Tensor state = from_dlpack(array.lend<Managed>());
  {
    const auto step = compile(updated, {.donate = {0}});
    const Tensor stale = state;
    state = step(state);
    EXPECT_EQ(state.data<float>().data(), values.data());
    EXPECT_THROW(stale.to_vector(), Error);
    state = step(state);
    EXPECT_EQ(step.memory_report().held_results, Bytes()) << "it is not the function's";
  }
  EXPECT_EQ(values, expected) << "the other library sees the update";
  EXPECT_EQ(array.returned, 0) << "the tensor outlives the function";
  state = {};
  EXPECT_EQ(array.returned, 1);
}

TEST(ForeignMemory, ReadOnlyMemoryCannotBeDonatedAndStaysAsItWas) {
  std::vector<float> values = small_numbers();
  const std::vector<float> before = values;
  ForeignArray array(values);
  array.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const auto step = compile(updated, {.donate = {0}});
  {
    const Tensor state = from_dlpack(array.lend<Managed>());
    try {
      step(state);
      FAIL() << "it was overwritten";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::read_only_memory);
      EXPECT_THAT(error.what(), HasSubstr("memory of another library that must not be written"));
      EXPECT_THAT(error.what(), HasSubstr("foreign_memory_test.cc:"));
    }
    EXPECT_EQ(values, before);
    EXPECT_EQ(bits_of(state), bits_of(tensor(values, {count}))) << "still there to be read";
    const Tensor copy = tensor_from_bytes(state.type(), state.bytes());
    EXPECT_EQ(bits_of(step(copy)), bits_of(updated(state)));
  }
  EXPECT_EQ(array.returned, 1);
}

TEST(ForeignMemory, MemoryThatIsLentTwiceCannotBeDonated) {
  std::vector<float> values = small_numbers(2 * count);
  const std::vector<float> before = values;
  ForeignArray low(values.data(), {count}), middle(values.data() + count / 2, {count}),
      high(values.data() + count, {count}), single(values.data() + count - 1, {});
  const auto take_from = [](ForeignArray& array) { return from_dlpack(array.lend<Managed>()); };
  const auto f = [](Tensor state, Tensor x, Tensor y) { return state * 0.5 + x * y; };
  const auto first = compile(f, {.donate = {0}}), second = compile(f, {.donate = {1}});
  const Tensor own = full({count}, 1);
  const auto refused = [&](const auto& step, const Tensor& a, const Tensor& b, const Tensor& c) {
    try {
      step(a, b, c);
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::structure_mismatch);
      EXPECT_THAT(error.what(), HasSubstr("lie in the same memory, and one of them is donated"));
      return true;
    }
  };
  EXPECT_TRUE(refused(first, take_from(low), own, take_from(low)));
  EXPECT_TRUE(refused(first, take_from(low), take_from(middle), own));
  EXPECT_TRUE(refused(first, take_from(high), take_from(middle), own));
  EXPECT_TRUE(refused(first, take_from(low), own, take_from(single)));
  EXPECT_TRUE(refused(second, take_from(low), take_from(middle), own));
  EXPECT_EQ(values, before);
  EXPECT_FALSE(refused(compile(f), take_from(low), take_from(middle), take_from(low))) << "only read";
  EXPECT_FALSE(refused(second, own, take_from(low), take_from(high))) << "side by side";
  EXPECT_NE(values, before);
  EXPECT_EQ(low.returned, 8);
  EXPECT_EQ(middle.returned, 4);
}

TEST(ForeignMemory, AFailedCallLeavesDonatedForeignMemoryAsItWas) {
  std::vector<float> values = small_numbers();
  const std::vector<float> before = values;
  ForeignArray array(values);
  {
    const Tensor state = from_dlpack(array.lend<Managed>());
    const auto step = compile([](Tensor x, Tensor at) { return x + sum(take(x, at, 0)); }, {.donate = {0}});
    EXPECT_THROW(step(state, tensor<std::int64_t>({count})), Error);
    EXPECT_EQ(values, before);
    EXPECT_EQ(array.returned, 0);
    EXPECT_EQ(step(state, tensor<std::int64_t>({0})).data<float>().data(), values.data());
  }
  EXPECT_EQ(array.returned, 1);
}

TEST(ForeignMemory, AnExportedTensorCannotBeDonatedUntilItIsGivenBack) {
  const auto step = compile(updated, {.donate = {0}});
  Tensor state = tensor(small_numbers(), {count});
  Managed* const lent = to_dlpack_versioned(state);
  const auto* const seen = static_cast<const float*>(lent->dl_tensor.data);
  try {
    step(state);
    FAIL() << "it was overwritten under its reader";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::memory_in_use);
    EXPECT_THAT(error.what(), HasSubstr("let go of what to_dlpack gave"));
  }
  EXPECT_EQ(seen[0], -0.5F);
  lent->deleter(lent);
  const Tensor stale = state;
  state = step(state);
  EXPECT_EQ(state.data<float>()[0], 0.75F);
  EXPECT_THROW(to_dlpack_versioned(stale), Error) << "it was given away";
}

TEST(ForeignMemory, AnExportedResultStaysWhenTheFunctionRunsAgainAndWhenItIsGone) {
  Managed* lent = nullptr;
  DLManagedTensor* older = nullptr;
  {
    const auto f = compile(updated);
    const Tensor result = f(full({count}, 2));
    ASSERT_FALSE(result.storage()->is_materialized()) << "it lies in the arena";
    lent = to_dlpack_versioned(result);
    EXPECT_EQ(lent->dl_tensor.data, result.data<float>().data());
    older = to_dlpack(f(full({count}, 4)));
    f(full({count}, 6));
  }
  const auto* const seen = static_cast<const float*>(lent->dl_tensor.data);
  EXPECT_THAT(std::vector(seen, seen + count), ::testing::Each(2.0F));
  EXPECT_EQ(static_cast<const float*>(older->dl_tensor.data)[count - 1], 3.0F);
  lent->deleter(lent);
  older->deleter(older);
}

// A page that cannot be written, filled up to its very end, so that the elements have no alignment but their
// own: one that writes there, or reads on, or loads as if it were more aligned, would not survive.
class ReadOnlyPages {
 public:
  explicit ReadOnlyPages(const std::vector<float>& values) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = values.size() * sizeof(float), whole = (bytes + page - 1) / page * page;
    size_ = whole + page;
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    TM_CHECK(memory_ != MAP_FAILED);
    data = reinterpret_cast<float*>(memory_ + whole - bytes);
    std::memcpy(data, values.data(), bytes);
    TM_CHECK(mprotect(memory_, whole, PROT_READ) == 0 && mprotect(memory_ + whole, page, PROT_NONE) == 0);
  }
  ~ReadOnlyPages() { munmap(memory_, size_); }
  ReadOnlyPages(const ReadOnlyPages&) = delete;
  ReadOnlyPages& operator=(const ReadOnlyPages&) = delete;

  float* data = nullptr;

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

TEST(ForeignMemory, ReadOnlyMemoryOfAnyAlignmentGivesTheSameBits) {
  const auto loss = [](Tensor x, Tensor w) {
    const Tensor h = tanh(matmul(x, w));
    const Tensor rolled = repeat(
        3, [&](Tensor u) { return sin(u) * 0.5 + u; }, x);
    return mean(square(softmax(h, 1))) + sum(cumsum(x, 0)) + mean(rolled) + sum(max(w, {0}));
  };
  const auto step = compile(value_and_grad(loss));
  for (std::int64_t n = 1; n <= 35; n += 2) {
    SCOPED_TRACE(n);
    const std::vector<float> xs = small_numbers(3 * n), ws = small_numbers(n * (n + 1));
    const ReadOnlyPages x_pages(xs), w_pages(ws);
    ForeignArray x(x_pages.data, {3, n}), w(w_pages.data, {n, n + 1});
    x.flags = w.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    {
      const Tensor foreign_x = from_dlpack(x.lend<Managed>()), foreign_w = from_dlpack(w.lend<Managed>());
      const Tensor own_x = tensor(xs, {3, n}), own_w = tensor(ws, {n, n + 1});
      const auto [value, gradient] = step(foreign_x, foreign_w);
      const auto [own_value, own_gradient] = step(own_x, own_w);
      EXPECT_EQ(bits_of(value), bits_of(own_value));
      EXPECT_EQ(bits_of(gradient), bits_of(own_gradient));
      EXPECT_EQ(bits_of(loss(foreign_x, foreign_w)), bits_of(loss(own_x, own_w))) << "at once";
      Tensor y = foreign_x;
      y += 1;
      y.at(0) = 7;
      EXPECT_EQ(bits_of(foreign_x), bits_of(own_x)) << "a new version is not made in its memory";
    }
    EXPECT_EQ(x.returned, 1);
    EXPECT_EQ(w.returned, 1);
  }
}

TEST(ForeignMemory, ThreadsImportExportAndComputeAtOnce) {
  constexpr int threads = 4, rounds = sanitized ? 30 : 300;
  std::vector<float> values = small_numbers();
  ForeignArray shared(values);
  const Tensor everyones = from_dlpack(shared.lend<Managed>());
  const auto f = compile(updated);
  const auto step = compile(updated, {.donate = {0}});
  const std::vector<std::byte> once = bits_of(updated(everyones));
  on_threads(threads, [&](int) {
    std::vector<float> own = small_numbers();
    ForeignArray array(own);
    for (int i = 0; i < rounds; ++i) {
      Managed* const lent = to_dlpack_versioned(f(everyones));
      const Tensor back = from_dlpack(lent);
      EXPECT_EQ(bits_of(back), once);
      DLManagedTensor* const theirs = to_dlpack(everyones);
      EXPECT_EQ(theirs->dl_tensor.data, values.data());
      Tensor state = from_dlpack(array.lend<DLManagedTensor>());
      state = step(state);
      theirs->deleter(theirs);
      EXPECT_THROW(from_dlpack(static_cast<Managed*>(nullptr)), Error);
    }
    EXPECT_EQ(array.returned, rounds);
  });
  EXPECT_EQ(values, small_numbers());
  EXPECT_EQ(shared.returned, 0);
}

TEST(ForeignMemory, TheLastOfManyThreadsGivesItBack) {
  std::vector<float> values = small_numbers();
  for (int round = 0; round < (sanitized ? 20 : 50); ++round) {
    ForeignArray array(values);
    {
      Tensor first = from_dlpack(array.lend<Managed>());
      std::vector<Tensor> copies(4, first);
      std::vector<Managed*> lent;
      for (int t = 0; t < 4; ++t) lent.push_back(to_dlpack_versioned(first));
      first = {};
      on_threads(4, [&](int t) {
        copies[static_cast<std::size_t>(t)] = {};
        Managed* const mine = lent[static_cast<std::size_t>(t)];
        mine->deleter(mine);  // on another thread than the one that made it
      });
    }
    EXPECT_EQ(array.returned, 1);
  }
}

}  // namespace
}  // namespace tidemark
