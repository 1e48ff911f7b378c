#include "tidemark/kernel/gemm_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/philox.h"

namespace tidemark::gemm {
namespace {

// Values of one matrix, outer × depth, that can be laid out either way round.
struct Operand {
  std::vector<BFloat16> values, stored;
  Strided strided;
  Operand(std::int64_t batch, std::int64_t outer, std::int64_t depth, bool outer_inside, std::uint64_t seed) {
    for (std::int64_t i = 0; i < batch * outer * depth; ++i) {
      const auto words = Philox{seed}(static_cast<std::uint64_t>(i));
      values.push_back(
          BFloat16((unit_float(words[0]) - 0.5f) * std::exp2(static_cast<float>(words[1] % 16) - 8)));
    }
    arrange(batch, outer, depth, outer_inside);
  }
  void arrange(std::int64_t batch, std::int64_t outer, std::int64_t depth, bool outer_inside) {
    stored = values;
    for (std::int64_t q = 0; outer_inside && q < batch; ++q) {
      for (std::int64_t i = 0; i < outer; ++i) {
        for (std::int64_t l = 0; l < depth; ++l) {
          stored[static_cast<std::size_t>((q * depth + l) * outer + i)] =
              values[static_cast<std::size_t>((q * outer + i) * depth + l)];
        }
      }
    }
    strided = {.data = reinterpret_cast<const std::byte*>(stored.data()),
               .dtype = DType::bf16,
               .outer = {{outer}, {outer_inside ? 1 : depth}},
               .depth = {{depth}, {outer_inside ? outer : 1}},
               .batch = {{batch}, {outer * depth}}};
  }
};

std::vector<float> multiply_all(const Sizes& s, const Operand& a, const Operand& b, int threads = 2,
                                float alpha = 1, std::vector<float> c = {}) {
  const bool add = !c.empty();
  c.resize(static_cast<std::size_t>(s.batch * s.m * s.n));
  Product<float> product{.sizes = s, .c = c.data(), .ld = s.n, .c_batch = {{s.batch}, {s.m * s.n}}};
  product.alpha = alpha, product.add = add;
  const AlignedBytes scratch = allocate_aligned(scratch_bytes_bf16(s) + 1);
  ThreadPool pool(threads);
  run_bf16(pool, product, a.strided, b.strided, scratch.get());
  return c;
}

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

class GemmBf16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!multiplies_bf16()) GTEST_SKIP() << "this machine has no bf16 products";
  }
};

TEST_F(GemmBf16, StaysWithinTheBoundOfF32Sums) {
  for (const Sizes& s : {Sizes{2, 2, 1}, Sizes{3, 5, 7}, Sizes{8, 12, 64}, Sizes{17, 29, 101},
                         Sizes{70, 300, 1030}, Sizes{9, 13, 2100}, Sizes{5, 6, 0}, Sizes{20, 30, 40, 3}}) {
    const Operand a(s.batch, s.m, s.k, false, 1), b(s.batch, s.n, s.k, true, 2);
    const std::vector<float> c = multiply_all(s, a, b);
    const double blocks = std::ceil(static_cast<double>(s.k) / 1024);
    for (std::int64_t q = 0; q < s.batch; ++q) {
      for (std::int64_t i = 0; i < s.m; ++i) {
        for (std::int64_t j = 0; j < s.n; ++j) {
          double sum = 0, sizes = 0;
          for (std::int64_t l = 0; l < s.k; ++l) {
            const double x = static_cast<float>(a.values[static_cast<std::size_t>((q * s.m + i) * s.k + l)]) *
                             static_cast<double>(static_cast<float>(
                                 b.values[static_cast<std::size_t>((q * s.n + j) * s.k + l)]));
            sum += x, sizes += std::abs(x);
          }
          const double bound = (static_cast<double>(s.k) / 2 + blocks + 2) * 0x1p-23 * sizes +
                               static_cast<double>(s.k) * 0x1p-126;
          ASSERT_NEAR(c[static_cast<std::size_t>((q * s.m + i) * s.n + j)], sum, bound)
              << s.m << " " << s.n << " " << s.k << " at " << q << " " << i << " " << j;
        }
      }
    }
  }
}

TEST_F(GemmBf16, GivesTheSameBitsForEveryLayoutAndThreadCount) {
  const Sizes s{77, 131, 1037, 2};
  Operand a(s.batch, s.m, s.k, false, 3), b(s.batch, s.n, s.k, false, 4);
  const std::vector<float> expected = multiply_all(s, a, b, 1);
  EXPECT_TRUE(same_bits(multiply_all(s, a, b, 4), expected));
  a.arrange(s.batch, s.m, s.k, true);
  EXPECT_TRUE(same_bits(multiply_all(s, a, b), expected));
  b.arrange(s.batch, s.n, s.k, true);
  EXPECT_TRUE(same_bits(multiply_all(s, a, b), expected));
}

TEST_F(GemmBf16, GivesAnElementTheSameBitsWhereverItStands) {
  const Sizes s{40, 60, 515};
  const Operand a(1, s.m, s.k, false, 5), b(1, s.n, s.k, false, 6);
  const std::vector<float> whole = multiply_all(s, a, b);
  for (std::int64_t first : {1, 6, 13}) {  // rows first, first + 1, first + 2 alone
    Operand rows = a;
    rows.strided.data += first * s.k * 2;
    const std::vector<float> part = multiply_all({3, s.n, s.k}, rows, b);
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + first * s.n, part.size() * sizeof(float)), 0);
  }
}

TEST_F(GemmBf16, ReadsAxesOfSeveralDimensions) {
  const Sizes s{12, 18, 30};
  const Operand a(1, s.m, s.k, false, 7), b(1, s.n, s.k, false, 8);
  Operand cut = a, other = b;
  cut.strided.outer = {{3, 4}, {4 * s.k, s.k}};
  cut.strided.depth = {{5, 6}, {6, 1}};
  other.strided.depth = {{2, 3, 5}, {15, 5, 1}};
  EXPECT_TRUE(same_bits(multiply_all(s, cut, other), multiply_all(s, a, b)));
}

TEST_F(GemmBf16, ScalesAndAdds) {
  const Sizes s{10, 14, 20};
  const Operand a(1, s.m, s.k, false, 9), b(1, s.n, s.k, true, 10);
  const std::vector<float> plain = multiply_all(s, a, b);
  const std::vector<float> sum = multiply_all(s, a, b, 2, 0.5f, std::vector<float>(plain.size(), 3.0f));
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(sum[i], 3.0f + 0.5f * plain[i]);
}

TEST_F(GemmBf16, CarriesNaNToItsRowAlone) {
  const Sizes s{9, 13, 21};
  Operand a(1, s.m, s.k, false, 11);
  const Operand b(1, s.n, s.k, false, 12);
  a.values[3 * 21 + 20] = BFloat16(std::numeric_limits<float>::quiet_NaN());
  a.arrange(1, s.m, s.k, false);
  const std::vector<float> c = multiply_all(s, a, b);
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i / 13 == 3) << i;
}

}  // namespace
}  // namespace tidemark::gemm
