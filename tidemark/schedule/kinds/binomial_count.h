// How often steps are repeated when one level of slots is used best: closed forms of Griewank and Walther,
// Algorithm 799, ACM TOMS 26 (2000). A segment of `length` steps has `slots` slots, of which its first state
// takes one.
#pragma once
#include <cstdint>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

// Beyond it the products of the closed forms leave 128 bits.
inline constexpr Step most_steps = 1'000'000'000'000;

// C(slots + repeats, slots): the longest segment in which no step is advanced over more than `repeats` times.
// At `ceiling` or beyond, `ceiling`.
std::int64_t longest_segment(std::int64_t slots, std::int64_t repeats, std::int64_t ceiling);

// The least r with longest_segment(slots, r) >= length. slots >= 1.
std::int64_t repeats_of(Step length, std::int64_t slots);

// Least advances for a segment, r·length − C(slots + r, slots + 1); -1 beyond 63 bits.
Step least_advances(Step length, std::int64_t slots);

// One step of the recursion. `shorter` is longest_segment(slots, repeats − 1), which is at most the length.
struct BinomialSplit {
  Step left = 0;                                     // advance this far; the rest has one slot less
  std::int64_t left_shorter = 0, right_shorter = 0;  // of the parts; left has one repeat less
};
BinomialSplit split_segment(Step length, std::int64_t slots, std::int64_t repeats, std::int64_t shorter);

// How many states split_segment's recursion stores, the first one included.
std::int64_t stores_of(Step length, std::int64_t slots);

}  // namespace tidemark::schedule
