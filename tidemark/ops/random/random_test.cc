#include "tidemark/ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/base/philox.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/normal_quantile.h"

namespace tidemark {
namespace {

using namespace testing;

Literal key(double seed) { return literal_of(DType::i64, {}, {seed}); }

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments m;
  for (double v : x) m.mean += v;
  m.mean /= static_cast<double>(x.size());
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= static_cast<double>(x.size());
  return m;
}

// The largest distance between the sample's distribution function and `cdf` (Kolmogorov-Smirnov).
template <class F>
double ks_distance(std::vector<double> x, F cdf) {
  std::sort(x.begin(), x.end());
  const double n = static_cast<double>(x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(x[i]), at = static_cast<double>(i);
    worst = std::max({worst, std::abs(p - at / n), std::abs(p - (at + 1) / n)});
  }
  return worst;
}

// 1.95/√n is exceeded by chance once in a thousand seeds; the seeds are fixed.
constexpr std::int64_t n = 40000;
const double ks_bound = 1.95 / std::sqrt(static_cast<double>(n));

TEST(RandomUniform, HasTheMomentsAndDistributionOfItsInterval) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const auto x =
        values_of(run(op::random_uniform, {key(7)},
                      pack(RandomUniformAttrs{.dtype = dtype, .shape = {n}, .low = -1, .high = 3}))[0]);
    EXPECT_GE(*std::min_element(x.begin(), x.end()), -1);
    EXPECT_LT(*std::max_element(x.begin(), x.end()), 3);
    EXPECT_NEAR(moments(x).mean, 1, 0.025);
    EXPECT_NEAR(moments(x).variance, 16.0 / 12, 0.03);
    EXPECT_LT(ks_distance(x, [](double v) { return (v + 1) / 4; }), ks_bound);
  }
}

TEST(RandomUniform, NeverReachesTheOpenEndInSixteenBits) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    for (auto [low, high] : {std::pair{0.0, 1.0}, {-1.0, 0.0}, {-3.0, -2.0}}) {
      const auto x =
          values_of(run(op::random_uniform, {key(3)},
                        pack(RandomUniformAttrs{.dtype = dtype, .shape = {n}, .low = low, .high = high}))[0]);
      EXPECT_LT(*std::max_element(x.begin(), x.end()), high);
      EXPECT_GE(*std::min_element(x.begin(), x.end()), low);
      EXPECT_NEAR(moments(x).mean, (low + high) / 2, 0.01);
    }
  }
}

TEST(RandomNormal, HasTheMomentsAndDistributionOfTheNormal) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const auto x = values_of(
        run(op::random_normal, {key(11)}, pack(RandomNormalAttrs{.dtype = dtype, .shape = {n}}))[0]);
    EXPECT_NEAR(moments(x).mean, 0, 0.02);
    EXPECT_NEAR(moments(x).variance, 1, 0.03);
    const double rounding = size_of(dtype) == 2 ? 0.004 : 0;
    EXPECT_LT(ks_distance(x, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); }),
              ks_bound + rounding);
  }
}

TEST(RandomNormal, TakesMeanAndDeviation) {
  const auto x = values_of(
      run(op::random_normal, {key(5)},
          pack(RandomNormalAttrs{.dtype = DType::f64, .shape = {n}, .mean = 4, .deviation = 0.5}))[0]);
  EXPECT_NEAR(moments(x).mean, 4, 0.01);
  EXPECT_NEAR(moments(x).variance, 0.25, 0.01);
}

TEST(RandomNormal, QuantileInvertsTheDistributionFunction) {
  for (double p : {0x1p-60, 1e-12, 1e-5, 0.01, 0.07, 0.0750001, 0.3, 0.5}) {
    const double x = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1, 2e-14) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_EQ(normal_quantile(0.25), -normal_quantile(0.75));
}

TEST(RandomNormal, HasTheBitsOfTheQuantileOfItsWord) {
  const std::int64_t count = 20011;
  const auto single = values_of(
      run(op::random_normal, {key(9)},
          pack(RandomNormalAttrs{.dtype = DType::f32, .shape = {count}, .mean = 0.25, .deviation = 3}))[0]);
  const auto twice = values_of(
      run(op::random_normal, {key(9)}, pack(RandomNormalAttrs{.dtype = DType::f64, .shape = {count}}))[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t stream = std::uint64_t{3} << 32;  // the third op that draws
    const auto at = static_cast<std::uint64_t>(i);
    const auto words = Philox{9}(at / 4, stream), pairs = Philox{9}(at / 2, stream);
    const double p = (static_cast<double>(words[at % 4]) + 0.5) * 0x1p-32;
    ASSERT_EQ(single[at], static_cast<float>(0.25 + 3 * normal_quantile(p))) << i;
    const std::uint64_t bits = std::uint64_t{pairs[at % 2 * 2]} << 32 | pairs[at % 2 * 2 + 1];
    ASSERT_EQ(twice[at], normal_quantile((static_cast<double>(bits >> 12) + 0.5) * 0x1p-52)) << i;
  }
}

TEST(RandomNormal, TakesManyQuantilesWithTheBitsOfOne) {
  for (const double scale : {1.0, 0x1p-4, 0x1p-30, 0x1p-50}) {
    std::vector<double> p, x(static_cast<std::size_t>(quantile_chunk));
    for (std::int64_t i = 0; i < quantile_chunk; ++i)
      p.push_back((static_cast<double>(i) + 0.5) / 512 * scale);
    for (std::int64_t count : {std::int64_t{1}, std::int64_t{7}, quantile_chunk}) {
      normal_quantiles(p.data(), count, x.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        ASSERT_EQ(x[i], normal_quantile(p[i])) << p[i];
      }
    }
  }
}

TEST(RandomBernoulli, IsTrueWithItsProbabilityAndExactAtTheEnds) {
  const auto draw = [](double p) {
    return moments(values_of(run(op::random_bernoulli, {key(2)},
                                 pack(RandomBernoulliAttrs{.shape = {n}, .p = p}))[0]))
        .mean;
  };
  EXPECT_NEAR(draw(0.3), 0.3, 0.01);
  EXPECT_EQ(draw(0), 0);
  EXPECT_EQ(draw(1), 1);
}

TEST(RandomBits, FillsEveryBitOfEveryDtype) {
  for (DType dtype : {DType::i32, DType::i64, DType::u8}) {
    const Literal bits =
        run(op::random_bits, {key(1)}, pack(RandomBitsAttrs{.dtype = dtype, .shape = {n}}))[0];
    std::vector<int> ones(static_cast<std::size_t>(size_of(dtype)) * 8);
    for (std::size_t i = 0; i < bits.bytes.size(); ++i) {
      for (std::size_t b = 0; b < 8; ++b) {
        ones[i % static_cast<std::size_t>(size_of(dtype)) * 8 + b] +=
            std::to_integer<int>(bits.bytes[i] >> b) & 1;
      }
    }
    for (int count : ones) EXPECT_NEAR(count / static_cast<double>(n), 0.5, 0.01);
  }
}

TEST(RandomPermutation, HoldsEveryNumberOnceAndMovesThem) {
  const auto p =
      values_of(run(op::random_permutation, {key(9)}, pack(RandomPermutationAttrs{.size = 1000}))[0]);
  EXPECT_EQ(std::set<double>(p.begin(), p.end()).size(), 1000u);
  int fixed = 0;
  for (std::size_t i = 0; i < p.size(); ++i) fixed += p[i] == static_cast<double>(i);
  EXPECT_LT(fixed, 10);
}

TEST(RandomPermutation, GivesEveryOrderOfThreeEquallyOften) {
  std::map<std::vector<double>, int> seen;
  for (int seed = 0; seed < 3000; ++seed) {
    ++seen[values_of(run(op::random_permutation, {key(seed)}, pack(RandomPermutationAttrs{.size = 3}))[0])];
  }
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 500, 100);
}

TEST(RandomKeys, SplitAndFoldGiveDistinctKeysThatRepeat) {
  const auto keys = run(op::random_split, {key(1)}, pack(RandomSplitAttrs{.count = 100}))[0];
  EXPECT_EQ(keys, run(op::random_split, {key(1)}, pack(RandomSplitAttrs{.count = 100}))[0]);
  std::set<double> distinct;
  for (double k : values_of(keys)) distinct.insert(k);
  for (int i = 0; i < 100; ++i) distinct.insert(values_of(run(op::fold_in, {key(1), key(i)})[0])[0]);
  EXPECT_EQ(distinct.size(), 200u);
}

TEST(RandomKeys, KeepAllSixtyFourBitsOfASeed) {
  Graph graph;
  Builder builder(graph);
  graph.add_output(random_key(builder, 0x7fffffffffffffff).id());
  std::int64_t seed = 0;
  std::memcpy(&seed, run(graph, {})[0].bytes.data(), sizeof seed);
  EXPECT_EQ(seed, 0x7fffffffffffffff);
}

TEST(Random, APrefixOfAStreamDoesNotDependOnItsLength) {
  const auto draw = [](std::int64_t size) {
    return values_of(run(op::random_normal, {key(4)}, pack(RandomNormalAttrs{.shape = {size}}))[0]);
  };
  const auto shorter = draw(1001), longer = draw(30000);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(Random, StreamsKeysAndOpsAreIndependent) {
  const auto draw = [](double seed, std::int64_t stream) {
    return values_of(run(op::random_normal, {key(seed)},
                         pack(RandomNormalAttrs{.dtype = DType::f64, .shape = {n}, .stream = stream}))[0]);
  };
  const auto base = draw(1, 0);
  for (const auto& other : {draw(1, 1), draw(2, 0)}) {
    double correlation = 0;
    for (std::size_t i = 0; i < base.size(); ++i) correlation += base[i] * other[i];
    EXPECT_NEAR(correlation / static_cast<double>(n), 0, 0.02);
  }
}

TEST(Random, SaysWhatIsWrongWithItsAttributes) {
  const auto code = [](const Op& op, const Attrs& attrs, const Literal& operand = key(1)) {
    return code_of([&] { run(op, {operand}, attrs); });
  };
  EXPECT_EQ(code(op::random_uniform, pack(RandomUniformAttrs{.shape = {2}, .low = 1, .high = 1})),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::random_uniform, pack(RandomUniformAttrs{.dtype = DType::i32, .shape = {2}})),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::random_normal, pack(RandomNormalAttrs{.shape = {2}, .deviation = -1})),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::random_bernoulli, pack(RandomBernoulliAttrs{.shape = {2}, .p = 1.5})),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::random_bits, pack(RandomBitsAttrs{.dtype = DType::f32, .shape = {2}})),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::random_bits, pack(RandomBitsAttrs{.shape = {2}, .stream = -1})),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code(op::random_bits, pack(RandomBitsAttrs{.shape = {2}}), literal_of(DType::f32, {}, {1})),
            ErrorCode::dtype_mismatch);
  EXPECT_EQ(code(op::random_bits, pack(RandomBitsAttrs{.shape = {2}}), literal_of(DType::i64, {1}, {1})),
            ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
