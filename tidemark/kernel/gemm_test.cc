#include "tidemark/kernel/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/sanitized.h"
#include "tidemark/base/aligned.h"
#include "tidemark/base/philox.h"

namespace tidemark::gemm {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(static_cast<float>(2 * unit_float(Philox{seed}(i)[0]) - 1));
  }
  return values;
}

template <class T>
constexpr DType dtype_for = sizeof(T) == 4   ? DType::f32
                            : sizeof(T) == 8 ? DType::f64
                                             : DType::bf16;

// A product of dense operands, each plain or transposed, and what else the entry points take.
template <class T>
struct Case {
  Sizes sizes;
  bool a_transposed = false, b_transposed = false;
  T alpha = 1;
  bool add = false;
  int threads = 2;
  bool staged = false;
  bool memory = true;  // small products may read their operands where they lie
};

template <class T, class S = T>
struct Operands {
  std::vector<S> a, b;
  Strided a_strided, b_strided;
  Operands(const Case<T>& c, std::uint64_t seed = 1) {
    const Sizes& s = c.sizes;
    a = turned(random_values<S>(s.batch * s.m * s.k, seed), s.batch, s.m, s.k, c.a_transposed);
    b = turned(random_values<S>(s.batch * s.k * s.n, seed + 1), s.batch, s.n, s.k, !c.b_transposed);
    const auto strided = [&](const std::vector<S>& data, std::int64_t outer, bool outer_inside) {
      return Strided{.data = reinterpret_cast<const std::byte*>(data.data()),
                     .dtype = dtype_for<S>,
                     .outer = {{outer}, {outer_inside ? 1 : s.k}},
                     .depth = {{s.k}, {outer_inside ? outer : 1}},
                     .batch = {{s.batch}, {outer * s.k}}};
    };
    a_strided = strided(a, s.m, c.a_transposed);
    b_strided = strided(b, s.n, !c.b_transposed);
  }
  // Values are drawn as outer × depth, whatever the layout, so that layouts can be compared.
  static std::vector<S> turned(const std::vector<S>& from, std::int64_t batch, std::int64_t outer,
                               std::int64_t depth, bool outer_inside) {
    if (!outer_inside) return from;
    std::vector<S> to(from.size());
    for (std::int64_t q = 0; q < batch; ++q) {
      for (std::int64_t i = 0; i < outer; ++i) {
        for (std::int64_t l = 0; l < depth; ++l) {
          to[static_cast<std::size_t>((q * depth + l) * outer + i)] =
              from[static_cast<std::size_t>((q * outer + i) * depth + l)];
        }
      }
    }
    return to;
  }
  // Outer × depth, dense.
  static std::vector<double> values(const Strided& x, const std::vector<S>& data, std::int64_t batch) {
    std::vector<double> dense;
    for (std::int64_t i = 0; i < x.outer.count(); ++i) {
      for (std::int64_t l = 0; l < x.depth.count(); ++l) {
        const std::int64_t at = x.batch.offset(batch) + x.outer.offset(i) + x.depth.offset(l);
        dense.push_back(static_cast<double>(static_cast<T>(data[static_cast<std::size_t>(at)])));
      }
    }
    return dense;
  }
};

template <class T>
struct Collect {
  std::vector<T>* to;
  Sizes sizes;
  static void finish(const void* self, const Finished<T>& piece) {
    const auto& into = *static_cast<const Collect*>(self);
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      for (std::int64_t j = 0; j < piece.cols; ++j) {
        T& at = (*into.to)[static_cast<std::size_t>(
            (piece.batch * into.sizes.m + piece.row + i) * into.sizes.n + piece.col + j)];
        at += piece.data[i * piece.ld + j];
      }
    }
  }
};

template <class T, class S = T>
std::vector<T> product(const Case<T>& c, const std::vector<T>& before = {}) {
  const Operands<T, S> operands(c);
  ThreadPool pool(c.threads);
  const Sizes& s = c.sizes;
  std::vector<T> result(static_cast<std::size_t>(s.batch * s.m * s.n), std::numeric_limits<T>::quiet_NaN());
  if (!before.empty()) result = before;
  Product<T> p{.sizes = s, .a = source_of<T>(operands.a_strided), .b = source_of<T>(operands.b_strided)};
  if (!c.memory) p.a.plain = p.b.plain = nullptr;
  p.alpha = c.alpha, p.add = c.add;
  p.c_batch = {{s.batch}, {s.m * s.n}};
  std::vector<T> staged(result.size(), T(0));
  const Collect<T> collect{&staged, s};
  if (c.staged) {
    p.epilogue = {Collect<T>::finish, &collect};
  } else {
    p.c = result.data(), p.ld = s.n;
  }
  const std::int64_t claimed = scratch_bytes<T>(s, c.staged, c.memory && sizeof(S) == sizeof(T));
  const AlignedBytes scratch = allocate_aligned(claimed + 64);
  std::memset(scratch.get() + claimed, 0x5a, 64);
  run(pool, p, scratch.get());
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(static_cast<int>(scratch.get()[claimed + i]), 0x5a) << "past the scratch";
  return c.staged ? staged : result;
}

template <class T, class S = T>
void expect_right(const Case<T>& c, double tolerance) {
  const Operands<T, S> operands(c);
  const Sizes& s = c.sizes;
  const auto before = c.add ? random_values<T>(s.batch * s.m * s.n, 9) : std::vector<T>{};
  const std::vector<T> got = product<T, S>(c, before);
  std::size_t at = 0;
  for (std::int64_t q = 0; q < s.batch; ++q) {
    const auto a = Operands<T, S>::values(operands.a_strided, operands.a, q);
    const auto b = Operands<T, S>::values(operands.b_strided, operands.b, q);
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j, ++at) {
        double sum = 0;
        for (std::int64_t l = 0; l < s.k; ++l) {
          sum += a[static_cast<std::size_t>(i * s.k + l)] * b[static_cast<std::size_t>(j * s.k + l)];
        }
        const double want = c.alpha * sum + (c.add ? static_cast<double>(before[at]) : 0);
        ASSERT_NEAR(got[at], want, tolerance) << s.m << "x" << s.n << "x" << s.k << " element " << at;
      }
    }
  }
}

const Sizes sizes[] = {{0, 3, 4},       {3, 0, 4},       {3, 4, 0},        {1, 1, 1},       {1, 70, 40},
                       {70, 1, 40},     {5, 7, 3},       {8, 8, 8},        {33, 17, 1},     {64, 64, 64},
                       {61, 90, 613},   {130, 600, 20},  {2, 1500, 9},     {9, 11, 20, 5},  {4, 4, 4, 9},
                       {260, 530, 64},  {100, 50, 1030}, {20, 30, 600, 3}, {700, 40, 1100}, {1, 1, 20000},
                       {1, 1, 1030, 3}, {1, 700, 1100},  {700, 1, 1100},   {1, 19, 9000},   {5, 1, 4, 7},
                       {16, 300, 520},  {300, 17, 600},  {3, 900, 700},    {31, 203, 150},  {2, 3000, 301}};

// Looking for races, products of so many steps are tried in one form only.
bool too_long(const Sizes& s) { return looks_for_races && s.batch * s.m * s.n * s.k > (1 << 20); }

TEST(Gemm, MatchesANaiveProductForAllSizesAndForms) {
  for (const Sizes& s : sizes) {
    for (int form = 0; form < 4; ++form) {
      if (too_long(s) && form != 0) continue;
      for (const bool memory : {true, false}) {
        Case<double> c{
            .sizes = s, .a_transposed = (form & 1) != 0, .b_transposed = (form & 2) != 0, .memory = memory};
        expect_right<double>(c, 1e-10);
        c.alpha = -0.5, c.add = true;
        expect_right<double>(c, 1e-10);
      }
      Case<float> c{.sizes = s, .a_transposed = (form & 1) != 0, .b_transposed = (form & 2) != 0};
      expect_right<float>(c, 2e-4);
    }
  }
}

TEST(Gemm, WidensSixteenBitOperands) {
  for (const Sizes& s : sizes) {
    for (int form = 0; form < 4; ++form) {
      if (too_long(s) && form != 0) continue;
      Case<float> c{.sizes = s, .a_transposed = (form & 1) != 0, .b_transposed = (form & 2) != 0};
      expect_right<float, BFloat16>(c, 2e-4);
    }
  }
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

TEST(Gemm, NeitherThreadsNorTransposesNorPathsShowInTheBits) {
  for (const Sizes& s : sizes) {
    for (const bool add : {false, true}) {
      const auto before = add ? random_values<float>(s.batch * s.m * s.n, 9) : std::vector<float>{};
      const auto plain = product<float>({.sizes = s, .alpha = 1.5f, .add = add, .threads = 1}, before);
      for (int form = 0; form < 4; ++form) {
        if (too_long(s) && form != 3) continue;
        for (const bool memory : {true, false}) {
          const Case<float> c{.sizes = s,
                              .a_transposed = (form & 1) != 0,
                              .b_transposed = (form & 2) != 0,
                              .alpha = 1.5f,
                              .add = add,
                              .threads = 1 + form,
                              .memory = memory};
          EXPECT_TRUE(same_bits(plain, product<float>(c, before))) << s.m << "x" << s.n << "x" << s.k;
        }
      }
    }
  }
}

TEST(Gemm, AnElementDoesNotDependOnItsPlaceOrItsNeighbours) {
  const Case<float> whole{.sizes = {70, 90, 700}};
  const Operands<float> operands(whole);
  const auto all = product<float>(whole);
  for (const auto& [i, j] : {std::pair{0, 0}, {3, 17}, {69, 89}, {35, 50}, {4, 88}}) {
    float one = 0;
    multiply<float>(1, 1, 700, 1, {operands.a.data() + i * 700, 700, 1}, {operands.b.data() + j, 90, 1},
                    false, &one, 1);
    EXPECT_EQ(one, all[static_cast<std::size_t>(i * 90 + j)]);
  }
}

TEST(Gemm, TheEpilogueSeesEveryElementOnceFinished) {
  for (const Sizes& s : sizes) {
    const auto kept = product<float>({.sizes = s});
    EXPECT_TRUE(same_bits(kept, product<float>({.sizes = s, .staged = true})))
        << s.m << "x" << s.n << "x" << s.k;
  }
  const Sizes large{900, 1200, 520};
  EXPECT_TRUE(same_bits(product<float>({.sizes = large}), product<float>({.sizes = large, .staged = true})));
}

TEST(Gemm, ReadsAxesThatDoNotMerge) {
  // A's rows are (3, 5) within (3, 2, 5), its depth (4, 6) within (4, 7, 6).
  const std::int64_t m = 15, n = 9, k = 24;
  const auto a = random_values<float>(30 * 168, 1), b = random_values<float>(k * n, 2);
  const auto bytes = [](const std::vector<float>& x) { return reinterpret_cast<const std::byte*>(x.data()); };
  const Strided left{.data = bytes(a), .outer = {{3, 5}, {10 * 168, 168}}, .depth = {{4, 6}, {42, 1}}};
  const Strided right{.data = bytes(b), .outer = {{n}, {1}}, .depth = {{k}, {n}}};
  std::vector<float> c(static_cast<std::size_t>(m * n)), want(c);
  ThreadPool pool(2);
  const Product<float> p{
      .sizes = {m, n, k}, .a = source_of<float>(left), .b = source_of<float>(right), .c = c.data(), .ld = n};
  const AlignedBytes scratch = allocate_aligned(scratch_bytes<float>(p.sizes));
  run(pool, p, scratch.get());
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum = std::fma(a[static_cast<std::size_t>(left.outer.offset(i) + left.depth.offset(l))],
                       b[static_cast<std::size_t>(l * n + j)], sum);
      }
      EXPECT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, 1e-6);
    }
  }
}

TEST(Gemm, MultipliesPanelsThatTheCallerPacked) {
  const std::int64_t m = 30, n = 50, k = 40;
  const Case<double> c{.sizes = {m, n, k}};
  const Operands<double> operands(c);
  const Widths w = widths<double>();
  ASSERT_LE(w.a, widest.a);
  ASSERT_LE(w.b, widest.b);
  std::vector<double> a(static_cast<std::size_t>(panel_elements(m, k, w.a))),
      b(static_cast<std::size_t>(panel_elements(n, k, w.b)));
  const auto left = source_of<double>(operands.a_strided), right = source_of<double>(operands.b_strided);
  left.pack(left.self, {.first = 0, .count = m, .k0 = 0, .depth = k, .width = w.a}, a.data());
  right.pack(right.self, {.first = 0, .count = n, .k0 = 0, .depth = k, .width = w.b}, b.data());
  std::vector<double> got(static_cast<std::size_t>(m * n));
  multiply_packed<double>(m, n, k, 1, a.data(), b.data(), false, got.data(), n);
  EXPECT_TRUE(same_bits(got, product<double>(c)));
}

TEST(Gemm, BatchesBroadcastWithStrideZero) {
  const Sizes s{9, 11, 20, 3};
  const Case<double> c{.sizes = s};
  const Operands<double> operands(c);
  Strided one = operands.b_strided;
  one.batch.stride = {0};
  ThreadPool pool(2);
  std::vector<double> got(static_cast<std::size_t>(3 * 9 * 11)), want(99);
  Product<double> p{.sizes = s,
                    .a = source_of<double>(operands.a_strided),
                    .b = source_of<double>(one),
                    .c = got.data(),
                    .ld = 11};
  p.c_batch = {{3}, {99}};
  const AlignedBytes scratch = allocate_aligned(scratch_bytes<double>(s));
  run(pool, p, scratch.get());
  for (std::int64_t q = 0; q < 3; ++q) {
    multiply<double>(9, 11, 20, 1, {operands.a.data() + q * 180, 20, 1}, {operands.b.data(), 11, 1}, false,
                     want.data(), 11);
    EXPECT_TRUE(same_bits(want, std::vector<double>(got.begin() + q * 99, got.begin() + (q + 1) * 99)));
  }
}

}  // namespace
}  // namespace tidemark::gemm
