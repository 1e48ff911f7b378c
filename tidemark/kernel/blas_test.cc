#include "tidemark/kernel/blas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tidemark/base/philox.h"

namespace tidemark::blas {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(2 * unit_float(Philox{seed}(i)[0]) - 1);
  return values;
}

template <class T>
std::vector<T> naive(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                     Matrix<const T> b, T beta, const std::vector<T>& c) {
  std::vector<T> out(c);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(*a.at(i, l).data) * static_cast<double>(*b.at(l, j).data);
      }
      T& at = out[static_cast<std::size_t>(i * n + j)];
      at = static_cast<T>(alpha * sum + (beta == 0 ? 0 : beta * at));
    }
  }
  return out;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

struct Size {
  std::int64_t m, n, k;
};
const Size sizes[] = {{1, 1, 1},   {1, 1, 300},  {1, 70, 40},   {70, 1, 40},    {5, 7, 3},    {8, 8, 8},
                      {33, 17, 1}, {64, 64, 64}, {300, 40, 70}, {130, 600, 20}, {2, 1500, 9}, {260, 520, 64}};

TEST(Blas, MatchesANaiveProductForAllTransposesAndSizes) {
  ThreadPool pool(2);
  for (const Size& s : sizes) {
    const auto a = random_values<double>(s.m * s.k, 1), b = random_values<double>(s.k * s.n, 2);
    const auto c0 = random_values<double>(s.m * s.n, 3);
    for (int form = 0; form < 4; ++form) {
      const Matrix<const double> am{a.data(), form & 1 ? 1 : s.k, form & 1 ? s.m : 1};
      const Matrix<const double> bm{b.data(), form & 2 ? 1 : s.n, form & 2 ? s.k : 1};
      for (const double beta : {0.0, 1.0, 0.5}) {
        auto c = c0;
        gemm<double>(pool, {}, s.m, s.n, s.k, 1.5, am, bm, beta, {c.data(), s.n, 1});
        expect_near(c, naive(s.m, s.n, s.k, 1.5, am, bm, beta, c0), 1e-11);
      }
    }
  }
}

TEST(Blas, ZeroBetaForgetsWhatLayThereEvenNaN) {
  ThreadPool pool(1);
  for (const Size& s : sizes) {
    const auto a = random_values<float>(s.m * s.k, 1), b = random_values<float>(s.k * s.n, 2);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n), std::numeric_limits<float>::quiet_NaN());
    gemm<float>(pool, {}, s.m, s.n, s.k, 1, {a.data(), s.k, 1}, {b.data(), s.n, 1}, 0, {c.data(), s.n, 1});
    for (float x : c) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(Blas, NoInnerSizeLeavesBetaTimesTheResult) {
  ThreadPool pool(1);
  std::vector<float> c = {1, 2, 3, 4};
  gemm<float>(pool, {}, 2, 2, 0, 1, {nullptr, 1, 1}, {nullptr, 2, 1}, 0.5f, {c.data(), 2, 1});
  EXPECT_EQ(c, (std::vector<float>{0.5f, 1, 1.5f, 2}));
}

TEST(Blas, BatchesBroadcastWithStrideZero) {
  ThreadPool pool(2);
  const std::int64_t m = 9, n = 11, k = 20;
  const auto a = random_values<double>(3 * m * k, 1), b = random_values<double>(k * n, 2);
  std::vector<double> c(static_cast<std::size_t>(3 * m * n)), none(static_cast<std::size_t>(m * n));
  gemm<double>(pool, {{3}, {m * k}, {0}, {m * n}}, m, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0,
               {c.data(), n, 1});
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::vector<double> part(c.begin() + i * m * n, c.begin() + (i + 1) * m * n);
    expect_near(part, naive<double>(m, n, k, 1, {a.data() + i * m * k, k, 1}, {b.data(), n, 1}, 0, none),
                1e-12);
  }
}

TEST(Blas, TilesCoverTheResultOnceWhateverItsSize) {
  for (const std::int64_t batch : {1, 3, 1000}) {
    for (const Size& s : {Size{1, 1, 1}, Size{7, 5000, 3}, Size{1024, 1024, 1024}, Size{128, 128, 8192},
                          Size{1, 9000, 900}}) {
      const Tiling tiling = tile(batch, s.m, s.n, s.k);
      std::int64_t area = 0;
      for (std::int64_t i = 0; i < tiling.tiles; ++i) {
        const Tile t = tile_at(tiling, i, s.m, s.n);
        ASSERT_GT(t.rows, 0);
        ASSERT_GT(t.cols, 0);
        ASSERT_LE(t.row + t.rows, s.m);
        ASSERT_LE(t.col + t.cols, s.n);
        area += t.rows * t.cols;
      }
      EXPECT_EQ(area, batch * s.m * s.n);
      EXPECT_GE(tiling.tasks * tiling.group, tiling.tiles);
    }
  }
}

TEST(Blas, ThreadsDoNotChangeTheBits) {
  const std::int64_t m = 300, n = 700, k = 500;
  const auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2);
  const auto with = [&](int threads) {
    ThreadPool pool(threads);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    gemm<float>(pool, {}, m, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0, {c.data(), n, 1});
    return c;
  };
  const auto one = with(1);
  for (const int threads : {2, 3, 5}) {
    const auto many = with(threads);
    EXPECT_EQ(0, std::memcmp(one.data(), many.data(), one.size() * sizeof(float)));
  }
}

TEST(Blas, TransposesDoNotShowInTheBits) {
  ThreadPool pool(1);
  for (const Size& s : {Size{40, 33, 700}, Size{1, 50, 1100}, Size{50, 1, 1100}, Size{37, 1, 30},
                        Size{61, 90, 13}, Size{150, 130, 700}}) {
    const auto a = random_values<float>(s.m * s.k, 1), b = random_values<float>(s.k * s.n, 2);
    std::vector<float> at(a.size()), bt(b.size());
    for (std::int64_t i = 0; i < s.m * s.k; ++i)
      at[static_cast<std::size_t>(i % s.k * s.m + i / s.k)] = a[static_cast<std::size_t>(i)];
    for (std::int64_t i = 0; i < s.k * s.n; ++i)
      bt[static_cast<std::size_t>(i % s.n * s.k + i / s.n)] = b[static_cast<std::size_t>(i)];
    std::vector<float> whole(static_cast<std::size_t>(s.m * s.n)), turned(whole);
    gemm<float>(pool, {}, s.m, s.n, s.k, 1, {a.data(), s.k, 1}, {b.data(), s.n, 1}, 0,
                {whole.data(), s.n, 1});
    gemm<float>(pool, {}, s.m, s.n, s.k, 1, {at.data(), 1, s.m}, {bt.data(), 1, s.k}, 0,
                {turned.data(), s.n, 1});
    EXPECT_EQ(whole, turned);
  }
}

// Single-threaded calls into OpenBLAS from several threads at once share its table of packing buffers.
TEST(Blas, ConcurrentCallsFromThePoolStayCorrectUnderLoad) {
  ThreadPool pool(4);
  const std::int64_t size = 96;
  const auto a = random_values<double>(size * size, 1), b = random_values<double>(size * size, 2);
  const std::vector<double> zero(static_cast<std::size_t>(size * size));
  const auto want = naive<double>(size, size, size, 1, {a.data(), size, 1}, {b.data(), size, 1}, 0, zero);
  std::vector<std::vector<double>> results(200, zero);
  pool.run(200, [&](std::int64_t i) {
    gemm_serial<double>(size, size, size, 1, {a.data(), size, 1}, {b.data(), size, 1}, 0,
                        {results[static_cast<std::size_t>(i)].data(), size, 1});
  });
  expect_near(results[0], want, 1e-11);
  for (const auto& result : results) ASSERT_EQ(result, results[0]);
}

TEST(Blas, KnowsWhatItCanReadWithoutPacking) {
  EXPECT_TRUE(is_direct(4, 5, 5, 1));
  EXPECT_TRUE(is_direct(4, 5, 9, 1));
  EXPECT_TRUE(is_direct(4, 5, 1, 4));
  EXPECT_TRUE(is_direct(1, 5, -3, 7));   // one row: any positive step
  EXPECT_FALSE(is_direct(4, 5, 4, 1));   // rows overlap
  EXPECT_FALSE(is_direct(4, 5, 10, 2));  // no stride is 1
  EXPECT_FALSE(is_direct(4, 5, 0, 1));   // broadcast rows
  EXPECT_FALSE(is_direct(4, 5, -5, 1));
}

}  // namespace
}  // namespace tidemark::blas
