// The table behind the mixed schedule. With M units left, of which a state takes a and a record b, n steps
// need
//
//   C(n,M) = min( 1 + C(n−1,M−b), min over 1 ≤ i < n of i + C(i,M) + C(n−i,M−a) ),   C(1,M) = 1
//
// forward steps: the first step's record is kept, or its state, from which i steps on the rest is done first.
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

class MixedTable {
 public:
  MixedTable(Step steps, std::int64_t state_bytes, std::int64_t record_bytes, std::int64_t bytes);

  bool too_large() const { return too_large_; }
  // Where there are too many amounts of bytes to tell apart, sizes are rounded up to a coarser unit, by a
  // sixteenth at most.
  std::int64_t state_units() const { return state_; }
  std::int64_t record_units() const { return record_; }
  std::int64_t units() const { return units_; }

  bool feasible() const;  // unless too large
  // How to begin `length` > 1 steps with `units` left: 0 keeps the record, i > 0 the state and advances i
  // steps.
  Step choice(std::int64_t units, Step length) const;

 private:
  void coarsen();
  void coarsen_evenly();  // to a unit of which both sizes are almost multiples: few amounts, hardly a waste
  std::vector<std::int64_t> amounts() const;  // that can be left, ascending
  template <class Value>
  void fill();

  Step steps_;
  std::int64_t state_, record_, units_;
  bool too_large_ = false;
  std::vector<std::int64_t> row_of_;   // by units; -1: cannot be left
  std::vector<std::int32_t> choices_;  // by row, then length − 1; -1: impossible
};

// No table is larger.
inline constexpr Step most_mixed_steps = 100'000;

}  // namespace tidemark::schedule
