// Does a layout of a given height exist? A depth-first search from the floor upwards that finds one or proves
// that there is none; restarts with other preferences share what was refuted before.
//
// The state is a floor per section: below it all is decided. In a valley of the floor (walls higher on both
// sides) take one section s. In some best layout, either a block inside the valley that covers s lies right
// on the floor, or nothing does, and then s stays empty up to the lower wall or the top of a block beside it.
// That is the branching; the section with the fewest branches, then the least slack, goes first. Three things
// prune:
//   heads      blocks of a section that start at height e or higher must fit between e and the capacity;
//   splitting  where no undecided block crosses, both sides are solved alone;
//   memory     a floor and a set of undecided blocks that failed once fail again, whatever led there.
// "Best" is the least sum of offsets, which is why nothing ever floats and no valley is left empty that could
// be used. Blocks with different alignments may hide room beneath each other, so there the search finds but
// does not prove.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "tidemark/solve/pack/problem.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark::packing {

enum class SearchOutcome { found, infeasible, gave_up };

// About the work units of one layout, straight from the floor to the top.
double dive_cost(const Problem& problem);

class Search {
 public:
  Search(const Problem& problem, std::int64_t capacity);

  // Goes on from where the last call stopped, for about `share` work units, but at least one attempt.
  SearchOutcome run(WorkMeter& meter, std::int64_t share);

  std::int64_t capacity() const { return capacity_; }
  const Layout& layout() const { return layout_; }  // after `found`

 private:
  using Height = std::int64_t;
  struct Frame {  // the undecided blocks at one depth, sorted from high to low head, grouped by component
    std::vector<int> blocks, grouped, candidates;
  };
  struct Group {
    int begin, end;  // in Frame::grouped
    int lo, hi;      // sections
  };
  struct Choice {
    int section = -1;
    int branches = 0;
    Height slack = 0;
    Height valley_floor = 0;
    int valley_lo = 0, valley_hi = 0;
    bool may_stay_empty = false;
    Height raised = 0;  // the floor of the section when nothing lies on it
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  void set_preferences();
  bool attempt();
  bool expand(std::size_t depth, int lo, int hi);
  bool measure(Frame& frame, int lo, int hi);
  bool branch(std::size_t depth, const Group& group);
  Choice choose(std::span<const int> blocks, int lo, int hi);
  void find_valleys(int lo, int hi);
  bool place(std::size_t depth, const Group& group, int block);
  bool leave_empty(std::size_t depth, const Group& group, const Choice& choice);
  void raise_head(int block, Height height);
  void undo(std::size_t mark);
  Key key_of(std::span<const int> blocks, int lo, int hi) const;
  Frame& frame(std::size_t depth);

  const Problem& problem_;
  Height capacity_;
  Noise noise_;
  Layout layout_;
  int restarts_ = 0;
  double limit_;  // work units of the next attempt
  std::int64_t spent_ = 0, allowed_ = 0;
  bool stopped_ = false;
  WorkMeter* meter_ = nullptr;

  std::vector<double> preference_;
  std::vector<int> kind_;  // equal blocks have equal kinds
  std::vector<std::uint64_t> kind_key_;
  std::vector<Height> head_;          // per block: the lowest offset still possible
  std::vector<Height> floor_, rest_;  // per section: floor, sum of undecided sizes
  std::vector<int> valley_;           // per section: its valley or -1
  std::vector<Height> beside_left_, beside_right_;
  std::vector<int> covers_;
  std::vector<std::pair<int, Height>> trail_;  // heads to restore
  std::deque<Frame> frames_;
  std::vector<Key> refuted_;
};

}  // namespace tidemark::packing
