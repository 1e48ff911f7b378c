// A gradient, a compiled function and a file through the façade; ends with 0 when the installed archive gets
// them right.
#include <tidemark/tidemark.h>

#include <cstdio>

int main() {
  namespace td = tidemark;
  const auto f = [](td::Tensor x) { return td::sum(x * x * x); };
  const td::Tensor x = td::tensor({1.0, 2.0, 3.0});
  const auto step = td::compile(td::value_and_grad(f));
  const auto [value, slope] = step(x);
  std::printf("value %g, slope at 3 %g, peak %s\n", value.item(), slope.to_vector()[2],
              td::to_string(step.plan().peak()).c_str());
  const bool right =
      value.item() == 36 && slope.to_vector() == td::grad(f)(x).to_vector() && slope.to_vector()[2] == 27;
  td::save("consumer.npz", std::pair(x, slope));
  std::pair<td::Tensor, td::Tensor> back;
  td::load("consumer.npz", back);
  return right && back.second.to_vector() == slope.to_vector() ? 0 : 1;
}
