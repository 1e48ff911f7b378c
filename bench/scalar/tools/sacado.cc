// Sacado's reverse mode (Rad). It does not say how many bytes its nodes take.
#include <Sacado_trad.hpp>

#include "bench/scalar/tools/tools.h"

namespace tidemark::bench {

void add_sacado(std::vector<Tool>& tools) {
  tools.push_back(tool("Sacado Rad", [](const auto& problem) {
    using Active = Sacado::Rad::ADvar<double>;
    return Recorder{[&problem](std::span<const double> inputs, std::span<double> gradient) {
                      std::vector<Active> x(inputs.begin(), inputs.end());
                      const Active y = evaluate<Active>(problem, x);
                      Active::Gradcomp();
                      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i].adj();
                      return y.val();
                    },
                    {}};
  }));
}

}  // namespace tidemark::bench
