// GradBench's ba: the errors of all observations and their sparse Jacobian. An observation reads one
// camera, one point and one weight, fifteen numbers, whatever else there is: forward mode in as many
// directions gives its two rows.
#include <algorithm>
#include <array>

#include "bench/gradbench/protocol.h"
#include "bench/objectives/bundle.h"
#include "tidemark/scalar/scalar.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

constexpr std::size_t block = camera_size + 3 + 1;  // what an observation reads

struct Input {
  std::size_t cameras = 0, points = 0, observations = 0;
  std::vector<double> camera_values, point_values, weights, seen;

  std::size_t camera(std::size_t observation) const { return observation % cameras; }
  std::size_t point(std::size_t observation) const { return observation % points; }
};

// One camera, one point, one weight and one observation, all of them repeated.
Input read_input(const Json& json) {
  Input in{count_of(json.at("n"), 1, "n"),
           count_of(json.at("m"), 1, "m"),
           count_of(json.at("p"), 1, "p"),
           {},
           {},
           {},
           {}};
  const std::vector<double> camera = json.at("cam"), point = json.at("x"), seen = json.at("feat");
  expect(camera.size() == camera_size, "cam has not 11 numbers");
  expect(point.size() == 3, "x has not 3 numbers");
  expect(seen.size() == 2, "feat has not 2 numbers");
  const auto repeat = [](std::vector<double>& all, const std::vector<double>& one, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), one.begin(), one.end());
  };
  repeat(in.camera_values, camera, in.cameras);
  repeat(in.point_values, point, in.points);
  repeat(in.seen, seen, in.observations);
  in.weights.assign(in.observations, json.at("w"));
  return in;
}

struct Errors {
  std::vector<double> reprojection, weight;
};

// All observations are alike, so the protocol asks for one of each and how often there are.
[[maybe_unused]] void to_json(Json& json, const Errors& errors) {
  const std::size_t count = errors.weight.size();
  json = {{"reproj_error",
           {{"elements", {errors.reprojection.at(0), errors.reprojection.at(1)}}, {"repeated", count}}},
          {"w_err", {{"element", errors.weight.at(0)}, {"repeated", count}}}};
}

Errors objective(const Input& in) {
  Errors errors{std::vector<double>(2 * in.observations), std::vector<double>(in.observations)};
  for (std::size_t o = 0; o < in.observations; ++o) {
    const auto error = reprojection_error(&in.camera_values[camera_size * in.camera(o)],
                                          &in.point_values[3 * in.point(o)], in.weights[o], &in.seen[2 * o]);
    std::copy(error.begin(), error.end(), &errors.reprojection[2 * o]);
    errors.weight[o] = weight_error(in.weights[o]);
  }
  return errors;
}

// Compressed rows: the entries of row r are those from rows[r] to rows[r + 1]. First two rows for each
// observation, then one for each weight; columns are cameras, points, weights.
struct Jacobian {
  std::vector<std::size_t> rows = {0}, columns;
  std::vector<double> values;
};

// The first two rows' and the last entry.
[[maybe_unused]] void to_json(Json& json, const Jacobian& jacobian) {
  const auto some = [](const auto& all) {
    auto part = all;
    part.resize(std::min(all.size(), 2 * block));
    part.push_back(all.back());
    return part;
  };
  json = {{"rows", some(jacobian.rows)}, {"cols", some(jacobian.columns)}, {"vals", some(jacobian.values)}};
}

Jacobian jacobian(const Input& in) {
  Jacobian result;
  result.rows.reserve(3 * in.observations + 1);
  result.columns.reserve((2 * block + 1) * in.observations);
  result.values.reserve((2 * block + 1) * in.observations);
  const std::size_t first_point = camera_size * in.cameras, first_weight = first_point + 3 * in.points;
  using Dual = td::Dual<block>;
  std::array<Dual, block> x;
  for (std::size_t o = 0; o < in.observations; ++o) {
    const double* camera = &in.camera_values[camera_size * in.camera(o)];
    const double* point = &in.point_values[3 * in.point(o)];
    int direction = 0;
    for (std::size_t i = 0; i < camera_size; ++i) x[i] = Dual::variable(camera[i], direction++);
    for (std::size_t i = 0; i < 3; ++i) x[camera_size + i] = Dual::variable(point[i], direction++);
    x.back() = Dual::variable(in.weights[o], direction);
    const auto error = reprojection_error(x.data(), x.data() + camera_size, x.back(), &in.seen[2 * o]);
    for (const Dual& each : error) {
      for (std::size_t i = 0; i < camera_size; ++i) result.columns.push_back(camera_size * in.camera(o) + i);
      for (std::size_t i = 0; i < 3; ++i) result.columns.push_back(first_point + 3 * in.point(o) + i);
      result.columns.push_back(first_weight + o);
      for (std::size_t i = 0; i < block; ++i) result.values.push_back(each.slope(static_cast<int>(i)));
      result.rows.push_back(result.columns.size());
    }
  }
  for (std::size_t o = 0; o < in.observations; ++o) {
    result.columns.push_back(first_weight + o);
    result.values.push_back(weight_error(td::Dual<1>::variable(in.weights[o])).slope());
    result.rows.push_back(result.columns.size());
  }
  return result;
}

}  // namespace

int main() {
  return serve("ba", {{"objective", protocol_function(read_input, objective)},
                      {"jacobian", protocol_function(read_input, jacobian)}});
}
