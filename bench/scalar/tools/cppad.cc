// CppAD: recorded anew for each gradient, and, as a row of its own, recorded once and swept again, which is
// right as long as no branch goes another way.
#include <cppad/cppad.hpp>

#include <memory>

#include "bench/scalar/tools/tools.h"

namespace tidemark::bench {

namespace {

using Active = CppAD::AD<double>;

struct Cppad {
  CppAD::ADFun<double> function;
  bool recorded = false;

  template <class P>
  double run(const P& problem, std::span<const double> inputs, std::span<double> gradient, bool again) {
    const std::vector<double> at(inputs.begin(), inputs.end());
    double value = 0;
    if (again || !recorded) {
      std::vector<Active> x(at.begin(), at.end()), y(1);
      CppAD::Independent(x);
      y[0] = evaluate<Active>(problem, x);
      function.Dependent(x, y);
      recorded = true;
    }
    value = function.Forward(0, at)[0];
    const std::vector<double> slopes = function.Reverse(1, std::vector<double>{1.0});
    std::copy(slopes.begin(), slopes.end(), gradient.begin());
    return value;
  }
};

Tool cppad(std::string name, bool again) {
  return tool(std::move(name), [again](const auto& problem) {
    auto state = std::make_shared<Cppad>();
    return Recorder{
        [=, &problem](std::span<const double> x, std::span<double> g) {
          return state->run(problem, x, g, again);
        },
        // Operations, and a value for each of its variables, without which it cannot be swept back.
        [=] {
          return static_cast<double>(state->function.size_op_seq() +
                                     state->function.size_var() * sizeof(double));
        }};
  });
}

}  // namespace

void add_cppad(std::vector<Tool>& tools) {
  tools.push_back(cppad("CppAD", true));
  tools.push_back(cppad("CppAD, taped once", false));
}

}  // namespace tidemark::bench
