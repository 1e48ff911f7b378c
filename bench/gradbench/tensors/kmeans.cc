// GradBench's kmeans with tensors. The Hessian is diagonal, so that its product with ones is its diagonal.
#include "bench/gradbench/tensors/support.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

struct Input {
  td::Tensor points, centroids;
};

Input read_input(const Json& json) { return {matrix_of(json.at("points")), matrix_of(json.at("centroids"))}; }

// Squared distances as |p|² - 2 p·c + |c|²: one product of matrices, and no array of points by centroids by
// dimensions.
td::Tensor cost(const td::Tensor& centroids, const td::Tensor& points) {
  const td::Tensor products = td::matmul(points, td::transpose(centroids));
  const td::Tensor distances = td::sum(td::square(centroids), {1}) - 2 * products;
  return td::sum(td::min(distances, {1})) + td::sum(td::square(points));
}

td::Tensor direction(const td::Tensor& centroids, const td::Tensor& points) {
  const auto f = [&](const td::Tensor& c) { return cost(c, points); };
  return td::grad(f)(centroids) / td::hvp(f, centroids, td::ones_like(centroids));
}

}  // namespace

int main() {
  const auto value = td::compile(cost);
  const auto newton = td::compile(direction);
  return serve(
      "kmeans",
      {{"cost", compiled_function(read_input,
                                  [=](const Input& in) { return value(in.centroids, in.points).item(); })},
       {"dir", compiled_function(read_input,
                                 [=](const Input& in) { return rows_of(newton(in.centroids, in.points)); })}},
      tensor_tool);
}
