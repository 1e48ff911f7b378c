#include "tidemark/plan/report/size_polynomial.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

using Nodes = std::vector<std::vector<std::int64_t>>;

template <class F>
SizePolynomial through(const Nodes& nodes, F&& value) {
  std::vector<std::int64_t> values;
  for (const std::int64_t a : nodes[0]) {
    for (const std::int64_t b : nodes[1]) values.push_back(value(a, b));
  }
  return interpolate(nodes, values);
}

const std::vector<std::string> names = {"batch", "context"};

TEST(SizePolynomial, IsTheOneThatItsValuesCameFrom) {
  const auto bytes = [](std::int64_t batch, std::int64_t context) {
    return 4096 + 3072 * context + 24576 * batch * context + 2 * batch * context * context;
  };
  const SizePolynomial found = through({{3, 17}, {128, 100, 1000}}, bytes);
  EXPECT_EQ(to_text(found, names),
            "4 KiB + 3 KiB · context + 24 KiB · batch · context + 2 B · batch · context²");
  for (const std::int64_t batch : {1, 2, 5, 64, 999}) {
    for (const std::int64_t context : {1, 7, 512, 4096}) {
      const std::int64_t sizes[] = {batch, context};
      EXPECT_EQ(found.at(sizes), bytes(batch, context));
    }
  }
}

TEST(SizePolynomial, HasFractionsAndTermsBelowZero) {
  const auto bytes = [](std::int64_t a, std::int64_t b) { return a * (a - 1) / 2 * b - 1024 * b; };
  const SizePolynomial found = through({{2, 5, 11}, {1, 3}}, [&](auto a, auto b) { return bytes(a, b); });
  EXPECT_EQ(to_text(found, names), "−1 KiB · context − 0.5 B · batch · context + 0.5 B · batch² · context");
  const std::int64_t sizes[] = {100, 77};
  EXPECT_EQ(found.at(sizes), bytes(100, 77));
}

TEST(SizePolynomial, OfNothingIsNothing) {
  const SizePolynomial none = through({{1, 2}, {1, 2}}, [](auto, auto) { return 0; });
  EXPECT_TRUE(none.terms.empty());
  EXPECT_EQ(to_text(none, names), "0 B");
}

TEST(SizePolynomial, FewTermsDoWhereValuesAreOnlyNearAPolynomial) {
  std::vector<SizeSample> samples;
  for (std::int64_t batch = 1; batch <= 32; batch += 3) {
    for (std::int64_t context = 64; context <= 1024; context += 96) {
      const double bytes = 5e6 + 3000.0 * static_cast<double>(batch * context);
      const double noise = (batch + context) % 2 == 0 ? 2000 : -2000;
      samples.push_back({{batch, context}, bytes + noise, 0.001 * bytes});
    }
  }
  const int degrees[] = {1, 2};
  const std::optional<SizePolynomial> found = few_terms(samples, degrees);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->terms.size(), 2u);
  EXPECT_NEAR(found->terms[0].bytes, 5e6, 5e3);
  EXPECT_EQ(found->terms[1].powers, (std::vector<int>{1, 1}));
  EXPECT_NEAR(found->terms[1].bytes, 3000, 3);
}

TEST(SizePolynomial, SumsCancel) {
  const SizePolynomial up = through({{1, 2}, {1, 2}}, [](auto a, auto b) { return 8 * a * b + 5 * a; });
  const SizePolynomial down = through({{1, 2}, {1, 2}}, [](auto a, auto b) { return 3 - 8 * a * b; });
  const SizePolynomial parts[] = {up, down};
  EXPECT_EQ(to_text(sum_of(parts), names), "3 B + 5 B · batch");
}

}  // namespace
}  // namespace tidemark
