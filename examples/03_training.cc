// Training with state that is updated in place: the parameters are donated, so they are counted once.
#include <fmt/format.h>
#include <tidemark/tidemark.h>

namespace td = tidemark;

struct Line {
  td::Tensor slope, offset;
  TM_FIELDS(Line, slope, offset)
};

td::Tensor loss(const Line& line, td::Tensor x, td::Tensor y) {
  return td::mean(td::square(line.slope * x + line.offset - y));
}

std::pair<Line, td::Tensor> train(const Line& line, td::Tensor x, td::Tensor y) {
  const auto [value, gradient] = td::value_and_grad(loss)(line, x, y);
  return {td::map_tree([](const td::Tensor& w, const td::Tensor& g) { return w - g * 0.2; }, line, gradient),
          value};
}

int main() {
  const td::Tensor x = td::linspace(-1, 1, 1000);
  const td::Tensor y = 3 * x - 0.5;
  Line line{td::scalar(0), td::scalar(0)};
  const auto step = td::compile(train, {.donate = {0}});
  for (int i = 0; i < 100; ++i) {
    auto [next, value] = step(line, x, y);
    line = next;
    if (i % 25 == 24) fmt::print("step {:3}  loss {:.2e}\n", i + 1, value.item());
  }
  fmt::print("slope {:.3f}  offset {:.3f}\n", line.slope.item(), line.offset.item());
}
