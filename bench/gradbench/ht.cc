// GradBench's ht: the errors of a posed hand and their Jacobian by the pose. Where each point also has two
// coordinates in its triangle, these stand first: a row reads its own point's two alone, so that two columns
// hold those of all points.
#include <stdexcept>

#include "bench/gradbench/protocol.h"
#include "bench/objectives/hand.h"
#include "tidemark/scalar/scalar.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

constexpr std::size_t pose_size = 26;

struct Input {
  Hand hand;
  std::vector<double> theta, places;
};

template <std::size_t N>
std::vector<std::array<double, N>> fixed(const Json& json) {
  return json.get<std::vector<std::array<double, N>>>();
}

// That no index leads outside.
void check(const Input& in) {
  const Hand& hand = in.hand;
  const std::size_t bones = hand.parents.size(), vertices = hand.vertices.size();
  expect(hand.relatives.size() == bones && hand.inverse_absolutes.size() == bones,
         "a bone without a matrix, or a matrix without a bone");
  for (std::size_t b = 0; b < bones; ++b)
    expect(hand.parents[b] < static_cast<int>(b), "a bone comes before its parent");
  expect_shape(hand.weights, vertices, bones, "weights");
  for (const auto& triangle : hand.triangles)
    for (const int corner : triangle)
      expect(corner >= 0 && static_cast<std::size_t>(corner) < vertices, "a triangle's corner is no vertex");
  expect(in.places.empty() || in.places.size() == 2 * hand.points.size(),
         "us has not two numbers for each point");
  expect(hand.correspondences.size() == hand.points.size(), "correspondences are not as many as points");
  const std::size_t targets = in.places.empty() ? vertices : hand.triangles.size();
  for (const int at : hand.correspondences)
    expect(at >= 0 && static_cast<std::size_t>(at) < targets,
           "a correspondence leads to no vertex or triangle");
}

Input read_input(const Json& json) {
  const Json &data = json.at("data"), &model = data.at("model");
  Input in;
  in.theta = json.at("theta").get<std::vector<double>>();
  for (const Json& place : json.at("us")) {  // pairs, or all numbers in one row
    if (place.is_array()) {
      in.places.insert(in.places.end(), {place.at(0), place.at(1)});
    } else {
      in.places.push_back(place);
    }
  }
  in.hand = {.parents = model.at("parents"),
             .relatives = model.at("base_relatives").get<std::vector<Matrix<double, 4, 4>>>(),
             .inverse_absolutes = model.at("inverse_base_absolutes").get<std::vector<Matrix<double, 4, 4>>>(),
             .vertices = fixed<4>(model.at("base_positions")),
             .weights = model.at("weights"),
             .triangles = model.at("triangles").get<std::vector<std::array<int, 3>>>(),
             .mirrored = model.at("is_mirrored"),
             .correspondences = data.at("correspondences"),
             .points = fixed<3>(data.at("points"))};
  if (in.theta.size() != pose_size) throw std::runtime_error("theta has not 26 numbers");
  check(in);
  return in;
}

std::vector<double> objective(const Input& in) {
  return in.hand(std::span<const double>(in.theta), std::span<const double>(in.places));
}

// Forward mode: errors are many, directions few, whatever the number of points.
template <int N>
Rows slopes(const Input& in) {
  using Dual = td::Dual<N>;
  constexpr std::size_t first = N - pose_size;  // of the pose's directions
  std::vector<Dual> theta, places;
  for (std::size_t i = 0; i < pose_size; ++i) {
    theta.push_back(Dual::variable(in.theta[i], static_cast<int>(first + i)));
  }
  for (std::size_t i = 0; i < in.places.size(); ++i) {
    places.push_back(Dual::variable(in.places[i], static_cast<int>(i % 2)));
  }
  const std::vector<Dual> errors = in.hand(std::span<const Dual>(theta), std::span<const Dual>(places));
  Rows rows(errors.size(), std::vector<double>(N));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int i = 0; i < N; ++i) rows[r][static_cast<std::size_t>(i)] = errors[r].slope(i);
  }
  return rows;
}

Rows jacobian(const Input& in) {
  return in.places.empty() ? slopes<pose_size>(in) : slopes<pose_size + 2>(in);
}

}  // namespace

int main() {
  return serve("ht", {{"objective", protocol_function(read_input, objective)},
                      {"jacobian", protocol_function(read_input, jacobian)}});
}
