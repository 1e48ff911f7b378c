// GradBench's det: a determinant by expansion along rows.
#include <stdexcept>

#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"
#include "bench/objectives/determinant.h"

using namespace tidemark::bench;

namespace {

struct Input {
  Determinant objective;
  std::vector<double> a;
};

Input read_input(const Json& input) {
  Input in{{count_of(input.at("ell"), 1, "ell")}, input.at("A")};
  if (in.a.size() != in.objective.rows * in.objective.rows)
    throw std::runtime_error("A has not ell * ell entries");
  return in;
}

}  // namespace

int main() {
  return serve(
      "det",
      {{"primal", protocol_function(read_input, [](const Input& in) { return primal(in.objective, in.a); })},
       {"gradient",
        protocol_function(read_input, [](const Input& in) { return gradient(in.objective, in.a); })}});
}
