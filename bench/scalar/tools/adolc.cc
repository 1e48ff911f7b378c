// ADOL-C: recorded anew for each gradient, with values kept for the reverse sweep, in buffers that hold the
// whole tape, since else it goes through files.
#include <adolc/adolc.h>

#include <memory>

#include "bench/scalar/tools/tools.h"

namespace tidemark::bench {

namespace {

struct Adolc {
  short tag = 1;
  double bytes = 0;

  template <class P>
  double run(const P& problem, std::span<const double> inputs, std::span<double> gradient) {
    constexpr unsigned int entries = 1u << 30;  // of each buffer, which is touched as far as it is used
    trace_on(tag, 1, entries, entries, entries, entries);
    std::vector<adouble> x(inputs.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] <<= inputs[i];
    double value = 0;
    {
      adouble y = evaluate<adouble>(problem, x);
      y >>= value;
    }
    trace_off();
    double weight = 1;
    ::reverse(tag, 1, static_cast<int>(x.size()), 0, &weight, gradient.data());
    return value;
  }

  double tape_bytes() const {
    std::size_t counts[STAT_SIZE];
    ::tapestats(tag, counts);
    return static_cast<double>(counts[NUM_OPERATIONS] + counts[NUM_LOCATIONS] * sizeof(locint) +
                               counts[NUM_VALUES] * sizeof(double) + counts[TAY_STACK_SIZE] * sizeof(double));
  }
};

}  // namespace

void add_adolc(std::vector<Tool>& tools) {
  tools.push_back(tool("ADOL-C", [](const auto& problem) {
    auto adolc = std::make_shared<Adolc>();
    return Recorder{
        [=, &problem](std::span<const double> x, std::span<double> g) { return adolc->run(problem, x, g); },
        [=] { return adolc->tape_bytes(); }};
  }));
}

}  // namespace tidemark::bench
