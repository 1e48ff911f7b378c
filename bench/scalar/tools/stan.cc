// Stan Math's reverse mode: nodes in an arena that is kept from one gradient to the next. It says how large
// its blocks are, not how full.
#include <stan/math/rev/core.hpp>
#include <stan/math/rev/scal.hpp>

#include "bench/scalar/tools/tools.h"

namespace tidemark::bench {

void add_stan(std::vector<Tool>& tools) {
  tools.push_back(tool("Stan Math", [](const auto& problem) {
    using Active = stan::math::var;
    return Recorder{[&problem](std::span<const double> inputs, std::span<double> gradient) {
                      std::vector<Active> x(inputs.begin(), inputs.end());
                      Active y = evaluate<Active>(problem, x);
                      y.grad();
                      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i].adj();
                      const double value = y.val();
                      stan::math::recover_memory();
                      return value;
                    },
                    {}};
  }));
}

}  // namespace tidemark::bench
