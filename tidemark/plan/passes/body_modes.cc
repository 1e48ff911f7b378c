#include "tidemark/plan/passes/body_modes.h"

#include <algorithm>
#include <map>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/solve/joint/solve.h"

namespace tidemark {
namespace {

// A task of the joint problem that stands for a node in a mode.
struct ModeOf {
  std::size_t body, mode;
};

}  // namespace

Bodies::Choice modes_within(const Bodies& bodies, const Draft& ordered, std::int64_t allowed,
                            std::int64_t units) {
  RematProblem plain = remat_problem_of(ordered, *ordered.machine);
  plain.budget = allowed;
  JointProblem joint = joint_of(plain);
  std::map<int, ModeOf> mode_of;
  for (std::vector<int>& choice : joint.required) {
    const auto task = static_cast<std::size_t>(choice.front());
    if (task >= ordered.executions.size()) continue;  // what is there throughout
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      if (ordered.executions[task].node != bodies.node(k)) continue;
      const std::vector<Bodies::Mode>& modes = bodies.modes(k);
      for (std::size_t m = 1; m < modes.size(); ++m) {
        JointTask tighter = joint.tasks[task];
        tighter.scratch += modes[m].scratch - modes[0].scratch;
        tighter.cost += modes[m].seconds - modes[0].seconds;
        mode_of[static_cast<int>(joint.tasks.size())] = {k, m};
        choice.push_back(static_cast<int>(joint.tasks.size()));
        joint.tasks.push_back(std::move(tighter));
      }
    }
  }
  const JointResult found = solve_joint(joint, {.units = units, .control = ordered.control});
  // A node has one plan for all of its runs: the tightest that any of them needs.
  Bodies::Choice choice = bodies.free();
  for (const JointEntry& entry : found.schedule) {
    const auto mode = mode_of.find(entry.task);
    if (mode == mode_of.end()) continue;
    std::size_t& chosen = choice[mode->second.body];
    chosen = std::max(chosen, mode->second.mode);
  }
  return choice;
}

}  // namespace tidemark
