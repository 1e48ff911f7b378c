// GradBench's hello: the square of a number and its derivative.
#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"

using namespace tidemark::bench;

int main() {
  const auto read_input = [](const Json& input) { return std::vector<double>{input.get<double>()}; };
  const auto square = [](auto x) { return x[0] * x[0]; };
  return serve(
      "hello",
      {{"square", protocol_function(read_input, [=](const auto& x) { return primal(square, x); })},
       {"double", protocol_function(read_input, [=](const auto& x) { return gradient(square, x)[0]; })}});
}
