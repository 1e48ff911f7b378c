// GradBench's llsq: a polynomial against the sign function.
#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"
#include "bench/objectives/least_squares.h"

using namespace tidemark::bench;

namespace {

struct Input {
  LeastSquares objective;
  std::vector<double> x;
};

Input read_input(const Json& input) {
  Input in{{count_of(input.at("n"), 1, "n")}, input.at("x")};
  expect(!in.x.empty(), "x is empty");
  return in;
}

}  // namespace

int main() {
  return serve(
      "llsq",
      {{"primal", protocol_function(read_input, [](const Input& in) { return primal(in.objective, in.x); })},
       {"gradient",
        protocol_function(read_input, [](const Input& in) { return gradient(in.objective, in.x); })}});
}
