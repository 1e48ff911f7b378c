// Random joint problems: random recomputation problems with ways to other memories, codecs and modes. The
// same seed gives the same problem.
#pragma once
#include "tests/support/random_problems.h"
#include "tidemark/solve/joint/problem.h"

namespace tidemark::fake {

struct JointShape {
  int tasks = 12;
  int transfers = 4, codecs = 2, modes = 2;  // how many items or tasks get one
  bool plain = false;                        // tasks as random_problem's
};

inline JointProblem random_joint(unsigned seed, const JointShape& shape) {
  std::mt19937 random(seed * 104729 + 7);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  JointProblem joint = joint_of(random_problem(seed, shape.tasks, shape.plain));
  const int items = static_cast<int>(joint.items.size());
  if (shape.transfers > 0) {
    joint.budgets.push_back(draw(2) ? no_budget : 10 + draw(40));
    joint.lanes = 2 + draw(2);
  }
  for (int k = 0; k < shape.transfers; ++k) {
    const int out = 1, in = joint.lanes - 1;
    add_transfer(joint, draw(items),
                 {.out_lane = out, .in_lane = in, .out_cost = 1.0 + draw(8), .in_cost = 1.0 + draw(8)});
  }
  for (int k = 0; k < shape.codecs; ++k) {
    const int item = draw(static_cast<int>(joint.items.size()));
    const std::int64_t bytes = joint.items[static_cast<std::size_t>(item)].bytes;
    add_codec(joint, item, 1 + bytes / 3, 0.5 + draw(3), 0.5 + draw(3), joint.lanes > 1 ? draw(2) : 0);
  }
  for (int k = 0; k < shape.modes; ++k) {
    auto& choice = joint.required[random() % joint.required.size()];
    JointTask mode = joint.tasks[static_cast<std::size_t>(choice.front())];
    mode.cost += 1 + draw(6);
    mode.scratch = mode.scratch / 2;
    joint.tasks[static_cast<std::size_t>(choice.front())].scratch += 6 + draw(10);
    choice.push_back(static_cast<int>(joint.tasks.size()));
    joint.tasks.push_back(std::move(mode));
  }
  const JointFigures free = judge(joint, plain_schedule(joint));
  joint.budgets[0] = free.peaks[0] * (60 + draw(38)) / 100;
  return joint;
}

}  // namespace tidemark::fake
