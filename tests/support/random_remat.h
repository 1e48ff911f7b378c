// Random recomputation problems: several results, pinned and present items, scratch, in-place reuses, tasks
// that may not run again or only until they are closed. The same seed gives the same problem.
#pragma once
#include <algorithm>
#include <random>

#include "tidemark/solve/remat/problem.h"

namespace tidemark {

struct RandomRemat {
  int tasks = 5;
  bool simple = false;     // one result per task, everything repeatable, no in-place reuses, nothing pinned
  bool odd_sizes = false;  // operands that one task may overwrite need not be of one size
  bool training = false;   // a chain and its way back
};

inline RematProblem random_remat(unsigned seed, const RandomRemat& kind) {
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto often = [&](int percent) { return !kind.simple && draw(100) < percent; };
  OrderParts parts;
  RematProblem problem;
  std::vector<std::vector<int>> closed_by(static_cast<std::size_t>(kind.tasks));
  std::vector<int> maker;
  const auto add_item = [&](int by, std::int64_t size) {
    maker.push_back(by);
    parts.size.push_back(size);
    parts.pinned.push_back(often(12));
    parts.present.push_back(by < 0);
    return static_cast<int>(maker.size()) - 1;
  };
  if (often(40)) add_item(-1, 1 + draw(9));
  for (int t = 0; t < kind.tasks; ++t) {
    std::vector<int> before, uses, makes;
    std::vector<InPlaceReuse> pairs;
    const auto use = [&](int item) {
      if (std::ranges::count(uses, item) != 0) return;
      uses.push_back(item);
      if (maker[static_cast<std::size_t>(item)] >= 0) before.push_back(maker[static_cast<std::size_t>(item)]);
    };
    const int known = static_cast<int>(maker.size());
    if (kind.training) {
      if (known > 0) use(known - 1);
      const int mirror = kind.tasks - 1 - t;
      if (2 * t > kind.tasks && mirror < known) use(mirror);
    } else {
      for (int k = draw(3); k > 0 && known > 0; --k)
        use(draw(2) ? known - 1 - draw(std::min(known, 3)) : draw(known));
    }
    if (t > 0 && often(10)) before.push_back(draw(t));
    for (int k = often(25) ? draw(3) : 1; k > 0; --k) makes.push_back(add_item(t, 1 + draw(9)));
    for (int m : makes) {
      for (int u : uses) {
        if (!often(40)) continue;
        pairs.push_back({m, u});
        if (!kind.odd_sizes)
          parts.size[static_cast<std::size_t>(u)] = parts.size[static_cast<std::size_t>(uses.front())];
      }
    }
    if (t > 0 && often(10)) closed_by[static_cast<std::size_t>(draw(t))].push_back(t);
    parts.before.push_back(before);
    parts.uses.push_back(uses);
    parts.makes.push_back(makes);
    parts.reuses.push_back(pairs);
    parts.scratch.push_back(often(20) ? draw(6) : 0);
    problem.cost.push_back(1 + draw(9));
    problem.repeatable.push_back(!often(20));
  }
  problem.model = make_model(std::move(parts));
  problem.closed_by = IntLists(closed_by);
  problem.fixed_order = draw(2) == 0;
  return problem;
}

}  // namespace tidemark
