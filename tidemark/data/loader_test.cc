#include "tidemark/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/support/errors.h"
#include "tidemark/data/permutation.h"
#include "tidemark/tidemark.h"

namespace tidemark::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tidemark::testing::code_of;

// Examples that are their own index.
Source<Tensor> counting(std::int64_t size) {
  return examples(size, [](std::int64_t i) { return tensor<std::int64_t>({i}); });
}
std::vector<std::int64_t> numbers_of(const Tensor& batch) {
  const auto data = batch.data<std::int64_t>();
  return {data.begin(), data.end()};
}
std::vector<std::int64_t> epoch_of(Loader<Tensor>& loader) {
  std::vector<std::int64_t> all;
  for (const Tensor& batch : loader) {
    for (const std::int64_t i : numbers_of(batch)) all.push_back(i);
  }
  return all;
}
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Permutation, EverySizeGivesEachNumberOnce) {
  for (const std::int64_t size : {0, 1, 2, 3, 5, 64, 1000, 65536, 65537, 70001, 262144, 262145}) {
    const Permutation order(size, 42, 3);
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t at = order[i];
      ASSERT_TRUE(at >= 0 && at < size && !seen[static_cast<std::size_t>(at)]) << size;
      seen[static_cast<std::size_t>(at)] = true;
    }
  }
  const Permutation huge(std::int64_t{1} << 62, 1, 2);
  EXPECT_NE(huge[0], huge[1]);
  EXPECT_LT(huge[7], std::int64_t{1} << 62);
}

TEST(Loader, ThatWasMovedFromSaysSo) {
  Loader<Tensor> loader(counting(8), {.batch = 2});
  const Position start = loader.position();
  Loader<Tensor> other = std::move(loader);
  const std::vector<std::function<void()>> uses = {[&] { loader.next(); }, [&] { loader.batches(); },
                                                   [&] { loader.position(); }, [&] { loader.seek(start); },
                                                   [&] { epoch_of(loader); }};
  for (const auto& use : uses) {
    EXPECT_EQ(code_of(use), ErrorCode::bad_loader_option);
    EXPECT_THAT(message_of(use), HasSubstr("moved from"));
    EXPECT_THAT(message_of(use), HasSubstr("loader_test.cc"));
  }
  EXPECT_EQ(other.batches(), 4);
  loader = Loader<Tensor>(counting(4), {.batch = 2});
  EXPECT_EQ(loader.batches(), 2);
}

TEST(Permutation, SmallOrdersAreAllEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < 24000; ++epoch) {
    const Permutation order(4, 9, epoch);
    ++counts[{order[0], order[1], order[2], order[3]}];
  }
  ASSERT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 160);  // five deviations
}

TEST(Permutation, LargeOrdersLookRandom) {
  constexpr std::int64_t size = 100000;
  const Permutation order(size, 5, 0);
  int rising = 0;
  double correlation = 0;
  for (std::int64_t i = 0; i + 1 < size; ++i) rising += order[i] < order[i + 1];
  for (std::int64_t i = 0; i < size; ++i)
    correlation += (static_cast<double>(i) / size - 0.5) * (static_cast<double>(order[i]) / size - 0.5);
  EXPECT_NEAR(rising, size / 2, 500);
  EXPECT_NEAR(correlation * 12 / size, 0, 0.016);
}

TEST(Loader, GivesEachExampleOncePerEpochInAnotherOrder) {
  for (const int prefetch : {0, 1, 3}) {
    Loader loader(counting(103), {.batch = 10, .key = 5, .drop_last = false, .prefetch = prefetch});
    EXPECT_EQ(loader.batches(), 11);
    const auto first = epoch_of(loader), second = epoch_of(loader);
    EXPECT_NE(first, second);
    for (auto epoch : {first, second}) {
      std::sort(epoch.begin(), epoch.end());
      ASSERT_EQ(epoch.size(), 103u);
      for (std::int64_t i = 0; i < 103; ++i) EXPECT_EQ(epoch[static_cast<std::size_t>(i)], i);
    }
    EXPECT_EQ(loader.position().epoch, 2);
  }
}

TEST(Loader, ThePrefetchDoesNotChangeWhatComes) {
  std::vector<std::int64_t> expected;
  for (const int prefetch : {0, 1, 2, 50}) {
    Loader loader(counting(57), {.batch = 8, .key = 1, .prefetch = prefetch});
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20; ++i)
      for (const std::int64_t n : numbers_of(loader.next())) all.push_back(n);
    if (expected.empty()) expected = all;
    EXPECT_EQ(all, expected);
  }
  Loader other(counting(57), {.batch = 8, .key = 2});
  EXPECT_NE(numbers_of(other.next()), std::vector<std::int64_t>(expected.begin(), expected.begin() + 8));
}

TEST(Loader, TheLastBatchIsDroppedOrKept) {
  Loader dropping(counting(10), {.batch = 4, .shuffle = false});
  EXPECT_THAT(epoch_of(dropping), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  Loader keeping(counting(10), {.batch = 4, .shuffle = false, .drop_last = false});
  EXPECT_THAT(epoch_of(keeping), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  Loader small(counting(3), {.batch = 4, .drop_last = false});
  EXPECT_EQ(small.next().size(0), 3);
}

TEST(Loader, ALoaderWithoutABatchSaysSo) {
  for (const int prefetch : {0, 2}) {
    Loader loader(counting(3), {.batch = 4, .prefetch = prefetch});
    EXPECT_EQ(loader.batches(), 0);
    EXPECT_THAT(message_of([&] { loader.next(); }), HasSubstr("too few examples"));
    EXPECT_THAT(message_of([&] { epoch_of(loader); }),
                ::testing::AllOf(HasSubstr(".drop_last = false"), HasSubstr("loader_test.cc")));
  }
}

TEST(Loader, RanksShareEveryBatchAndHaveAsMany) {
  for (const bool drop_last : {true, false}) {
    std::vector<std::vector<std::int64_t>> steps;
    std::int64_t batches = -1;
    for (int rank = 0; rank < 3; ++rank) {
      Loader loader(counting(50), {.batch = 4, .key = 8, .drop_last = drop_last, .rank = rank, .world = 3});
      if (batches < 0) batches = loader.batches();
      EXPECT_EQ(loader.batches(), batches);
      steps.resize(static_cast<std::size_t>(batches));
      for (auto& step : steps)
        for (const std::int64_t i : numbers_of(loader.next())) step.push_back(i);
    }
    EXPECT_EQ(batches, 4) << "2 are left over, fewer than ranks";
    Loader together(counting(50), {.batch = 12, .key = 8, .drop_last = true});
    for (const auto& step : steps) EXPECT_EQ(step, numbers_of(together.next()));
  }
  std::int64_t rows = 0;
  for (int rank = 0; rank < 3; ++rank) {
    Loader loader(counting(17), {.batch = 4, .drop_last = false, .rank = rank, .world = 3});
    EXPECT_EQ(loader.batches(), 2);
    rows += static_cast<std::int64_t>(epoch_of(loader).size());
  }
  EXPECT_EQ(rows, 17);
}

TEST(Loader, PositionsGoOnToTheBit) {
  for (const int prefetch : {0, 2}) {
    const LoaderOptions options{.batch = 7, .key = 3, .drop_last = false, .prefetch = prefetch};
    Loader loader(counting(40), options);
    std::vector<Position> positions;
    std::vector<std::vector<std::int64_t>> batches;
    for (int i = 0; i < 20; ++i) {
      positions.push_back(loader.position());
      batches.push_back(numbers_of(loader.next()));
    }
    for (const std::size_t from : {19u, 0u, 5u, 6u, 11u}) {
      Loader later(counting(40), options);
      later.seek(positions[from]);
      EXPECT_EQ(later.position(), positions[from]);
      for (std::size_t i = from; i < batches.size(); ++i) EXPECT_EQ(numbers_of(later.next()), batches[i]);
      later.seek(positions[2]);
      EXPECT_EQ(numbers_of(later.next()), batches[2]);
    }
    Loader rest(counting(40), options);
    rest.seek(positions[4]);
    EXPECT_EQ(epoch_of(rest).size(), 12u) << "a range-for gives the rest of the epoch";
  }
}

TEST(Loader, LeavingARangeForKeepsThePlace) {
  Loader loader(counting(40), {.batch = 10, .shuffle = false});
  for (const Tensor& batch : loader) {
    EXPECT_EQ(loader.position().batch, 1) << "the next one";
    EXPECT_EQ(numbers_of(batch)[0], 0);
    break;
  }
  EXPECT_EQ(numbers_of(loader.next())[0], 10);
}

TEST(Loader, PositionsOfOtherLoadersAreRefused) {
  Loader loader(counting(40), {.batch = 10});
  for (const LoaderOptions& other :
       {LoaderOptions{.batch = 5}, {.batch = 10, .key = 1}, {.batch = 10, .rank = 1, .world = 2}}) {
    const Position position = Loader(counting(40), other).position();
    EXPECT_EQ(code_of([&] { loader.seek(position); }), ErrorCode::bad_loader_option);
  }
  EXPECT_EQ(code_of([&] { loader.seek(Loader(counting(41), {.batch = 10}).position()); }),
            ErrorCode::bad_loader_option);
  Position wrong = loader.position();
  wrong.batch = 4;
  EXPECT_EQ(code_of([&] { loader.seek(wrong); }), ErrorCode::bad_loader_option);
}

TEST(Loader, OptionsThatMeanNothingAreRefusedWithTheLine) {
  for (const LoaderOptions& options :
       {LoaderOptions{.batch = 0}, {.prefetch = -1}, {.rank = 1}, {.rank = -1, .world = 2}, {.world = 0}}) {
    const std::string message = message_of([&] { Loader(counting(5), options); });
    EXPECT_THAT(message, HasSubstr("TM0801"));
    EXPECT_THAT(message, HasSubstr("loader_test.cc"));
  }
}

TEST(Loader, WhatTheSourceThrowsComesOutOfTheNextCallAndTheBatchIsTriedAgain) {
  for (const int prefetch : {0, 1, 4}) {
    auto failures = std::make_shared<std::atomic<int>>(2);
    Loader loader(examples(20,
                           [failures](std::int64_t i) {
                             if (i == 9 && failures->fetch_sub(1) > 0)
                               throw std::runtime_error("disk on fire");
                             return tensor<std::int64_t>({i});
                           }),
                  {.batch = 4, .shuffle = false, .prefetch = prefetch});
    EXPECT_THAT(numbers_of(loader.next()), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(numbers_of(loader.next()), ElementsAre(4, 5, 6, 7));
    for (int i = 0; i < 2; ++i) {
      const std::string message = message_of([&] { loader.next(); });
      EXPECT_THAT(message, HasSubstr("TM0802"));
      EXPECT_THAT(message, HasSubstr("batch 2 of epoch 0 (indices 8, 9, 10, 11): disk on fire"));
      EXPECT_THAT(message, HasSubstr("loader_test.cc"));
    }
    EXPECT_THAT(numbers_of(loader.next()), ElementsAre(8, 9, 10, 11));
    EXPECT_THAT(numbers_of(loader.next()), ElementsAre(12, 13, 14, 15));
  }
}

TEST(Loader, AFailureThatNobodyHearsOfEndsWithTheLoader) {
  Loader loader(examples(8,
                         [](std::int64_t) -> Tensor {
                           throw 7;  // NOLINT: no std::exception
                         }),
                {.batch = 2});
  Loader heard(examples(8, [](std::int64_t) -> Tensor { throw 7; }), {.batch = 2});
  EXPECT_THAT(message_of([&] { heard.next(); }), HasSubstr("no std::exception"));
}

TEST(Loader, EndsCleanlyInTheMiddle) {
  for (int i = 0; i < 50; ++i) {
    Loader loader(counting(100000), {.batch = 16, .prefetch = 4});
    for (int k = 0; k < i % 5; ++k) loader.next();
    if (i % 3 == 0) loader.seek(loader.position());
    EXPECT_EQ(loader.position().batch, i % 5) << "what is made ahead was not given out";
  }
}

TEST(Loader, LoadersMayMove) {
  Loader first(counting(12), {.batch = 4, .shuffle = false});
  first.next();
  Loader second = std::move(first);
  EXPECT_THAT(numbers_of(second.next()), ElementsAre(4, 5, 6, 7));
}

struct Example {
  Tensor x;
  int kind = 0;
  std::vector<Tensor> more;
  TM_FIELDS(Example, x, kind, more)
};

TEST(Sources, ArraysGiveTheirRows) {
  const Tensor x = tensor<float>({0, 1, 2, 3, 4, 5});
  const auto pairs = arrays(std::pair(reshape(x, {3, 2}), tensor<std::uint8_t>({7, 8, 9})));
  Loader loader(pairs, {.batch = 2, .shuffle = false, .drop_last = false});
  const auto [rows, labels] = loader.next();
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_THAT(labels.to_vector(), ElementsAre(7, 8));
  EXPECT_THAT(loader.next().first.to_vector(), ElementsAre(4, 5));
  Loader nothing(arrays(zeros({3, 0})), {.batch = 3});
  EXPECT_EQ(nothing.next().shape(), (Shape{3, 0}));
  EXPECT_THAT(message_of([&] { arrays(std::pair(zeros({3}), zeros({4}))); }),
              HasSubstr("`1` has 4 examples, and those before have 3"));
  EXPECT_THAT(message_of([&] { arrays(zeros({})); }), HasSubstr("scalar"));
  EXPECT_THAT(message_of([&] { arrays(Tensor()); }), HasSubstr("holds no data"));
}

TEST(Sources, ExamplesOfOnesOwnAreStackedTensorByTensor) {
  Loader loader(examples(6,
                         [](std::int64_t i) {
                           return Example{scalar(i), 3, {tensor<std::int64_t>({i, -i}), scalar(2 * i)}};
                         }),
                {.batch = 3, .shuffle = false});
  const Example batch = loader.next();
  EXPECT_THAT(batch.x.to_vector(), ElementsAre(0, 1, 2));
  EXPECT_EQ(batch.kind, 3);
  EXPECT_EQ(batch.more[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(batch.more[0].to_vector(), ElementsAre(0, 0, 1, -1, 2, -2));
  Loader ragged(examples(6, [](std::int64_t i) { return zeros({i}); }), {.batch = 2, .shuffle = false});
  EXPECT_THAT(message_of([&] { ragged.next(); }), HasSubstr("f32[0] and f32[1]"));
}

TEST(Loader, ManyLoadersWorkAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  Loader reference(counting(64), {.batch = 8, .key = 4});
  const auto expected = epoch_of(reference);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Loader loader(counting(64), {.batch = 8, .key = 4});
      if (epoch_of(loader) != expected) ++wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tidemark::data
