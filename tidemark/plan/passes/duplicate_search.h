// Values made again in each kernel that reads them, on a draft in groups:
//
//   before   [ x ──▶ cast ──▶ v ──▶ ... ]   v is written once, and read by two kernels
//            [ v, a ──▶ ... ]  [ v, b ──▶ ... ]
//   after    [ x ──▶ cast ──▶ ... ]         each kernel makes v for itself, tile by tile, and v is nowhere
//            [ x, a ──▶ cast ──▶ ... ]  [ x, b ──▶ cast ──▶ ... ]
//
// What is made again is the value's own run and those in front of it in its kernel whose results have no
// memory. A step is taken if the kernels that it changes are predicted to take less time together, and the
// load rises nowhere above what it is at its highest.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tidemark/ir/target.h"
#include "tidemark/plan/passes/fuse_state.h"

namespace tidemark {

class DuplicateSearch {
 public:
  explicit DuplicateSearch(const Draft& draft);

  // False: nothing is gained.
  bool find();
  std::vector<Execution> executions() const { return state_.executions(); }
  std::int64_t order_bound() const { return state_.order_bound(); }

 private:
  using Run = FuseState::Run;
  using Item = FuseState::Item;
  using Unit = FuseState::Unit;
  using Read = FuseState::Read;
  using Life = FuseState::Life;

  struct RunCost {
    Cost cost;
    DType dtype = DType::f32;
  };
  // A run that is to be made again in another unit, and the items that it reads there; -1 - r: what the copy
  // of run r makes.
  struct Copy {
    int run;
    std::vector<int> items;
  };
  struct Taker {
    int unit;
    std::size_t at;            // runs of the unit in front of the copies
    std::vector<Copy> copies;  // in order; the last makes the value
  };
  // What a step changes, as it was.
  struct Before {
    std::vector<std::pair<int, Unit>> units;
    std::vector<std::pair<int, Run>> runs;
    std::vector<std::pair<int, Item>> items;
    std::size_t all_runs = 0, all_items = 0;
  };

  bool try_item(int item);
  bool may_repeat(int run) const;
  std::vector<int> made_with(int item) const;
  std::optional<Taker> taker(int unit, int item, std::span<const int> chain) const;
  bool takes_shape(const Unit& unit, int item) const;
  std::optional<int> found_in(int unit, const Read& read, std::size_t at) const;
  std::optional<int> stored_before(int unit, ValueId root) const;
  bool may_read(int item, int unit) const;

  bool attempt(int item, std::span<const Taker> takers);
  std::vector<int> touched_items(int item, std::span<const Taker> takers) const;
  Before remember(std::span<const int> units, std::span<const int> items) const;
  void restore(const Before& before);
  void touch(std::span<const int> items, std::vector<int>& touched) const;
  void recount(std::span<const Life> lives, std::span<const int> items, std::span<const int> units);
  void copy_into(const Taker& taker, int item);
  bool remove_unread(int item);
  bool is_valid(std::span<const int> units) const;
  double seconds_of(int unit) const;
  const RunCost& cost_of(NodeId node) const;

  const Draft& draft_;
  FuseState state_;
  std::vector<int> first_write_;  // per donated input: position from which on others are written into it
  std::vector<std::vector<int>> versions_;  // per root: its items, in order; those of copies are not listed
  std::vector<double> seconds_;             // per unit
  std::vector<int> changed_;                // per unit: the last round in which it was
  int round_ = 0;
  mutable std::vector<std::optional<RunCost>> costs_;  // per node
};

}  // namespace tidemark
