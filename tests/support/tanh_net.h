// A small network with values that are worth keeping: layers of a product and tanh.
#pragma once
#include <vector>

#include "tidemark/tidemark.h"

namespace tidemark::testing {

struct TanhNet {
  std::vector<Tensor> weights;
  TM_FIELDS(TanhNet, weights)
};

inline TanhNet tanh_net(int layers, std::int64_t width) {
  TanhNet net;
  for (int i = 0; i < layers; ++i) net.weights.push_back(random_normal(key(i), {width, width}, 0, 0.1));
  return net;
}

inline Tensor tanh_loss(const TanhNet& net, Tensor x) {
  for (const Tensor& w : net.weights) x = tanh(matmul(x, w));
  return mean(square(x));
}

inline Tensor tanh_batch(std::int64_t examples, std::int64_t width) {
  return random_normal(key(99), {examples, width});
}

}  // namespace tidemark::testing
