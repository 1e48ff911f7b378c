// What waits for the backward pass of a long loop, as numbers of few bits and as differences to the step
// before in as many: bytes, the gradient's error, and time, each as a share of the exact gradient's in the
// same run. Values of neighbouring steps are close in the equations and in the slow network; in the one of
// fast states they are not.
//   loop_deltas [steps of the equations] [cells]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "tidemark/base/stopwatch.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

using AskedForm = std::optional<Form>;
Tensor asked(const Tensor& x, const AskedForm& form) { return form ? compress(x, *form) : x; }

Tensor second_difference(const Tensor& u) {
  const std::int64_t n = u.shape()[0];
  return pad(u.at(Range{2, n}) - 2 * u.at(Range{1, n - 1}) + u.at(Range{0, n - 2}), {1}, {1});
}
Tensor bump(std::int64_t cells) {
  const Tensor at =
      (arange(cells, DType::f32) - 0.4 * static_cast<double>(cells)) / (0.05 * static_cast<double>(cells));
  return exp(-0.5 * square(at));
}

// A loss of parameters, with the form in which a value of each step waits.
struct Problem {
  const char* name;
  Tensor parameters;
  std::function<Tensor(const Tensor&, const AskedForm&)> loss;
};

std::vector<Problem> problems(std::int64_t steps, std::int64_t cells) {
  std::vector<Problem> list;
  list.push_back({"heat, that is lost", full({cells}, 0.3), [=](const Tensor& rate, const AskedForm& form) {
                    const auto step = [&](Tensor u) {
                      u = asked(u, form);
                      return u + 0.25 * second_difference(u) - 0.01 * rate * u;
                    };
                    return mean(square(repeat(steps, step, bump(cells))));
                  }});
  list.push_back({"wave, in a medium", full({cells}, 0.4), [=](const Tensor& speed, const AskedForm& form) {
                    const auto step = [&](const std::vector<Tensor>& state) {
                      const Tensor bent = asked(second_difference(state[1]), form);
                      const Tensor next = 2 * state[1] - state[0] + square(speed) * bent;
                      return std::vector{state[1], next};
                    };
                    const Tensor start = bump(cells);
                    return mean(square(repeat(steps, step, std::vector{start, start})[1] - 0.1));
                  }});
  const auto network = [](double kept, double pace) {
    return [=](const Tensor& w, const AskedForm& form) {
      const std::int64_t length = 256;
      const Tensor phase = reshape(arange(length, DType::f32), {length, 1, 1}) * pace;
      const Tensor xs = sin(phase + 3 * random_normal(key(3), {1, 64, 128}));
      const auto body = [&](Tensor h, Tensor x) {
        const Tensor z = asked(tanh(matmul(h, w) + x), form);
        return kept * h + (1 - kept) * z;
      };
      return mean(square(scan(body, zeros({64, 128}), xs)));
    };
  };
  const Tensor w = random_normal(key(1), {128, 128}, 0, 0.08);
  list.push_back({"network of slow states", w, network(0.95, 0.02)});
  list.push_back({"network of fast states", w, network(0.1, 2.0)});
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 1000,
                     cells = argc > 2 ? std::atoll(argv[2]) : 16384;
  const AskedForm forms[] = {
      {}, codec::int8, codec::delta(codec::int8), codec::int4, codec::delta(codec::int4)};
  fmt::print("{:26}{:14}{:>12}{:>10}{:>15}{:>18}{:>8}\n", "", "form", "peak", "of exact", "value's error",
             "gradient's error", "time");
  for (const Problem& problem : problems(steps, cells)) {
    std::int64_t peak = 0;
    double seconds = 0;
    for (const AskedForm& form : forms) {
      const auto step = compile(grad([&](Tensor p) { return problem.loss(p, form); }));
      (void)step(problem.parameters);
      double best = 1e30;
      for (int i = 0; i < 5; ++i)
        best = std::min(best, seconds_taken([&] { (void)step(problem.parameters); }));
      const std::int64_t bytes = step.plan().peak().count;
      if (!form) peak = bytes, seconds = best;
      const GradientError error = step.gradient_error(problem.parameters);
      const double measured = error.values.empty() ? 0 : error.values[0].measured.value_or(0);
      fmt::print("{:26}{:14}{:>12}{:>9.0f}%{:>15.1e}{:>18.1e}{:>8.2f}\n", problem.name,
                 form ? name_of(*form) : "exact", to_string(Bytes(bytes)),
                 100.0 * static_cast<double>(bytes) / static_cast<double>(peak), measured, error.largest,
                 best / seconds);
    }
  }
}
