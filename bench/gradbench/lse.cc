// GradBench's lse: the logarithm of a sum of exponentials.
#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"
#include "bench/objectives/scalar_functions.h"

using namespace tidemark::bench;

int main() {
  const auto read_input = [](const Json& input) {
    const std::vector<double> x = input.at("x");
    expect(!x.empty(), "x is empty");
    return x;
  };
  const auto f = [](auto x) { return log_sum_exp(x); };
  return serve("lse",
               {{"primal", protocol_function(read_input, [=](const auto& x) { return primal(f, x); })},
                {"gradient", protocol_function(read_input, [=](const auto& x) { return gradient(f, x); })}});
}
