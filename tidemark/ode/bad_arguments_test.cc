// odeint under the sweep of odd arguments.
#include "tests/support/sweep.h"

namespace tidemark {
namespace {

class OdeBadArguments : public testing::Sweep {
 protected:
  OdeBadArguments() : Sweep(std::source_location::current()) {}
};

TEST_F(OdeBadArguments, OdeintTakesAnything) {
  using Trees = std::vector<Tensor>;
  const auto decay = [](Tensor, Tensor y) { return -y; };
  sweep("of", [&](Tensor y) { odeint(decay, y, 0, 1, {.max_steps = 50}); });
  sweep("times", [&](double t0, double t1) {
    odeint(decay, ones({2}), t0, t1, {.method = OdeMethod::rk4, .steps = 2});
  });
  sweep("steps", [&](std::int64_t n) {
    odeint(decay, ones({2}), 0, 1, {.method = OdeMethod::euler, .steps = n > 1 ? -n : n});
  });
  sweep("tolerances", [&](double rtol, double atol) {
    odeint(decay, ones({2}), 0, 1, {.rtol = rtol, .atol = atol, .max_steps = 50});
  });
  survives("of nothing", [&] { odeint([](Tensor, Trees y) { return y; }, Trees{}, 0, 1); });
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tidemark
