// A joint problem as the timelines of the searches see it: entries become tasks, and each memory has a model
// of its own in which only its items are. A task of another lane becomes two, the second of which reads what
// both sides hold, so that it stays in memory until then.
#pragma once
#include <vector>

#include "tidemark/solve/at.h"
#include "tidemark/solve/joint/problem.h"

namespace tidemark {

struct Lowered {
  explicit Lowered(const JointProblem& problem);

  const JointProblem* problem;
  std::vector<JointEntry> entry;         // per lowered task
  std::vector<int> first;                // per task: its lowered task, that of its begin
  std::vector<int> choice;               // per task: that it is in; -1: optional
  std::vector<std::vector<int>> makers;  // per item: tasks
  std::vector<RematProblem> memory;      // per memory

  int end_of(int task) const { return first[at(task)] + 1; }
  bool is_async(int task) const { return problem->tasks[at(task)].lane != 0; }
  Sequence lower(const JointSchedule& schedule) const;
};

}  // namespace tidemark
