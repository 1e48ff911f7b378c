#include "tidemark/nn/convolution.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/nn/layers.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

template <class Layer>
Layer in_f64(const Layer& layer) {
  return map_tree([](const Tensor& w) { return cast(w, DType::f64); }, layer);
}
Tensor draw(int seed, const Shape& shape) { return random_normal(key(seed), shape, 0, 1, DType::f64); }

TEST(Convolution, HasHandComputedValues) {
  const Convolution layer{
      tensor(std::vector<float>{1, 10}, {1, 1, 2}), {tensor({0.5f})}, {.stride = {2}, .padding = {1}}};
  EXPECT_EQ(layer(tensor(std::vector<float>{1, 2, 3, 4}, {1, 1, 4})).to_vector(),
            (std::vector<double>{10.5, 32.5, 4.5}));
  const Convolution spread{tensor(std::vector<float>{1, 10}, {1, 1, 2}), {}, {.dilation = {2}}};
  EXPECT_EQ(spread(tensor(std::vector<float>{1, 2, 3, 4}, {1, 1, 4})).to_vector(),
            (std::vector<double>{31, 42}));
}

TEST(TransposedConvolution, HasHandComputedValues) {
  const TransposedConvolution layer{
      tensor(std::vector<float>{1, 10, 100}, {1, 1, 3}), {tensor({0.5f})}, {.stride = {2}}};
  const Tensor x = tensor(std::vector<float>{1, 2}, {1, 1, 2});
  EXPECT_EQ(layer(x).to_vector(), (std::vector<double>{1.5, 10.5, 102.5, 20.5, 200.5}));
  TransposedConvolution padded = layer;
  padded.options.padding = {1};
  padded.options.output_padding = {1};
  EXPECT_EQ(padded(x).to_vector(), (std::vector<double>{10.5, 102.5, 20.5, 200.5}));
}

TEST(TransposedConvolution, IsTheAdjointOfTheConvolution) {
  // ⟨conv(x), y⟩ = ⟨x, transposed(y)⟩ with the same weights, in 1, 2 and 3 dimensions.
  struct Case {
    Shape x;
    Dims kernel;
    ConvolutionOptions options;
  };
  const std::vector<Case> cases = {
      {{2, 4, 9}, {3}, {.stride = {2}, .padding = {1}, .groups = 2, .bias = false}},
      {{2, 4, 7, 9}, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .bias = false}},
      {{1, 2, 5, 4, 6}, {2, 1, 3}, {.stride = {1, 3, 1}, .groups = 2, .bias = false}}};
  for (const Case& c : cases) {
    const Convolution layer = in_f64(Convolution::init(key(1), c.x[1], 6, c.kernel, c.options));
    const Tensor x = draw(2, c.x), y = layer(x), other = draw(3, y.shape());
    const TransposedConvolution back{layer.weight, {}, c.options};
    const Tensor spread = back(other);
    ASSERT_EQ(spread.shape(), x.shape());
    EXPECT_NEAR(sum(y * other).item(), sum(x * spread).item(), 1e-11);
  }
}

TEST(Convolution, HasItsGradientInEveryNumberOfDimensions) {
  const ConvolutionOptions options{.stride = {2}, .padding = {1}, .groups = 2};
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    Shape shape{2, 4};
    for (int i = 0; i < dimensions; ++i) shape.push_back(5);
    const Dims kernel = Dims::filled(dimensions, 3);
    const Tensor x = draw(2, shape);
    const auto loss = [](const auto& p) { return sum(square(p.first(p.second))); };
    const auto layer = in_f64(Convolution::init(key(1), 4, 6, kernel, options));
    testing::expect_gradient(loss, std::pair(layer, x));
    const auto transposed = in_f64(TransposedConvolution::init(key(1), 4, 6, kernel, options));
    EXPECT_EQ(transposed(x).size(1), 6);
    testing::expect_gradient(loss, std::pair(transposed, x));
  }
}

TEST(Convolution, IsConv2dAndUpConv2dWhereTheyAgree) {
  const Conv2d plain = Conv2d::init(key(1), 3, 4, 3);
  const Convolution layer{plain.weight, {plain.bias}, {.stride = {2}, .padding = {1}}};
  const Tensor x = random_normal(key(2), {2, 3, 8, 8});
  EXPECT_EQ(layer(x).to_vector(), plain(x, 2).to_vector());
  const UpConv2d up = UpConv2d::init(key(1), 3, 4, 2);
  const TransposedConvolution wide{up.weight, {up.bias}, {.stride = {2}}};
  EXPECT_EQ(wide(x).to_vector(), up(x).to_vector());
}

TEST(Convolution, TellsWhatIsWrong) {
  EXPECT_EQ(testing::code_of([] { Convolution::init(key(1), 3, 4, {3}, {.groups = 2}); }),
            ErrorCode::bad_attribute);
  const Convolution layer = Convolution::init(key(1), 3, 4, {3, 3}, {.stride = {1, 2, 3}});
  EXPECT_EQ(testing::code_of([&] { layer(ones({1, 3, 8, 8})); }), ErrorCode::bad_attribute);
  const Convolution plain = Convolution::init(key(1), 3, 4, {3, 3});
  EXPECT_EQ(testing::code_of([&] { plain(ones({1, 3, 8})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { plain(ones({1, 2, 8, 8})); }), ErrorCode::shape_mismatch);
  const auto up = TransposedConvolution::init(key(1), 3, 4, {3}, {.stride = {2}, .output_padding = {2}});
  EXPECT_EQ(testing::code_of([&] { up(ones({1, 3, 8})); }), ErrorCode::bad_attribute);
}

}  // namespace
}  // namespace tidemark::nn
