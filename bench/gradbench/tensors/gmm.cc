// GradBench's gmm with tensors: all points and components at once.
#include <cmath>
#include <numbers>

#include "bench/gradbench/tensors/support.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

struct Parameters {
  td::Tensor alpha, mu, q, l;
  TM_FIELDS(Parameters, alpha, mu, q, l)
};

struct Input {
  Parameters parameters;
  td::Tensor x, places, gamma, degrees;
  double constant = 0;
};

// Where each entry of a lower triangular matrix stands among q, l and a zero.
td::Tensor triangle(std::int64_t d) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(d * d), d + d * (d - 1) / 2);
  std::int64_t next = d;
  for (std::int64_t column = 0; column < d; ++column) {
    places[static_cast<std::size_t>(column * d + column)] = column;
    for (std::int64_t row = column + 1; row < d; ++row)
      places[static_cast<std::size_t>(row * d + column)] = next++;
  }
  return td::tensor(places);
}

// What does not depend on parameters.
double constant(double d, double k, double n, double gamma, double m) {
  const double degrees = d + m + 1;
  double log_gamma = 0.25 * d * (d - 1) * std::log(std::numbers::pi);
  for (int i = 0; i < d; ++i) log_gamma += std::lgamma(0.5 * (degrees - i));
  return k * (degrees * d * (std::log(gamma) - 0.5 * std::numbers::ln2) - log_gamma) -
         0.5 * n * d * std::log(2 * std::numbers::pi);
}

Input read_input(const Json& json) {
  const std::int64_t d = json.at("d"), k = json.at("k");
  const td::Tensor l = d == 1 ? td::zeros({k, 0}, td::DType::f64) : matrix_of(json.at("l"));
  return {
      {vector_of(json.at("alpha")), matrix_of(json.at("mu")), matrix_of(json.at("q")), l},
      matrix_of(json.at("x")),
      triangle(d),
      td::scalar(json.at("gamma").get<double>(), td::DType::f64),
      td::scalar(json.at("m").get<double>(), td::DType::f64),
      constant(static_cast<double>(d), static_cast<double>(k), json.at("n"), json.at("gamma"), json.at("m"))};
}

// But for the constant.
td::Tensor objective(const Parameters& p, const td::Tensor& x, const td::Tensor& places,
                     const td::Tensor& gamma, const td::Tensor& degrees) {
  const std::int64_t k = p.q.shape()[0], d = p.q.shape()[1], n = x.shape()[0];
  const td::Tensor entries = td::concat({td::exp(p.q), p.l, td::zeros({k, 1}, td::DType::f64)}, 1);
  const td::Tensor factors = td::reshape(td::take(entries, places, 1), {k, d, d});
  const td::Tensor centred =
      td::expand_dims(x, 0) - td::expand_dims(p.mu, 1);  // components, points, dimensions
  const td::Tensor whitened = td::matmul(centred, td::swap_axes(factors, 1, 2));
  const td::Tensor log_determinants = td::sum(p.q, {1});
  const td::Tensor terms =
      td::expand_dims(p.alpha + log_determinants, 1) - 0.5 * td::sum(td::square(whitened), {2});
  const td::Tensor likelihood =
      td::sum(td::logsumexp(terms, {0})) - static_cast<double>(n) * td::logsumexp(p.alpha);
  return likelihood + degrees * td::sum(log_determinants) -
         0.5 * gamma * gamma * td::sum(td::square(entries));
}

struct Gradient {
  Rows mu, q, l;
  std::vector<double> alpha;
};

[[maybe_unused]] void to_json(Json& json, const Gradient& g) {
  json = {{"alpha", g.alpha}, {"mu", g.mu}, {"q", g.q}, {"l", g.l}};
}

}  // namespace

int main() {
  const auto value = td::compile(objective);
  const auto slope = td::compile(td::grad(objective));
  const auto evaluate = [=](const Input& in) {
    return value(in.parameters, in.x, in.places, in.gamma, in.degrees).item() + in.constant;
  };
  const auto differentiate = [=](const Input& in) {
    const Parameters g = slope(in.parameters, in.x, in.places, in.gamma, in.degrees);
    return Gradient{rows_of(g.mu), rows_of(g.q), rows_of(g.l), g.alpha.to_vector()};
  };
  return serve("gmm",
               {{"objective", compiled_function(read_input, evaluate)},
                {"jacobian", compiled_function(read_input, differentiate)}},
               tensor_tool);
}
