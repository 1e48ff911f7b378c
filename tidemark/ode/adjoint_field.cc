#include "tidemark/ode/adjoint_field.h"

#include "tidemark/autodiff/transforms.h"

namespace tidemark::ode {
namespace {

struct Arguments {
  List y, parameters;
  TM_FIELDS(Arguments, y, parameters)
};

}  // namespace

Pulled pulled(const ParameterField& f, const Tensor& t, const List& y, const List& parameters,
              const List& seed) {
  const auto slope = [&](const Arguments& x) { return f(t, x.y, x.parameters); };
  const auto [value, pullback] = vjp(slope, Arguments{y, parameters});
  const auto [by_y, by_parameters] = pullback(seed);
  return {value, by_y, by_parameters};
}

ParameterField with_adjoints(const ParameterField& f, std::size_t count) {
  return [&f, count](const Tensor& t, const List& all, const List& parameters) {
    const Pulled at = pulled(f, t, part(all, 0, count), parameters, part(all, count, count));
    const List by_y = scaled(at.by_y, -1), by_p = scaled(at.by_parameters, -1);
    return joined({&at.slope, &by_y, &by_p});
  };
}

}  // namespace tidemark::ode
