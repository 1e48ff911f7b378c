// GradBench's lse with tensors.
#include "bench/gradbench/tensors/support.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

td::Tensor objective(const td::Tensor& x) {
  const td::Tensor greatest = td::max(x);
  return greatest + td::log(td::sum(td::exp(x - greatest)));
}

}  // namespace

int main() {
  const auto read_input = [](const Json& json) { return vector_of(json.at("x")); };
  const auto value = td::compile(objective);
  const auto slope = td::compile(td::grad(objective));
  return serve(
      "lse",
      {{"primal", compiled_function(read_input, [=](const td::Tensor& x) { return value(x).item(); })},
       {"gradient",
        compiled_function(read_input, [=](const td::Tensor& x) { return slope(x).to_vector(); })}},
      tensor_tool);
}
