// GradBench's ht: the errors of a posed hand and their Jacobian by the pose. Where each point also has two
// coordinates in its triangle, these stand first: a row reads its own point's two alone, so that two columns
// hold those of all points.
#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"
#include "bench/objectives/hand.h"

using namespace tidemark::bench;
using tidemark::Real;
using tidemark::Tape;

namespace {

struct Input {
  Hand hand;
  std::vector<double> theta, places;
};

template <std::size_t N>
std::vector<std::array<double, N>> fixed(const Json& json) {
  return json.get<std::vector<std::array<double, N>>>();
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
  return in;
}

std::vector<double> objective(const Input& in) {
  return in.hand(std::span<const double>(in.theta), std::span<const double>(in.places));
}

Rows jacobian(const Input& in) {
  Tape& tape = kept_tape();
  tape.clear();
  const auto active = tape.activate();
  const std::vector<Real> theta = tape.inputs(in.theta), places = tape.inputs(in.places);
  const std::vector<Real> errors = in.hand(std::span<const Real>(theta), std::span<const Real>(places));
  Rows rows(errors.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    tape.reverse(errors[r]);
    if (!places.empty()) rows[r] = tape.gradient(std::span(places).subspan(r / 3 * 2, 2));
    const std::vector<double> slopes = tape.gradient(theta);
    rows[r].insert(rows[r].end(), slopes.begin(), slopes.end());
  }
  return rows;
}

}  // namespace

int main() {
  return serve("ht", {{"objective", protocol_function(read_input, objective)},
                      {"jacobian", protocol_function(read_input, jacobian)}});
}
