// The least cost at which enough bytes can be had: a knapsack turned round. The bound of one moment of a
// recomputation problem, where what exceeds the budget must be made again later.
#pragma once
#include <cstdint>
#include <vector>

namespace tidemark {

struct Gain {
  double cost = 0, bytes = 0;
};

// A lower bound on the cost of gains with at least `need` bytes together, close unless more than `nodes`
// choices have to be looked at; 0: none, gains may be taken in parts. Infinite if all together are not
// enough. Sorts the gains; adds the gains looked at to `visits`.
double least_cover(std::vector<Gain>& gains, double need, int nodes, std::int64_t& visits);

}  // namespace tidemark
