#include "tidemark/autodiff/vmap/vmap.h"
#include "tidemark/ops/custom/custom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/examples_by_hand.h"

namespace tidemark {
namespace {

using namespace tidemark::testing;
using ::testing::HasSubstr;

struct Layer {
  Tensor w, b;
  TM_FIELDS(Layer, w, b)
};
using Mlp = std::vector<Layer>;

Mlp small_mlp(DType dtype = DType::f64) {
  Mlp layers;
  const std::int64_t widths[] = {5, 7, 3};
  for (int i = 0; i < 2; ++i) {
    layers.push_back({random_normal(key(i + 1), {widths[i], widths[i + 1]}, 0, 1, dtype),
                      random_normal(key(i + 11), {widths[i + 1]}, 0, 1, dtype)});
  }
  return layers;
}
Tensor mlp_loss(const Mlp& layers, Tensor x, Tensor y) {
  x = tanh(matmul(x, layers[0].w) + layers[0].b);
  return mean(square(matmul(x, layers[1].w) + layers[1].b - y));
}

TEST(Vmap, StacksWhatTheFunctionGivesForEachExample) {
  const auto f = [](Tensor x) { return sum(sin(x) * flip(x, {0})) + x; };
  const Tensor x = batch({4, 3});
  EXPECT_EQ(vmap(f)(x).to_vector(), by_hand(f, x).to_vector());
  EXPECT_EQ(compile(vmap(f))(x).to_vector(), by_hand(f, x).to_vector());
}

TEST(Vmap, MapsAnyAxisOfAnyArgumentOrNone) {
  const auto f = [](Tensor m, Tensor v) { return matmul(m, v); };
  const Tensor m = batch({3, 5, 4}), w = batch({4, 3}, 8);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < 3; ++i)
    parts.push_back(matmul(Tensor(m.at(i)), reshape(slice(w, {0, i}, {4, i + 1}), {4})));
  expect_close(vmap(f, {.in_axes = {0, 1}})(m, w), stack(parts));
  expect_close(vmap(f, {.in_axes = {0, -1}, .out_axis = 1})(m, w), stack(parts, 1));
  expect_close(vmap(f, {.in_axes = {0, 1}, .out_axis = -1})(m, w), stack(parts, 1));
  const Tensor shared = batch({6, 5}, 9), xs = batch({4, 5}, 10);
  expect_close(vmap(f, {.in_axes = {not_mapped, 0}})(shared, xs), matmul(xs, transpose(shared)));
}

TEST(Vmap, MapsPartsOfTreesByTheirPaths) {
  const Mlp mlp = small_mlp();
  const Tensor x = batch({4, 5}), y = batch({4, 3}, 5);
  // Every example has its own biases.
  Mlp many = mlp;
  for (Layer& layer : many) {
    std::vector<Tensor> biases;
    for (int i = 0; i < 4; ++i) biases.push_back(layer.b * (i + 1));
    layer.b = stack(biases);
  }
  const MapAxes axes{{"", not_mapped}, {"0.b", 0}, {"1.b", 0}};
  const Tensor found = vmap(mlp_loss, {.in_axes = {axes, 0, 0}})(many, x, y);
  for (int i = 0; i < 4; ++i) {
    Mlp own = mlp;
    for (Layer& layer : own) layer.b = layer.b * (i + 1);
    EXPECT_NEAR(Tensor(found.at(i)).item(), mlp_loss(own, x.at(i), y.at(i)).item(), 1e-12);
  }
}

TEST(Vmap, GivesAGradientForEachExample) {
  const Mlp mlp = small_mlp();
  const Tensor x = batch({6, 5}), y = batch({6, 3}, 5);
  const auto per_example = vmap(grad(mlp_loss), {.in_axes = {not_mapped, 0, 0}});
  const Mlp found = per_example(mlp, x, y), planned = compile(per_example)(mlp, x, y);
  std::vector<Mlp> each;
  for (std::int64_t i = 0; i < 6; ++i) each.push_back(grad(mlp_loss)(mlp, x.at(i), y.at(i)));
  const auto stacked_leaf = [&](std::size_t leaf) {
    std::vector<Tensor> parts;
    for (const Mlp& one : each) parts.push_back(tensors_of(one)[leaf]);
    return stack(parts);
  };
  for (std::size_t leaf = 0; leaf < 4; ++leaf) {
    expect_close(tensors_of(found)[leaf], stacked_leaf(leaf));
    expect_close(tensors_of(planned)[leaf], stacked_leaf(leaf));
  }
  // Their mean is the gradient of the mean.
  const auto mean_loss = [](const Mlp& p, Tensor u, Tensor v) {
    return mean(vmap(mlp_loss, {.in_axes = {not_mapped, 0, 0}})(p, u, v));
  };
  expect_trees_close(grad(mean_loss)(mlp, x, y), map_tree([](Tensor g) { return mean(g, {0}); }, found));
}

TEST(Vmap, NestsWithItselfAndWithDerivativesOfHigherOrder) {
  const auto f = [](Tensor x, Tensor y) { return sum(sin(x) * y) * sum(y * y * y); };
  const Tensor x = batch({4, 3}), y = batch({5, 3}, 4);
  // All pairs.
  const auto inner = vmap(f, {.in_axes = {not_mapped, 0}});
  const Tensor pairs = vmap(inner, {.in_axes = {0, not_mapped}})(x, y);
  ASSERT_EQ(pairs.shape(), (Shape{4, 5}));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j)
      EXPECT_NEAR(Tensor(Tensor(pairs.at(i)).at(j)).item(), f(x.at(i), y.at(j)).item(), 1e-12);
  }
  const auto g = [](Tensor u) { return u * u * u * u; };
  const Tensor points = batch({7});
  expect_close(vmap(grad(grad(g)))(points), 12 * points * points);
  expect_close(grad([&](Tensor p) { return sum(vmap(grad(g))(p)); })(points), 12 * points * points);
  const auto cubes = [&](Tensor u) { return vmap(grad(g))(u); };
  expect_close(vmap(cubes)(batch({2, 3})), 4 * batch({2, 3}) * batch({2, 3}) * batch({2, 3}));
  expect_close(jvp([&](Tensor u) { return vmap(g)(u); }, points, ones_like(points)).second,
               4 * points * points * points);
  // A Jacobian by vmap over directions.
  const auto wide = [](Tensor u) { return concat({u * u, sin(u)}, 0); };
  const Tensor at = batch({3}, 9);
  const auto push = [&](Tensor v) { return jvp(wide, at, v).second; };
  expect_close(vmap(push, {.out_axis = 1})(eye(3, DType::f64)), jacobian(wide)(at));
  const auto [value, pullback] = vjp(wide, at);
  expect_close(vmap(pullback)(eye(6, DType::f64)), jacobian(wide)(at));
}

TEST(Vmap, AKeyThatIsMappedGivesEachExampleItsOwnNumbers) {
  const auto noise = [](Tensor k, Tensor x) { return x + random_normal(k, {5}, 0, 1, DType::f64); };
  const Tensor keys = stack(split_key(key(3), 4)), x = batch({4, 5});
  std::vector<Tensor> own, same;
  for (int i = 0; i < 4; ++i) {
    own.push_back(noise(keys.at(i), x.at(i)));
    same.push_back(noise(key(3), x.at(i)));
  }
  EXPECT_EQ(vmap(noise)(keys, x).to_vector(), stack(own).to_vector());
  EXPECT_EQ(vmap(noise, {.in_axes = {not_mapped, 0}})(key(3), x).to_vector(), stack(same).to_vector());
  const auto folded = [](Tensor k) { return random_uniform(fold_in(k, 7), {2}); };
  EXPECT_EQ(vmap(folded)(keys).to_vector(), by_hand(folded, keys).to_vector());
  const auto dropped = [](Tensor k, Tensor u) { return sum(dropout(u, 0.5, k) * u); };
  const Tensor gradients = vmap(grad<1>(dropped))(keys, x);
  for (int i = 0; i < 4; ++i) expect_close(gradients.at(i), grad<1>(dropped)(keys.at(i), x.at(i)));
}

TEST(Vmap, DerivativesOfTheUsersOwnAreKept) {
  const auto straight =
      custom_vjp([](Tensor x, Tensor w) { return round(x * w); },
                 [](Tensor x, Tensor w, Tensor, Tensor seed) { return std::tuple(seed * w, sum(seed * x)); });
  const auto f = [&](Tensor x, Tensor w) { return sum(straight(x, w) * x); };
  const Tensor x = batch({4, 3}), w = scalar(2.5, DType::f64);
  std::vector<Tensor> gx, gw;
  for (int i = 0; i < 4; ++i) {
    const auto [a, b] = grad<0, 1>(f)(Tensor(x.at(i)), w);
    gx.push_back(a), gw.push_back(b);
  }
  const auto [found_x, found_w] = vmap(grad<0, 1>(f), {.in_axes = {0, not_mapped}})(x, w);
  expect_close(found_x, stack(gx));
  expect_close(found_w, stack(gw));
  const auto total = [&](Tensor v, Tensor u) { return sum(vmap(f, {.in_axes = {0, not_mapped}})(v, u)); };
  const auto [all_x, all_w] = grad<0, 1>(total)(x, w);
  expect_close(all_x, stack(gx));
  expect_close(all_w, sum(stack(gw)));
}

TEST(Vmap, IndicesOutOfRangeAreErrorsInTheirExample) {
  const auto f = [](Tensor table, Tensor i) { return take(table, i, 0); };
  const Tensor tables = batch({3, 4, 2});
  const Tensor indices = tensor<std::int64_t>(std::vector<std::int64_t>{0, 3, 1, 1, 2, 2}, {3, 2});
  std::vector<Tensor> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(f(tables.at(i), indices.at(i)));
  EXPECT_EQ(vmap(f)(tables, indices).to_vector(), stack(parts).to_vector());
  // Place 4 of the first table is not the beginning of the second.
  const Tensor wrong = tensor<std::int64_t>(std::vector<std::int64_t>{0, 4, 1, 1, 2, 2}, {3, 2});
  EXPECT_THROW(vmap(f)(tables, wrong), Error);
}

TEST(Vmap, TakesNoExamplesAndOne) {
  const auto f = [](Tensor x) { return std::pair(sum(exp(x)), matmul(x, transpose(x))); };
  for (const std::int64_t size : {0, 1}) {
    const auto [sums, products] = vmap(f)(batch({size, 2, 3}));
    EXPECT_EQ(sums.shape(), (Shape{size}));
    EXPECT_EQ(products.shape(), (Shape{size, 2, 2}));
  }
}

TEST(Vmap, KeepsNanInfinityAndDenormalsInTheirExamples) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor(std::vector<double>{1, 2, nan, 1, inf, -1, 5e-324, -0.0}, {4, 2});
  const auto f = [](Tensor u) { return std::pair(softmax(u, 0), sum(u * u)); };
  const auto [shares, squares] = vmap(f)(x);
  expect_close(shares, by_hand([](Tensor u) { return softmax(u, 0); }, x), 1e-15);
  expect_close(squares, by_hand([](Tensor u) { return sum(u * u); }, x), 1e-15);
}

TEST(Vmap, WhatDoesNotDependOnAnExampleIsComputedOnce) {
  int calls = 0;
  const Op& counted =
      make_custom_op({.name = "vmap_test_counted",
                      .infer = [](std::span<const Type> in) { return std::vector<Type>{in[0]}; },
                      .kernel =
                          [&](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                            ++calls;
                            for (std::int64_t i = 0; i < in[0].count(); ++i)
                              out[0].as<double>()[i] = in[0].as<double>()[i] + 1;
                          }});
  const auto f = [&](Tensor shared, Tensor x) { return call(counted, {shared}).front() * x; };
  const Tensor x = batch({5, 2}), shared = batch({2});
  expect_close(vmap(f, {.in_axes = {not_mapped, 0}})(shared, x), (shared + 1) * x);
  EXPECT_EQ(calls, 1);
  // Ops that nobody has a rule for take the examples one by one.
  expect_close(vmap([&](Tensor u) { return call(counted, {u}).front(); })(x), x + 1);
  EXPECT_EQ(calls, 6);
}

struct Parts {
  Tensor filter, gain, bias, query, key_value;
  TM_FIELDS(Parts, filter, gain, bias, query, key_value)
};

TEST(Vmap, ModelsOfEveryFamilyTakeExamplesWithTheirOwnParameters) {
  const auto model = [](const Parts& p, Tensor image) {
    Tensor y = relu(conv(expand_dims(image, 0), p.filter));
    y = layer_norm(y, p.gain, p.bias);
    const Tensor tokens = reshape(y, {1, 1, 4, 6});
    const Tensor q = matmul(tokens, p.query), kv = matmul(tokens, p.key_value);
    return sum(square(attention(q, kv, kv)));
  };
  std::vector<Parts> each;
  for (int i = 0; i < 3; ++i) {
    each.push_back({batch({2, 1, 3, 3}, 40 + i), batch({4}, 50 + i), batch({4}, 60 + i),
                    batch({6, 5}, 70 + i), batch({6, 5}, 80 + i)});
  }
  std::vector<Tensor> leaves;
  for (std::size_t leaf = 0; leaf < 5; ++leaf)
    leaves.push_back(
        stack({tensors_of(each[0])[leaf], tensors_of(each[1])[leaf], tensors_of(each[2])[leaf]}));
  const Parts all = with_tensors(each[0], leaves);
  const Tensor images = batch({3, 1, 5, 6}, 90);
  // An ensemble on the same image, on images of their own, and one model on all images.
  const Parts ensemble = compile(vmap(grad(model), {.in_axes = {0, not_mapped}}))(all, Tensor(images.at(0)));
  const Parts own = compile(vmap(grad(model)))(all, images);
  const Parts shared = compile(vmap(grad(model), {.in_axes = {not_mapped, 0}}))(each[0], images);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto at = [&](const Parts& p) {
      return map_tree([&](const Tensor& t) { return Tensor(t.at(static_cast<std::int64_t>(i))); }, p);
    };
    expect_trees_close(at(ensemble), grad(model)(each[i], Tensor(images.at(0))), 1e-9);
    expect_trees_close(at(own), grad(model)(each[i], Tensor(images.at(static_cast<std::int64_t>(i)))), 1e-9);
    expect_trees_close(at(shared), grad(model)(each[0], Tensor(images.at(static_cast<std::int64_t>(i)))),
                       1e-9);
  }
}

TEST(Vmap, WhatTheFunctionCapturesIsReadAtEveryCall) {
  Tensor scale = scalar(2, DType::f64);
  const auto f = compile(vmap([&](Tensor x) { return x * scale; }));
  const Tensor x = batch({3});
  EXPECT_EQ(f(x).to_vector(), (x * 2).to_vector());
  scale = scalar(5, DType::f64);
  EXPECT_EQ(f(x).to_vector(), (x * 5).to_vector());
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("vmap_test.cc"));
    return error.what();
  }
  return "no error";
}

TEST(Vmap, MistakesAreExplainedAtTheUsersLine) {
  const auto add = [](Tensor x, Tensor y) { return x + y; };
  const Tensor x = batch({4, 3}), y = batch({5, 3});
  EXPECT_THAT(message_of([&] { vmap(add)(x, y); }), HasSubstr("5 examples along axis 0, and arg0 has 4"));
  EXPECT_THAT(message_of([&] { vmap(add, {.in_axes = {0, 2}})(x, y); }), HasSubstr("along axis 2"));
  EXPECT_THAT(message_of([&] { vmap(add)(x, scalar(1.0, DType::f64)); }), HasSubstr("not_mapped"));
  EXPECT_THAT(message_of([&] {
                vmap(add, {.in_axes = {not_mapped, not_mapped}})(x, x);
              }),
              HasSubstr("nothing is mapped"));
  EXPECT_THAT(message_of([&] { vmap(add, {.in_axes = {0}})(x, x); }), HasSubstr("1 entries"));
  EXPECT_THAT(message_of([&] { vmap(add, {.out_axis = 2})(x, x); }), HasSubstr("out_axis 2"));
  EXPECT_THAT(message_of([&] { vmap([](Tensor) { return 3; })(x); }), HasSubstr("returns no tensor"));
  EXPECT_THAT(message_of([&] { vmap([](Tensor) { return Tensor(); })(x); }), HasSubstr("empty tensor"));
  EXPECT_THAT(message_of([&] { vmap([](int) { return ones({1}); })(3); }), HasSubstr("no tensor among"));
  EXPECT_THAT(message_of([&] {
                vmap(mlp_loss, {.in_axes = {MapAxes{{"", not_mapped}, {"2.w", 0}}, 0, 0}})(small_mlp(), x, y);
              }),
              HasSubstr("`2.w`"));
  const auto inside = [](Tensor u) { return sum(exp(reshape(u, {1, 1, 1, 1, 1, 1, 1, 3}))); };
  EXPECT_THAT(message_of([&] { vmap(inside)(x); }), HasSubstr("vmap: reshape makes"));
  const auto wide = [](Tensor u) { return reshape(u, {1, 1, 1, 1, 1, 1, 1, 3}); };
  EXPECT_THAT(message_of([&] { vmap(wide)(x); }), HasSubstr("dimension for the examples"));
}

}  // namespace
}  // namespace tidemark
