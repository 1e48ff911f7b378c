// What would let a function fit a budget that no plan of it meets: changes of the call or of the options, in
// the user's words, each found by planning it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/traced_function.h"

namespace tidemark {

struct Unplannable {
  const TracedFunction& function;
  std::span<const Type> types;  // of its arguments' tensors
  const Graph& traced;          // for these, before optimisation
  const CompileOptions& options;
  SearchControl* control = nullptr;
  double seconds = 0;  // if there were memory for everything
  SourceLine where = {};
};

// The most welcome first.
std::vector<std::string> changes_for(const Unplannable& call);

}  // namespace tidemark
