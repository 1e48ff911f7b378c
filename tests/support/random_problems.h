// Random recomputation problems: several results, in-place reuses, scratch, pinned items, tasks that may not
// repeat or are closed by a later one. The same seed gives the same problem.
#pragma once
#include <algorithm>
#include <random>

#include "tidemark/solve/remat/problem.h"

namespace tidemark::fake {

inline RematProblem random_problem(unsigned seed, int tasks, bool plain = false) {
  std::mt19937 random(seed * 7919 + 13);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  OrderParts parts;
  std::vector<int> maker;
  std::vector<std::vector<int>> closed_by(static_cast<std::size_t>(tasks));
  RematProblem problem;
  const int reach = 2 + draw(12);
  for (int t = 0; t < tasks; ++t) {
    std::vector<int> uses, makes;
    const int items = static_cast<int>(parts.size.size());
    for (int k = draw(4); k > 0 && items > 0; --k) {
      const int item = draw(4) ? std::max(0, items - 1 - draw(reach)) : draw(items);
      if (std::ranges::count(uses, item) == 0) uses.push_back(item);
    }
    std::vector<int> before;
    for (int i : uses) before.push_back(maker[static_cast<std::size_t>(i)]);
    std::vector<InPlaceReuse> pairs;
    for (int r = plain || draw(5) ? 1 : draw(3); r > 0; --r) {
      const int item = static_cast<int>(parts.size.size());
      maker.push_back(t);
      makes.push_back(item);
      parts.size.push_back(1 + draw(20));
      parts.pinned.push_back(draw(10) == 0);
      parts.present.push_back(false);
      for (int i : uses) {
        if (plain || draw(3) || parts.pinned[static_cast<std::size_t>(i)]) continue;
        parts.size.back() = parts.size[static_cast<std::size_t>(i)];
        pairs.push_back({item, i});
        break;
      }
    }
    if (!plain && t > 2 && draw(6) == 0) {  // closes an earlier task
      const int closed = draw(t);
      before.push_back(closed);
      closed_by[static_cast<std::size_t>(closed)].push_back(t);
    }
    parts.before.push_back(before);
    parts.uses.push_back(uses);
    parts.makes.push_back(makes);
    parts.scratch.push_back(plain ? 0 : draw(3) * 4);
    parts.reuses.push_back(pairs);
    problem.cost.push_back(1 + draw(9));
    problem.repeatable.push_back(plain || draw(8) != 0);
  }
  problem.model = make_model(std::move(parts));
  problem.closed_by = IntLists(closed_by);
  return problem;
}

}  // namespace tidemark::fake
