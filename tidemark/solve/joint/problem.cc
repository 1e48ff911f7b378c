#include "tidemark/solve/joint/problem.h"

#include <algorithm>

#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

std::vector<int> choices_of_tasks(const JointProblem& problem) {
  std::vector<int> choice(problem.tasks.size(), -1);
  for (std::size_t c = 0; c < problem.required.size(); ++c) {
    for (int t : problem.required[c]) choice[at(t)] = static_cast<int>(c);
  }
  return choice;
}

// Every pair of a way there and back is two optional tasks.
void add_pair(JointProblem& problem, int item, int other, JointTask out, JointTask in) {
  out.uses = in.makes = {item};
  out.makes = in.uses = {other};
  problem.tasks.push_back(std::move(out));
  problem.tasks.push_back(std::move(in));
}

}  // namespace

bool JointFigures::fits(const JointProblem& problem) const {
  if (!error.empty()) return false;
  for (std::size_t m = 0; m < peaks.size(); ++m) {
    if (peaks[m] > problem.budgets[m]) return false;
  }
  return true;
}

JointSchedule plain_schedule(const JointProblem& problem) {
  if (!problem.start.empty()) return problem.start;
  JointSchedule schedule;
  for (const std::vector<int>& choice : problem.required) schedule.push_back({choice.front()});
  return schedule;
}

JointProblem joint_of(const RematProblem& problem) {
  const OrderModel& model = problem.model;
  JointProblem joint;
  joint.budgets = {problem.budget};
  for (int t = 0; t < model.tasks; ++t) {
    joint.tasks.push_back({.cost = problem.cost[at(t)],
                           .uses = {model.uses[t].begin(), model.uses[t].end()},
                           .makes = {model.makes[t].begin(), model.makes[t].end()},
                           .scratch = model.scratch[at(t)],
                           .reuses = model.reuses[at(t)],
                           .repeatable = problem.repeatable[at(t)],
                           .closed_by = {problem.closed_by[t].begin(), problem.closed_by[t].end()}});
    joint.required.push_back({t});
  }
  for (int i = 0; i < model.items; ++i) {
    joint.items.push_back({.bytes = model.size[at(i)], .pinned = model.pinned[at(i)]});
  }
  // What is there throughout is made before everything and never read.
  if (model.base > 0) {
    joint.items.push_back({.bytes = model.base, .pinned = true});
    joint.tasks.push_back({.makes = {model.items}, .repeatable = false});
    joint.required.insert(joint.required.begin(), {model.tasks});
    for (JointTask& task : joint.tasks) {
      for (int& closer : task.closed_by) ++closer;
    }
  }
  return joint;
}

RematProblem plain_part(const JointProblem& problem) {
  OrderParts parts;
  for (const JointItem& item : problem.items) {
    parts.size.push_back(item.memory == 0 ? item.bytes : 0);
    parts.pinned.push_back(item.pinned);
    parts.present.push_back(false);
  }
  std::vector<int> maker(problem.items.size(), -1);
  RematProblem plain;
  std::vector<std::vector<int>> closed_by;
  for (std::size_t c = 0; c < problem.required.size(); ++c) {
    const JointTask& task = problem.tasks[at(problem.required[c].front())];
    parts.uses.push_back(task.uses);
    parts.makes.push_back(task.makes);
    parts.scratch.push_back(task.scratch);
    parts.reuses.push_back(task.reuses);
    auto& before = parts.before.emplace_back();
    for (int i : task.uses) {
      if (maker[at(i)] >= 0) before.push_back(maker[at(i)]);
    }
    for (int i : task.makes) maker[at(i)] = static_cast<int>(c);
    plain.cost.push_back(task.cost);
    plain.repeatable.push_back(task.repeatable);
    closed_by.push_back(task.closed_by);
  }
  plain.model = make_model(std::move(parts));
  plain.closed_by = IntLists(closed_by);
  plain.budget = problem.budgets[0];
  plain.fixed_order = true;
  return plain;
}

bool is_plain(const JointProblem& problem) {
  return problem.tasks.size() == problem.required.size() && problem.memories() == 1 && problem.lanes == 1;
}

int add_transfer(JointProblem& problem, int item, const TransferWay& way) {
  const int away = static_cast<int>(problem.items.size());
  problem.items.push_back({.bytes = problem.items[at(item)].bytes, .memory = way.memory});
  add_pair(problem, item, away, {.cost = way.out_cost, .lane = way.out_lane},
           {.cost = way.in_cost, .lane = way.in_lane});
  return away;
}

int add_codec(JointProblem& problem, int item, std::int64_t bytes, double encode_cost, double decode_cost,
              int lane) {
  const int coded = static_cast<int>(problem.items.size());
  problem.items.push_back({.bytes = bytes, .memory = problem.items[at(item)].memory});
  add_pair(problem, item, coded, {.cost = encode_cost, .lane = lane}, {.cost = decode_cost, .lane = lane});
  return coded;
}

JointFigures judge(const JointProblem& problem, const JointSchedule& schedule) {
  JointFigures figures;
  figures.peaks.assign(problem.memories(), 0);
  const auto wrong = [&](std::size_t place, std::string_view what) {
    figures.error = "entry " + std::to_string(place) + ": " + std::string(what);
    return figures;
  };
  const std::size_t length = schedule.size();
  const std::vector<int> choice = choices_of_tasks(problem);

  // Forwards: who may run, who waits for whom.
  std::vector<bool> ran(problem.tasks.size(), false), chosen(problem.required.size(), false);
  std::vector<bool> under_way(problem.tasks.size(), false), readable(problem.items.size(), false);
  std::vector<double> ends(problem.tasks.size(), 0), lane_free(at(problem.lanes), 0);
  std::vector<int> moving_now;  // tasks that are under way
  std::size_t next_choice = 0;
  double now = 0;
  for (std::size_t p = 0; p < length; ++p) {
    const auto [t, part] = schedule[p];
    if (t < 0 || at(t) >= problem.tasks.size()) return wrong(p, "no such task");
    const JointTask& task = problem.tasks[at(t)];
    if ((task.lane == 0) != (part == Part::whole)) return wrong(p, "begin and end are for other lanes");
    if (part == Part::end) {
      if (!under_way[at(t)]) return wrong(p, "an end without a begin");
      under_way[at(t)] = false;
      std::erase(moving_now, t);
      for (int i : task.makes) readable[at(i)] = true;
      figures.stalled += std::max(0.0, ends[at(t)] - now);
      now = std::max(now, ends[at(t)]);
      continue;
    }
    if (under_way[at(t)]) return wrong(p, "a task that is under way begins");
    if (ran[at(t)] && !task.repeatable) return wrong(p, "a task that may run once runs again");
    ran[at(t)] = true;
    for (int c : task.closed_by) {
      if (chosen[at(c)]) return wrong(p, "a task runs that is closed");
    }
    for (int i : task.uses) {
      if (!readable[at(i)]) return wrong(p, "an item is read that is not there");
    }
    if (const int c = choice[at(t)]; c >= 0 && !chosen[at(c)]) {
      if (at(c) != next_choice) return wrong(p, "first runs are not in order");
      chosen[at(c)] = true;
      ++next_choice;
    }
    for (int i : task.makes) {
      for (int other : moving_now) {
        const JointTask& moving = problem.tasks[at(other)];
        if (std::ranges::count(moving.uses, i) + std::ranges::count(moving.makes, i) > 0)
          return wrong(p, "an item is made that another lane works on");
      }
      readable[at(i)] = part == Part::whole;
    }
    if (part == Part::whole) {
      now += task.cost;
    } else {
      under_way[at(t)] = true;
      moving_now.push_back(t);
      double& free = lane_free[at(task.lane)];
      ends[at(t)] = free = std::max(free, now) + task.cost;
    }
  }
  if (next_choice != problem.required.size()) return wrong(length, "a required task is missing");
  if (!moving_now.empty()) return wrong(length, "a begin without an end");
  figures.makespan = now;

  // Backwards: what is read again before it is made again is alive.
  std::vector<bool> alive;
  std::vector<std::int64_t> resident(problem.memories(), 0);
  for (const JointItem& item : problem.items) {
    alive.push_back(item.pinned);
    if (item.pinned) resident[at(item.memory)] += item.bytes;
  }
  for (std::size_t p = length; p-- > 0;) {
    const auto [t, part] = schedule[p];
    const JointTask& task = problem.tasks[at(t)];
    std::vector<int> makes = task.makes, uses = task.uses;
    if (part == Part::end) {
      uses.insert(uses.end(), makes.begin(), makes.end());
      makes.clear();
    }
    std::vector<std::int64_t> during = resident;
    for (int i : makes) {
      const JointItem& item = problem.items[at(i)];
      (alive[at(i)] ? resident : during)[at(item.memory)] += alive[at(i)] ? -item.bytes : item.bytes;
    }
    std::vector<int> written, gone;
    for (const InPlaceReuse& pair : task.reuses) {
      if (alive[at(pair.used)] || std::ranges::count(written, pair.made) ||
          std::ranges::count(gone, pair.used))
        continue;
      written.push_back(pair.made);
      gone.push_back(pair.used);
      during[at(problem.items[at(pair.used)].memory)] -= problem.items[at(pair.used)].bytes;
    }
    for (int i : makes) alive[at(i)] = false;
    for (int i : uses) {
      if (alive[at(i)]) continue;
      alive[at(i)] = true;
      const JointItem& item = problem.items[at(i)];
      during[at(item.memory)] += item.bytes;
      resident[at(item.memory)] += item.bytes;
    }
    during[0] += task.scratch;
    for (std::size_t m = 0; m < during.size(); ++m) figures.peaks[m] = std::max(figures.peaks[m], during[m]);
  }
  return figures;
}

}  // namespace tidemark
