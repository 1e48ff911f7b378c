// Where to split a segment of steps on several levels of slots: the recurrences of H-Revolve (Herrmann and
// Pallez, ACM TOMS 46, 2020) for any number of levels. With opt(k, m, l) the least cost of l+1 steps using m
// slots of level k and all of the levels below, and opt' the same once their first state lies on level k:
//
//   opt'(k,m,l) = min( opt(k−1,c,l), min over 1 ≤ j ≤ l of j·uf + opt(k,m−1,l−j) + read + opt'(k,m,j−1) )
//   opt (k,m,l) = min( opt(k−1,c,l), write + opt'(k,m,l) )
//
// The lowest level has a closed form where its transfers are free. The optimum is not convex in l, and the
// best j not monotone: every j is tried, or refuted by a lower bound.
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

class SplitTable {
 public:
  // Slots by level, -1: any number. At least one level has some.
  SplitTable(const Question& question, std::vector<std::int64_t> slots);

  // Exact up to thousands of steps; beyond, states of the levels in the tables are stored at multiples of
  // `grain` steps counted from the end.
  Step grain() const { return grain_; }
  std::size_t bottom() const { return bottom_; }                               // the lowest level with slots
  int first() const { return static_cast<int>(bottom_) + (closed_ ? 1 : 0); }  // the lowest in the table

  struct Choice {
    bool store = false;  // on this level, where the state is not stored yet; else only levels below are used
    Step split = 0;      // advance this far and use a slot less; 0: only levels below are used
  };
  // For a segment of `length` steps that begins at step `begin`, with `slots` of level `level` free or
  // holding its begin.
  Choice choice(std::size_t level, std::int64_t slots, Step begin, Step length) const;

 private:
  struct Rows {
    std::int64_t count = 0;  // more slots than this are used as this many are
    bool any_number = false;
    std::vector<std::int32_t> splits;  // count × blocks; negative: the state is not worth storing
  };
  template <class Value>
  void fill(const Question& question, double unit);

  Step steps_ = 0, grain_ = 1, blocks_ = 0;
  std::size_t bottom_ = 0;
  bool closed_ = false;
  std::vector<std::int64_t> slots_;
  std::vector<Rows> rows_;  // by level
};

}  // namespace tidemark::schedule
