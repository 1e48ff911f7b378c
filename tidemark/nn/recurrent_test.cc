#include "tidemark/nn/recurrent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

constexpr std::int64_t in = 3, width = 4, steps = 5, batch = 2;

template <class Layer>
Layer random_layer() {  // biases too
  int seed = 0;
  return map_tree([&](const Tensor& w) { return random_normal(key(++seed), w.shape(), 0, 0.6, DType::f64); },
                  Layer::init(key(0), in, width));
}
Tensor sequence() { return random_normal(key(9), {steps, batch, in}, 0, 1, DType::f64); }
double distance(const Tensor& x, const Tensor& y) { return max(abs(x - y)).item(); }

TEST(LstmLayer, ScansWhatItUnrolls) {
  const auto layer = random_layer<LstmLayer>();
  const Tensor x = sequence();
  const auto [y, end] = layer.scanned(x, layer.start(batch));
  EXPECT_LT(distance(y, layer(x)), 1e-14);
  EXPECT_EQ(end.hidden.to_vector(), y.at(-1).to_vector());
  const auto scanned = [&](const std::pair<LstmLayer, Tensor>& p) {
    return sum(square(p.first.scanned(p.second, p.first.start(batch)).first));
  };
  const auto unrolled = [&](const std::pair<LstmLayer, Tensor>& p) { return sum(square(p.first(p.second))); };
  const auto a = tensors_of(grad(scanned)(std::pair(layer, x))),
             b = tensors_of(grad(unrolled)(std::pair(layer, x)));
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LT(distance(a[i], b[i]), 1e-12);
}

// One step after another, as the paper has it.
Tensor unrolled(const GruLayer& p, const Tensor& x) {
  std::vector<Tensor> outputs;
  Tensor h = zeros({batch, width}, DType::f64);
  const auto gate = [&](const Tensor& v, const Tensor& w, const Tensor& b, std::int64_t g) {
    return matmul(v, w.at(all, Range{g * width, (g + 1) * width})) + b.at(Range{g * width, (g + 1) * width});
  };
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor now = x.at(t);
    const Tensor r = sigmoid(gate(now, p.input, p.bias, 0) + gate(h, p.hidden, p.hidden_bias, 0));
    const Tensor z = sigmoid(gate(now, p.input, p.bias, 1) + gate(h, p.hidden, p.hidden_bias, 1));
    const Tensor n = tanh(gate(now, p.input, p.bias, 2) + r * gate(h, p.hidden, p.hidden_bias, 2));
    h = (1 - z) * n + z * h;
    outputs.push_back(h);
  }
  return stack(outputs);
}
TEST(GruLayer, FollowsTheRecurrence) {
  const auto layer = random_layer<GruLayer>();
  const Tensor x = sequence();
  const auto [y, end] = layer.scanned(x, layer.start(batch));
  EXPECT_LT(distance(y, unrolled(layer, x)), 1e-14);
  EXPECT_EQ(end.hidden.to_vector(), y.at(-1).to_vector());
  const auto loss = [&](const std::pair<GruLayer, Tensor>& p) {
    return sum(square(p.first.scanned(p.second, p.first.start(batch)).first));
  };
  testing::expect_gradient(loss, std::pair(layer, x));
}

template <class Layer>
void expect_lengths_to_count() {
  const auto layer = random_layer<Layer>();
  const Tensor x = sequence();
  const Tensor lengths = tensor({std::int64_t{steps}, std::int64_t{3}});
  for (const bool reverse : {false, true}) {
    const auto [y, end] = layer.scanned(x, layer.start(batch), {reverse, lengths});
    const auto [own, own_end] =
        layer.scanned(x.at(Range{0, 3}, Range{1, 2}), layer.start(1), {.reverse = reverse});
    EXPECT_LT(distance(y.at(Range{0, 3}, Range{1, 2}), own), 1e-15);
    EXPECT_LT(distance(end.hidden.at(Range{1, 2}), own_end.hidden), 1e-15);
    EXPECT_EQ(max(abs(y.at(Range{3, steps}, 1))).item(), 0);
    const auto [plain, ignored] = layer.scanned(x, layer.start(batch), {.reverse = reverse});
    EXPECT_LT(distance(y.at(all, 0), plain.at(all, 0)), 1e-15);
  }
  // Backward over x is forward over x turned round.
  const auto [back, end] = layer.scanned(x, layer.start(batch), {.reverse = true});
  const auto [ahead, other] = layer.scanned(flip(x, {0}), layer.start(batch));
  EXPECT_EQ(back.to_vector(), flip(ahead, {0}).to_vector());
  EXPECT_EQ(end.hidden.to_vector(), other.hidden.to_vector());
}
TEST(RecurrentLayers, StopAtTheLengthOfEachSequence) {
  expect_lengths_to_count<LstmLayer>();
  expect_lengths_to_count<GruLayer>();
}

TEST(RecurrentLayers, GoOnWhereTheyStopped) {
  const auto layer = random_layer<GruLayer>();
  const Tensor x = sequence();
  const auto [whole, end] = layer.scanned(x, layer.start(batch));
  const auto [first, between] = layer.scanned(x.at(Range{0, 2}), layer.start(batch));
  const auto [second, last] = layer.scanned(x.at(Range{2, steps}), between);
  EXPECT_LT(distance(concat({first, second}, 0), whole), 1e-15);
}

TEST(Bidirectional, PutsBothDirectionsSideBySide) {
  using Both = Bidirectional<LstmLayer>;
  const Both both{random_layer<LstmLayer>(), random_layer<LstmLayer>()};
  const Tensor x = sequence(), y = both(x);
  EXPECT_EQ(y.shape(), (Shape{steps, batch, 2 * width}));
  EXPECT_EQ(flip(y.at(all, all, Range{width, 2 * width}), {0}).to_vector(),
            Tensor(both(flip(x, {0})).at(all, all, Range{0, width})).to_vector());
  const Tensor lengths = tensor({std::int32_t{2}, std::int32_t{5}});
  const auto loss = [&](const Both& p) { return sum(square(p(x, lengths))); };
  testing::expect_gradient(loss, both);
}

TEST(RecurrentLayers, TellWhatIsWrong) {
  const auto layer = random_layer<GruLayer>();
  EXPECT_EQ(testing::code_of([&] {
              layer.scanned(ones({5, 2, 4}), layer.start(2));
            }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of(
                [&] { layer.scanned(sequence(), layer.start(2), {.lengths = ones({3}, DType::i64)}); }),
            ErrorCode::shape_mismatch);
  const auto code = [&](const Tensor& lengths) {
    return testing::code_of(
        [&] { layer.scanned(sequence(), layer.start(2), {.lengths = lengths}).first.to_vector(); });
  };
  EXPECT_EQ(code(ones({2})), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code(ones({2}, DType::boolean)), ErrorCode::dtype_mismatch);
  for (const std::int32_t length : {-1, 6, 100}) {
    EXPECT_EQ(code(tensor<std::int32_t>({1, length})), ErrorCode::index_out_of_range) << length;
  }
  for (const DType dtype : {DType::i32, DType::i64, DType::u8}) {
    EXPECT_EQ(code(cast(tensor<std::int32_t>({0, 5}), dtype)), ErrorCode{0});
  }
  try {
    layer.scanned(sequence(), layer.start(2), {.lengths = tensor<std::int32_t>({0, 99})});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a recurrent layer: the length 99 at (1)"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("recurrent_test.cc"));
  }
}

// Numbers of steps are not counted in the dtype of the lengths, in which 256 would be 0.
TEST(RecurrentLayers, TakeShortDtypesForLongSequences) {
  constexpr std::int64_t long_steps = 300;
  const auto layer = random_layer<GruLayer>();
  const Tensor x = random_normal(key(9), {long_steps, 1, in}, 0, 1, DType::f64);
  const Tensor lengths = cast(tensor<std::int32_t>({3}), DType::u8);
  const Tensor y = layer.scanned(x, layer.start(1), {.lengths = lengths}).first;
  EXPECT_EQ(max(abs(y.at(Range{3, long_steps}))).item(), 0);
  EXPECT_GT(max(abs(y.at(Range{0, 3}))).item(), 0);
}

}  // namespace
}  // namespace tidemark::nn
