// GradBench's ode: Runge-Kutta steps, of whose result the last element is differentiated.
#include "bench/objectives/ode.h"

#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"

using namespace tidemark::bench;

namespace {

struct Input {
  OdeSolution solution;
  std::vector<double> x;
};

Input read_input(const Json& input) {
  Input in{{count_of(input.at("s"), 1, "s")}, input.at("x")};
  expect(!in.x.empty(), "x is empty");
  return in;
}

std::vector<double> all(const Input& in) { return in.solution.all(std::span<const double>(in.x)); }

}  // namespace

int main() {
  return serve("ode", {{"primal", protocol_function(read_input, all)},
                       {"gradient", protocol_function(read_input, [](const Input& in) {
                          return gradient(in.solution, in.x);
                        })}});
}
