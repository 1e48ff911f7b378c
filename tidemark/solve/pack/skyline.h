// Builds a layout from the floor upwards, one block at a time, in about O(log n) each.
//
//      ┌──┐        ┌───     The outline of what is placed is a skyline. Take its lowest valley V; in V the section
//   ───┘  │   V    │        with the least slack (the most load still to come); of the blocks that fit into V and
//         └────────┘        cover that section, the preferred one. If none fits, V is filled up to its lower wall.
//
// Room wasted where much slack is left costs nothing, but a narrow valley at a section without slack does. So
// V is also filled up, given away, when it has slack to spare compared with the wall beside it
// (`Taste::waste_price`). A skyline can be copied and goes on from any level, so that callers can try several
// tastes per level.
#pragma once
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tidemark/solve/pack/problem.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark::packing {

struct Taste {
  double length = 1, size = 0;                                   // a block is preferred by length^a × size^b
  double noise = 0;                                              // amplitude, in the logarithm
  double waste_price = std::numeric_limits<double>::infinity();  // slack demanded per unit of room given away
};

constexpr std::int64_t endless_level = std::numeric_limits<std::int64_t>::max();

class Skyline {
 public:
  explicit Skyline(const Problem& problem);

  void prefer(const Taste& taste, Noise& noise);

  // Places blocks until every valley is at `level` or higher, or nothing is left. Returns the work units
  // spent.
  std::int64_t build(std::int64_t level);

  bool complete() const { return undecided_ == 0; }
  const Layout& layout() const { return layout_; }  // once complete

  // No way to go on from here ends lower.
  std::int64_t least_height() const;

  // A soft maximum, over sections, of what is wasted there plus its load: lower is better.
  double cost() const;

 private:
  using Height = std::int64_t;
  // Undecided blocks by first section in a tree of maxima, to find the preferred one within bounds.
  struct BlockTree {
    std::vector<float> preference;
    std::vector<int> least_last, most_last;
  };
  // Per section: slack = −load − waste, +∞ once no undecided block covers it. A tree of minima, added to by
  // range.
  struct SlackTree {
    std::vector<Height> least, added;
    std::vector<int> blocks, blocks_added;  // undecided blocks that cover the section, likewise
  };
  struct Segment {
    int end = 0;
    int left = -1, right = -1;  // neighbours, named by their first sections
    Height height = 0;
    bool present = false;
  };

  void pull(std::size_t node);
  void remove(int block);
  int preferred(int first_lo, int first_hi, int last_lo, int last_hi);
  void descend(std::size_t node, int lo, int hi);
  void add(std::size_t node, int lo, int hi, int from, int to, Height slack, int blocks);
  void retire(std::size_t node, int lo, int hi, int from, int to, int acc);
  void least_slack(std::size_t node, int lo, int hi, int from, int to, Height acc, Height& least,
                   int& at) const;
  Height least_slack(int from, int to, int& at) const;
  void spend_slack(int from, int to, Height amount);
  bool worth_giving_away(int segment, Height wall, Height slack) const;
  void raise(int segment, int from, int to, Height height);
  void put(int segment, Segment value);
  void queue(int segment);
  void place(int block, int segment);

  const Problem* problem_;
  double waste_price_ = std::numeric_limits<double>::infinity();
  int leaves_ = 1, section_leaves_ = 1;
  std::vector<int> order_, rank_;  // blocks by (first, last), and back
  std::vector<int> begin_;         // section → first rank that begins there or later
  BlockTree blocks_;
  SlackTree slack_;
  std::vector<Segment> segments_;                // by first section
  std::vector<std::pair<Height, int>> waiting_;  // heap of segments, lowest first; stale ones are skipped
  std::size_t undecided_ = 0;
  Layout layout_;
  std::int64_t steps_ = 0;

  struct Query {
    int lo, hi, last_lo, last_hi;
    float best;
    int found;
  } query_{};
};

}  // namespace tidemark::packing
