// Plans from files (CompileOptions::plans): a call whose traced graph one of them is of runs by it, and
// nothing is searched for. What the file says is believed as little as possible: the graph is made from what
// was traced, by the decisions that the file records, and the plan is verified against it.
#pragma once
#include <string>
#include <vector>

#include "tidemark/engine/plan_function.h"
#include "tidemark/plan/report/plan_origin.h"

namespace tidemark {

// 16 digits that tell programs apart: structure, types, attributes, what is donated; not names, lines and
// hints. The same in every process and on every machine.
std::string fingerprint_of(const Graph& graph);

// Of a plan that was made of `traced`, to be written down with it.
PlanOrigin origin_of(const Graph& traced, const PlannedFunction& planned);

class SavedPlans {
 public:
  SavedPlans() = default;
  // Throws Error at `where` for a file that cannot be read, is no plan, or does not say what it is a plan of.
  SavedPlans(const std::vector<std::string>& paths, SourceLine where);

  bool empty() const { return files_.empty(); }

  // As plan_function, from the files: of those that are plans of `traced` and within the budget, the fastest.
  // Throws Error at `where`: bad_plan_file where there is no plan of this graph, or it is not right for it;
  // infeasible_budget where it takes more than there is, bad_plan_option where it needs what the options do
  // not give.
  PlannedFunction planned(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                          SourceLine where) const;

 private:
  struct File {
    std::string path;
    Plan plan;
    PlanOrigin origin;
  };
  static PlannedFunction made_from(const File& file, const TracedFunction& function, const Graph& traced,
                                   const CompileOptions& options, SourceLine where);

  std::vector<File> files_;
};

}  // namespace tidemark
