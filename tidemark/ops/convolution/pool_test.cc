#include "tidemark/ops/convolution/pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/run_kernel.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

// Two spatial dimensions, by the definition: the elements of x in the window of each output.
std::vector<std::vector<std::size_t>> windows(const Shape& x, const PoolAttrs& a) {
  std::vector<std::vector<std::size_t>> list;
  const std::int64_t h = (x[2] + a.low[0] + a.high[0] - a.window[0]) / a.stride[0] + 1;
  const std::int64_t w = (x[3] + a.low[1] + a.high[1] - a.window[1]) / a.stride[1] + 1;
  for (std::int64_t plane = 0; plane < x[0] * x[1]; ++plane)
    for (std::int64_t i = 0; i < h; ++i)
      for (std::int64_t j = 0; j < w; ++j) {
        list.emplace_back();
        for (std::int64_t di = 0; di < a.window[0]; ++di)
          for (std::int64_t dj = 0; dj < a.window[1]; ++dj) {
            const std::int64_t r = i * a.stride[0] - a.low[0] + di, c = j * a.stride[1] - a.low[1] + dj;
            if (r < 0 || r >= x[2] || c < 0 || c >= x[3]) continue;
            list.back().push_back(static_cast<std::size_t>((plane * x[2] + r) * x[3] + c));
          }
      }
  return list;
}

const PoolAttrs configs[] = {{{2, 2}, {2, 2}, {0, 0}, {0, 0}}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}},
                             {{3, 2}, {1, 3}, {2, 0}, {1, 1}}, {{1, 1}, {3, 2}, {0, 0}, {0, 0}},
                             {{2, 5}, {1, 1}, {1, 4}, {0, 3}}, {{2, 4}, {2, 2}, {1, 3}, {1, 0}},
                             {{7, 3}, {1, 4}, {0, 0}, {0, 0}}};
const Shape image = {2, 3, 7, 45};

TEST(Pool, MaximaAndTheirPositionsMatchTheDefinition) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const PoolAttrs& attrs : configs) {
      const Literal x = random_literal(dtype, image, 1);
      const auto results = run(op::max_pool, {x}, pack(attrs));
      const auto xs = values_of(x), got = values_of(results[0]), positions = values_of(results[1]);
      const auto list = windows(image, attrs);
      ASSERT_EQ(got.size(), list.size());
      for (std::size_t o = 0; o < list.size(); ++o) {
        std::size_t best = list[o].front();
        for (std::size_t i : list[o]) best = xs[i] > xs[best] ? i : best;
        EXPECT_EQ(got[o], xs[best]);
        EXPECT_EQ(positions[o], static_cast<double>(best % static_cast<std::size_t>(image[2] * image[3])));
      }
    }
  }
}

TEST(Pool, AveragesLeavePaddingOutAndTheAdjointSpreadsThem) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const double tolerance = dtype == DType::f64   ? 1e-13
                             : dtype == DType::f32 ? 1e-5
                             : dtype == DType::f16 ? 2e-3
                                                   : 1e-2;
    for (const PoolAttrs& attrs : configs) {
      const Literal x = random_literal(dtype, image, 1);
      const Literal y = run(op::avg_pool, {x}, pack(attrs))[0];
      const auto xs = values_of(x), ys = values_of(y);
      const auto list = windows(image, attrs);
      std::vector<double> mean(list.size()), spread(xs.size());
      for (std::size_t o = 0; o < list.size(); ++o) {
        for (std::size_t i : list[o]) {
          mean[o] += xs[i] / static_cast<double>(list[o].size());
          spread[i] += ys[o] / static_cast<double>(list[o].size());
        }
      }
      EXPECT_LE(distance(ys, mean), tolerance);
      const PoolGradAttrs grad{attrs.window, attrs.stride, attrs.low, attrs.high, {image[2], image[3]}};
      EXPECT_LE(distance(values_of(run(op::avg_pool_grad, {y}, pack(grad))[0]), spread), tolerance);
    }
  }
}

TEST(Pool, TheFirstOfEqualsAndTheFirstNaNWin) {
  const Literal x = literal_of(DType::f32, {1, 1, 6}, {2, 2, 1, nan, nan, 5});
  const Attrs attrs = pack(PoolAttrs{{3}, {3}, {0}, {0}});
  EXPECT_EQ(values_of(run(op::max_pool, {x}, attrs)[1]), (std::vector<double>{0, 3}));
  EXPECT_TRUE(std::isnan(values_of(run(op::max_pool, {x}, attrs)[0])[1]));
}

TEST(Pool, WorksInThreeDimensions) {
  const Literal x = literal_of(DType::f64, {1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Attrs attrs = pack(PoolAttrs{{2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  EXPECT_EQ(values_of(run(op::avg_pool, {x}, attrs)[0]), std::vector<double>{4.5});
  EXPECT_EQ(values_of(run(op::max_pool, {x}, attrs)[0]), std::vector<double>{8});
}

std::string error_of(const Shape& shape, const PoolAttrs& attrs) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"net.cpp", 7});
  try {
    max_pool(builder.input({DType::f32, shape}), attrs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Pool, RefusesPaddingAsWideAsTheWindowAndWindowsThatDoNotFit) {
  EXPECT_NE(error_of({1, 1, 8}, {{2}, {1}, {2}, {0}}).find("TM0203"), std::string::npos);
  EXPECT_NE(error_of({1, 1, 8}, {{9}, {1}, {0}, {0}}).find("TM0201"), std::string::npos);
  EXPECT_NE(error_of({8}, {{2}, {1}, {0}, {0}}).find("net.cpp:7"), std::string::npos);
  EXPECT_EQ(error_of({1, 1, 8}, {.window = {2}}), "");
}

}  // namespace
}  // namespace tidemark
