// GradBench's kmeans: the cost of centroids, and Newton's direction: the gradient by the diagonal of the
// Hessian.
#include "bench/objectives/kmeans.h"

#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

struct Input {
  KMeans objective;
  std::vector<double> centroids;
};

Input read_input(const Json& input) {
  const Rows points = input.at("points"), centroids = input.at("centroids");
  expect(!points.empty() && !points[0].empty() && !centroids.empty(), "no points or no centroids");
  expect_shape(points, points.size(), points[0].size(), "points");
  expect_shape(centroids, centroids.size(), points[0].size(), "centroids");
  return {{points[0].size(), flattened(points)}, flattened(centroids)};
}

// A tape on numbers that carry their derivative in the direction of all ones: the gradient is its adjoints,
// and these carry the product of the Hessian with ones, which is its diagonal, since it has nothing else.
Rows direction(const Input& in) {
  using Dual = td::Dual<1>;
  static td::scalars::BasicTape<Dual> tape({.active = false});
  tape.clear();
  const auto active = tape.activate();
  std::vector<Dual> at;
  for (const double each : in.centroids) at.push_back(Dual::variable(each));
  const auto centroids = tape.inputs(at);
  tape.reverse(in.objective(std::span(centroids)));
  std::vector<double> direction;
  for (const auto& each : centroids) {
    const Dual slope = tape.gradient(each);
    direction.push_back(slope.value() / slope.slope());
  }
  return rows_of(direction, 0, direction.size() / in.objective.dimensions, in.objective.dimensions);
}

}  // namespace

int main() {
  const auto cost = [](const Input& in) { return primal(in.objective, in.centroids); };
  return serve("kmeans", {{"cost", protocol_function(read_input, cost)},
                          {"dir", protocol_function(read_input, direction)}});
}
