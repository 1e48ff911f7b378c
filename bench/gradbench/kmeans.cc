// GradBench's kmeans: the cost of centroids, and Newton's direction: the gradient by the diagonal of the
// Hessian.
#include "bench/objectives/kmeans.h"

#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"

using namespace tidemark::bench;

namespace {

struct Input {
  KMeans objective;
  std::vector<double> centroids;
};

Input read_input(const Json& input) {
  const Rows points = input.at("points");
  return {{points.at(0).size(), flattened(points)}, flattened(input.at("centroids"))};
}

}  // namespace

int main() {
  const auto cost = [](const Input& in) { return primal(in.objective, in.centroids); };
  return serve("kmeans", {{"cost", protocol_function(read_input, cost)}});
}
