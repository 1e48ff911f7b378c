#include "tidemark/ops/convolution/conv.h"

#include <gtest/gtest.h>

#include "tests/support/run_kernel.h"
#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/convolution/conv_lattice.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

struct Case {
  Shape x, w;
  ConvAttrs attrs;
};

// Every configuration the kernels treat differently: 1-D to 3-D, strides, dilation, groups, uneven padding,
// pointwise, depthwise with and without a multiplier, and sizes beyond one block of patches.
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 3, 11}, {4, 3, 3}, {{1}, {0}, {0}, {1}, 1}},
      {{2, 4, 20}, {6, 2, 5}, {{3}, {2}, {1}, {2}, 2}},
      {{1, 2, 1}, {3, 2, 1}, {{1}, {0}, {0}, {1}, 1}},
      {{1, 2, 4}, {3, 2, 3}, {{1}, {5}, {6}, {1}, 1}},  // windows that lie in the padding alone
      {{2, 3, 8, 9}, {5, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 3, 9, 8}, {4, 3, 3, 2}, {{2, 3}, {0, 1}, {2, 0}, {1, 2}, 1}},
      {{2, 6, 7, 7}, {9, 2, 3, 3}, {{1, 2}, {1, 0}, {0, 1}, {2, 1}, 3}},
      {{3, 5, 6, 6}, {7, 5, 1, 1}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}},  // pointwise
      {{2, 6, 5, 5}, {4, 3, 1, 1}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 2}},
      {{2, 4, 6, 6}, {5, 4, 1, 1}, {{2, 2}, {0, 0}, {0, 0}, {1, 1}, 1}},   // strided, so not pointwise
      {{2, 4, 9, 10}, {4, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 4}},  // depthwise
      {{1, 3, 9, 10}, {6, 1, 3, 2}, {{2, 3}, {1, 0}, {1, 2}, {2, 1}, 3}},
      {{1, 2, 3, 600}, {2, 1, 2, 5}, {{1, 2}, {0, 2}, {0, 2}, {1, 3}, 2}},
      {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 3}, {{1, 2, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 2}, 1}},
      {{2, 2, 4, 4, 4}, {4, 1, 3, 3, 3}, {{1, 1, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 2}},
      {{3, 100, 12, 12}, {20, 100, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},  // several blocks of rows
      {{1, 3, 70, 90}, {8, 3, 5, 5}, {{1, 1}, {2, 2}, {2, 2}, {1, 1}, 1}},       // and of points
      {{5, 3, 10, 10}, {4, 3, 3, 3}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}},       // uneven chunks of the batch
      {{1, 2, 150, 70}, {2, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}},      // several blocks of rows
      {{1, 2, 31, 45}, {4, 1, 7, 7}, {{2, 3}, {5, 4}, {3, 6}, {1, 1}, 2}},       // many taps in many phases
      {{2, 2, 10, 9}, {2, 1, 2, 2}, {{3, 4}, {0, 1}, {0, 0}, {1, 1}, 2}},  // elements that no window reads
      {{2, 4, 10, 9}, {3, 4, 2, 2}, {{3, 4}, {0, 1}, {0, 0}, {1, 1}, 1}},
      {{1, 2, 12, 13},
       {2, 1, 3, 3},
       {{2, 4}, {3, 3}, {3, 3}, {3, 2}, 2}},  // strides and dilations that share factors
      {{1, 3, 12, 13}, {2, 3, 3, 3}, {{2, 4}, {3, 3}, {3, 3}, {3, 2}, 1}},
      {{1, 2, 1, 1}, {2, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}},
      {{7, 19, 2, 2}, {21, 19, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}},  // images smaller than a panel
      {{2, 26, 5, 3}, {14, 13, 4, 1}, {{2, 1}, {2, 0}, {1, 0}, {1, 1}, 2}},
      {{3, 5, 9, 9}, {4, 5, 1, 1}, {{2, 2}, {1, 0}, {0, 1}, {1, 1}, 1}},  // one tap, padded and strided
      {{2, 3, 6, 6}, {0, 3, 3, 3}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}},
      {{0, 3, 5, 5}, {4, 3, 3, 3}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}},
  };
  return list;
}

Dims spatial(const Shape& shape) {
  Dims dims = shape;
  dims.erase(0), dims.erase(0);
  return dims;
}

Shape output_shape(const Case& c) {
  Shape y = {c.x[0], c.w[0]};
  for (int d = 0; d + 2 < c.x.rank(); ++d) {
    y.push_back((c.x[d + 2] + c.attrs.low[d] + c.attrs.high[d] - c.attrs.dilation[d] * (c.w[d + 2] - 1) - 1) /
                    c.attrs.stride[d] +
                1);
  }
  return y;
}

ConvGradAttrs with_size(const ConvAttrs& a, const Dims& size) {
  return {a.stride, a.low, a.high, a.dilation, a.groups, size};
}

// Calls f(x index, w index, y index) for every product of the convolution, by the definition.
template <class F>
void for_each_product(const Case& c, const F& f) {
  const ConvGeometry g = conv_geometry(c.x, c.w, output_shape(c), c.attrs);
  for (std::int64_t n = 0; n < g.batch; ++n)
    for (std::int64_t o = 0; o < g.groups * g.group_out; ++o)
      for (std::int64_t ic = 0; ic < g.group_in; ++ic)
        for (std::int64_t p = 0; p < g.out_points; ++p)
          for (std::int64_t k = 0; k < g.taps; ++k) {
            const std::int64_t ps[] = {p / (g.out[1] * g.out[2]), p / g.out[2] % g.out[1], p % g.out[2]};
            const std::int64_t ks[] = {k / (g.kernel[1] * g.kernel[2]), k / g.kernel[2] % g.kernel[1],
                                       k % g.kernel[2]};
            std::int64_t at = 0;
            bool inside = true;
            for (std::size_t d = 0; d < 3; ++d) {
              const std::int64_t i = ps[d] * g.stride[d] + ks[d] * g.dilation[d] - g.low[d];
              inside &= i >= 0 && i < g.in[d];
              at = at * g.in[d] + i;
            }
            if (!inside) continue;
            const std::int64_t channel = o / g.group_out * g.group_in + ic;
            f(static_cast<std::size_t>((n * g.groups * g.group_in + channel) * g.in_points + at),
              static_cast<std::size_t>((o * g.group_in + ic) * g.taps + k),
              static_cast<std::size_t>((n * g.groups * g.group_out + o) * g.out_points + p));
          }
}

double tolerance(DType dtype) {
  return dtype == DType::f64 ? 1e-11 : dtype == DType::f32 ? 1e-4 : dtype == DType::f16 ? 5e-3 : 3e-2;
}

class ConvOn : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Dtypes, ConvOn, ::testing::Values(DType::f32, DType::f64, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

void expect_the_definition(const Case& c, DType dtype) {
  const Shape y_shape = output_shape(c);
  const Literal x = random_literal(dtype, c.x, 1), w = random_literal(dtype, c.w, 2);
  const Literal y = random_literal(dtype, y_shape, 3);
  const auto xs = values_of(x), ws = values_of(w), ys = values_of(y);
  std::vector<double> want_y(ys.size()), want_x(xs.size()), want_w(ws.size());
  for_each_product(c, [&](std::size_t i, std::size_t k, std::size_t o) {
    want_y[o] += xs[i] * ws[k];
    want_x[i] += ys[o] * ws[k];
    want_w[k] += xs[i] * ys[o];
  });
  const std::string name = to_string(c.x) + to_string(c.w);
  const Literal forward = run(op::conv, {x, w}, pack(c.attrs))[0];
  EXPECT_EQ(forward.shape, y_shape);
  EXPECT_LE(distance(values_of(forward), want_y), tolerance(dtype)) << name;
  const Literal to_input = run(op::conv_input_grad, {y, w}, pack(with_size(c.attrs, spatial(c.x))))[0];
  EXPECT_LE(distance(values_of(to_input), want_x), tolerance(dtype)) << name;
  const Literal to_weight = run(op::conv_weight_grad, {x, y}, pack(with_size(c.attrs, spatial(c.w))))[0];
  EXPECT_LE(distance(values_of(to_weight), want_w), tolerance(dtype)) << name;
}

TEST_P(ConvOn, AllThreeMatchTheDefinition) {
  if (looks_for_races) GTEST_SKIP() << "threads have tests of their own";
  for (const Case& c : cases()) expect_the_definition(c, GetParam());
}

// Products of one row, of one column, of one step, and with channels that fill no panel or several.
TEST_P(ConvOn, AllThreeMatchTheDefinitionForFewAndManyChannels) {
  for (std::int64_t batch : {1, 2})
    for (std::int64_t groups : {1, 2})
      for (std::int64_t in : {1, 2, 3, 17})
        for (std::int64_t out : {1, 2, 9})
          for (std::int64_t taps : {1, 2, 3, 5}) {
            expect_the_definition({.x = {batch, groups * in, 5},
                                   .w = {groups * out, in, taps},
                                   .attrs = {{1}, {0}, {0}, {1}, groups}},
                                  GetParam());
          }
}

TEST_P(ConvOn, ThreadsDoNotChangeTheBits) {
  for (const Case& c : cases()) {
    const Literal x = random_literal(GetParam(), c.x, 1), w = random_literal(GetParam(), c.w, 2);
    const Literal y = random_literal(GetParam(), output_shape(c), 3);
    EXPECT_EQ(run(op::conv, {x, w}, pack(c.attrs), {1})[0], run(op::conv, {x, w}, pack(c.attrs), {3})[0]);
    const Attrs input = pack(with_size(c.attrs, spatial(c.x))),
                weight = pack(with_size(c.attrs, spatial(c.w)));
    EXPECT_EQ(run(op::conv_input_grad, {y, w}, input, {1})[0],
              run(op::conv_input_grad, {y, w}, input, {3})[0]);
    EXPECT_EQ(run(op::conv_weight_grad, {x, y}, weight, {1})[0],
              run(op::conv_weight_grad, {x, y}, weight, {3})[0]);
  }
}

TEST(Conv, ClaimsBoundedScratchThatDoesNotGrowWithTheBatch) {
  for (const ConvPart part : {ConvPart::forward, ConvPart::input_grad, ConvPart::weight_grad}) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const auto claim = [&](std::int64_t batch) {
        const Shape x = {batch, 64, 56, 56}, w = {64, 64, 3, 3};
        const ConvAttrs attrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
        return conv_scratch(conv_geometry(x, w, x, attrs), part, dtype);
      };
      EXPECT_EQ(claim(16), claim(256));
      EXPECT_LE(claim(256), 6 << 20);
    }
  }
}

std::string error_of(const Case& c) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"net.cpp", 12});
  try {
    conv(builder.input({DType::f32, c.x}), builder.input({DType::f32, c.w}), c.attrs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Conv, NamesShapesAndLineWhenOperandsDoNotFit) {
  const ConvAttrs plain{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1};
  const std::string channels = error_of({{1, 3, 8, 8}, {4, 5, 3, 3}, plain});
  for (const char* part : {"TM0201", "3 channels", "(4, 5, 3, 3)", "net.cpp:12"}) {
    EXPECT_NE(channels.find(part), std::string::npos) << channels;
  }
  EXPECT_NE(error_of({{1, 3, 2, 8}, {4, 3, 3, 3}, plain}).find("TM0201"), std::string::npos);
  EXPECT_NE(error_of({{1, 3, 8, 8}, {4, 3, 3, 3}, {{0, 1}, {0, 0}, {0, 0}, {1, 1}, 1}}).find("stride"),
            std::string::npos);
  EXPECT_NE(error_of({{1, 3, 8, 8}, {4, 3, 3, 3}, {{1, 1}, {-1, 0}, {0, 0}, {1, 1}, 1}}).find("padding"),
            std::string::npos);
  EXPECT_NE(error_of({{1, 4, 8, 8}, {3, 2, 3, 3}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, 2}}).find("groups"),
            std::string::npos);
  EXPECT_NE(error_of({{3, 8}, {4, 3}, {}}).find("TM0201"), std::string::npos);
}

TEST(Conv, FillsInWhatIsNotGiven) {
  Graph graph;
  Builder builder(graph);
  const Var y = conv(builder.input({DType::f32, {2, 3, 8, 8}}), builder.input({DType::f32, {4, 3, 3, 3}}));
  EXPECT_EQ(y.shape(), (Shape{2, 4, 6, 6}));
}

}  // namespace
}  // namespace tidemark
