// Stan Math's reverse mode: nodes in an arena that is kept from one gradient to the next.
#include <stan/math/rev/core.hpp>
#include <stan/math/rev/scal.hpp>

#include <memory>

#include "bench/scalar/tools/tools.h"

namespace tidemark::bench {

void add_stan(std::vector<Tool>& tools) {
  tools.push_back(tool("Stan Math", [](const auto& problem) {
    using Active = stan::math::var;
    auto bytes = std::make_shared<double>(0);
    return Recorder{[bytes, &problem](std::span<const double> inputs, std::span<double> gradient) {
                      std::vector<Active> x(inputs.begin(), inputs.end());
                      Active y = evaluate<Active>(problem, x);
                      y.grad();
                      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i].adj();
                      const double value = y.val();
                      const auto& stack =
                          *stan::math::ChainableStack::instance_;  // nodes, and the list of them
                      *bytes = static_cast<double>(stack.memalloc_.bytes_allocated() +
                                                   stack.var_stack_.size() * sizeof(void*));
                      stan::math::recover_memory();
                      return value;
                    },
                    [bytes] { return *bytes; }};
  }));
}

}  // namespace tidemark::bench
