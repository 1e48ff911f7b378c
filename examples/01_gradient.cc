// A gradient, a Hessian-vector product, a Jacobian-vector product: outside compile, operations run at once.
#include <fmt/format.h>
#include <tidemark/tidemark.h>

namespace td = tidemark;

int main() {
  const auto f = [](td::Tensor x) { return td::sum(td::sin(x * x)); };
  const td::Tensor x = td::linspace(0, 1, 5, td::DType::f64);
  const td::Tensor v = td::ones_like(x);

  fmt::print("f(x)       {}\n", td::to_string(f(x)));
  fmt::print("gradient   {}\n", td::to_string(td::grad(f)(x)));
  fmt::print("hessian v  {}\n", td::to_string(td::hvp(f, x, v)));
  const auto [y, dy] = td::jvp(f, x, v);
  fmt::print("along v    {}\n", td::to_string(dy));
  fmt::print("hessian    {}\n", td::to_string(td::sum(td::hessian(f)(x), {1})));
}
