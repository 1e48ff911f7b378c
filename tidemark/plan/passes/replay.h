// Executions that follow from dropped values: whoever reads one has it computed again right before, with what
// that needs in turn. One walk along the given order; what is there and what is gone is simulated.
#pragma once
#include "tidemark/plan/passes/hint_decisions.h"

namespace tidemark {

struct Replayed {
  std::vector<Execution> executions;
  std::vector<double> seconds;  // of added runs, per report
  std::vector<int> runs;        // added, per report
  std::vector<std::string> once =
      {};                // nodes that could not run again where they would have to; then try again
  bool complete = true;  // false: `once` has grown
};

Replayed replay(const Draft& draft, const HintDecisions& decisions);

}  // namespace tidemark
