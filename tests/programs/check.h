// What every program must keep, whatever it is: the same bits at once and compiled, whatever pass is switched
// off, at every budget down to the smallest, on any number of threads, with inputs donated or not;
// derivatives forward and backward that agree; and no error of the library's own.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/programs/random_function.h"
#include "tests/programs/trials.h"

namespace tidemark::testing {

enum class Part {
  eager,     // the function as it runs at once, against its trace
  forward,   // its graph
  gradient,  // its graph with a loss in front of the outputs, and the gradients of that
};
std::string_view name_of(Part part);

// Of one graph in one way, as Trials say it; the second of the gradients of its first output.
std::string difference(const GraphCase& program, const Variation& variation);
std::string gradient_difference(const GraphCase& program, const Variation& variation);

struct Finding {
  Part part = Part::eager;
  Variation variation;
  std::string what;      // "" : nothing was found
  bool refused = false;  // the program itself is an error of the caller's
  explicit operator bool() const { return !what.empty(); }
};

// How much is tried of each program: variations are spread over seeds.
struct Thoroughness {
  int skips = 1;         // passes switched off, of each graph
  int budget_every = 5;  // of so many programs one is run at all budgets
};

// The function's graph; for gradients with a loss in front. Throws what the library throws.
GraphCase graph_of(const RandomFunction& function, Part part);
std::string eager_difference(const RandomFunction& function);

// `at` hears of every variation before it runs, and of how it ended.
Finding check(
    std::uint64_t seed, const Thoroughness& thoroughness, const std::set<int>& left_out = {},
    const std::function<void(const Finding&)>& at = [](const Finding&) {});

}  // namespace tidemark::testing
