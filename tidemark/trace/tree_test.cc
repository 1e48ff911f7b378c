#include "tidemark/trace/tree.h"

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

struct Layer {
  Tensor w, b;
  int stride = 1;
  TM_FIELDS(Layer, w, b, stride)
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Tensor> named;
  std::tuple<Tensor, std::array<Tensor, 2>> extra;
  TM_FIELDS(Model, layers, named, extra)
};

Model model() {
  const Tensor t = scalar(1);
  return {{{t, t, 1}, {t, t, 2}}, {{"head", t}, {"body", t}}, {t, {t, t}}};
}

TEST(Tree, WalksNestedStructuresInOneOrderWithPaths) {
  std::vector<std::string> paths;
  const Model m = model();
  for_each_tensor(m, [&](const std::string& path, const Tensor&) { paths.push_back(path); });
  EXPECT_EQ(paths,
            (std::vector<std::string>{"layers.0.w", "layers.0.b", "layers.1.w", "layers.1.b", "named.body",
                                      "named.head", "extra.0", "extra.1.0", "extra.1.1"}));
}

TEST(Tree, MapsOverSeveralTreesAtOnce) {
  const Model a = model();
  const Model sum = map_tree([](const Tensor& x, const Tensor& y) { return x + y; }, a, a);
  for (const Tensor& t : tensors_of(sum)) EXPECT_EQ(t.item(), 2);
  EXPECT_EQ(sum.layers[1].stride, 2) << "what is not a tensor is kept";
}

TEST(Tree, RefusesTreesOfDifferentSizes) {
  Model a = model(), b = model();
  b.layers.pop_back();
  EXPECT_THROW(map_tree([](const Tensor& x, const Tensor&) { return x; }, a, b), Error);
}

TEST(Tree, GradientsHaveTheShapeOfTheArgument) {
  const auto f = [](const Model& m) {
    return m.layers[0].w * m.layers[1].w * 3 + m.named.at("head") * std::get<1>(m.extra)[1];
  };
  const Model g = grad(f)(model());
  EXPECT_EQ(g.layers[0].w.item(), 3);
  EXPECT_EQ(g.layers[0].b.item(), 0);
  EXPECT_EQ(g.named.at("head").item(), 1);
  EXPECT_EQ(std::get<0>(g.extra).item(), 0);
}

}  // namespace
}  // namespace tidemark
