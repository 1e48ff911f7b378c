// A draft's runs while they are being put into groups. A unit is one point in time: a group of runs, or one
// by itself.
//
//   position   0    1    2    3    4    5          units stand at the positions that the runs had; where two
//                                                  became
//   unit       a   b+d   c    ·    e    f          one, a position is left empty
//
// An item is one computation of one root. It lives from its maker's position to its last reader's, unless
// both are in one unit and nobody else wants it: then it is inside, and costs nothing. `try_join` keeps the
// profile of loads true, and takes back what would raise it above the limit.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tidemark/plan/passes/draft.h"
#include "tidemark/solve/load_profile.h"
#include "tidemark/solve/order/model.h"

namespace tidemark {

class FuseState {
 public:
  explicit FuseState(const Draft& draft);

  // Nowhere may the load rise above this, or further above it; at first, the highest load there is.
  void set_limit(std::int64_t bytes) { limit_ = bytes; }
  std::int64_t highest_load() const { return profile_.most(); }

  int runs() const { return static_cast<int>(runs_.size()); }
  int unit_of(int run) const { return unit_of_[static_cast<std::size_t>(run)]; }
  bool is_last(int run) const { return unit(unit_of(run)).runs.back() == run; }
  // Units that make what the unit reads or read what it reads, the nearest first, for whatever could be
  // joined.
  std::vector<int> makers(int unit) const;
  std::vector<int> fellow_readers(int unit) const;

  // Makes one unit of two, whichever comes first, at either's position.
  bool try_join(int a, int b);

  // The executions, in groups and in order.
  std::vector<Execution> executions() const;
  // No order of these units has a lower load.
  std::int64_t order_bound() const;

 private:
  friend class DuplicateSearch;

  // So many runs that the tiles of all temporaries stay in the nearest cache, and that preparing a kernel
  // takes no time.
  static constexpr std::size_t most_runs = 32;

  struct Read {
    int item;
    ValueId value;  // as read: the root, or a window on it
  };
  struct Run {
    NodeId node;
    Fusion fusion = Fusion::none;
    Shape shape;  // that its group must have
    std::vector<Read> reads;
    std::vector<int> makes;            // items
    std::vector<InPlaceReuse> reuses;  // if it is by itself: (item made, item read), in order of preference
    std::vector<int> before, after;    // runs
    std::int64_t scratch = 0;
    std::optional<Dims> shift = {};  // of a window (ir/target.h)
  };
  struct Item {
    ValueId root;
    int maker = -1;            // -1: an input
    std::vector<int> readers;  // runs, each once
    int last_read = -1;        // position of the last of them; -1: nobody
    std::int64_t size = 0;     // 0 where it has a home
    bool pinned = false;       // wanted at the end
  };
  struct Unit {
    std::vector<int> runs;
    int position = 0;
    bool open = false;    // all of its runs may join others
    bool closed = false;  // ends with a reduction: nothing may follow
    bool has_home = false;
    Shape shape;

    // That of a unit whose runs were put behind its own.
    void take_kind(Unit& other) {
      shape = other.shape;
      closed = other.closed;
      has_home |= other.has_home;
      other.runs.clear();
    }
  };
  struct Life {
    int begin = 0, end = -1;
    bool counts() const { return begin <= end; }
  };

  Run& run(int r) { return runs_[static_cast<std::size_t>(r)]; }
  const Run& run(int r) const { return runs_[static_cast<std::size_t>(r)]; }
  Item& item(int i) { return items_[static_cast<std::size_t>(i)]; }
  const Item& item(int i) const { return items_[static_cast<std::size_t>(i)]; }
  Unit& unit(int u) { return units_[static_cast<std::size_t>(u)]; }
  const Unit& unit(int u) const { return units_[static_cast<std::size_t>(u)]; }

  int last_position() const { return static_cast<int>(at_.size()) - 1; }
  static void add_once(std::vector<int>& list, int x);
  void read_draft();
  void read_run(int r, std::vector<int>& item_of);
  void read_edges();
  void read_groups();
  Life life_of(const Item& item) const;
  bool is_inside(const Item& item, int a, int b) const;  // if a and b were one unit
  bool is_in(int r, int a, int b) const { return r >= 0 && (unit_of(r) == a || unit_of(r) == b); }
  bool fits_together(int first, int second) const;
  bool keeps_homes(int first, int second, const Shape& shape) const;
  bool folds_own_result(int first, int second) const;
  bool is_small_enough(int first, int second) const;
  bool reads_window_inside(int first, int second) const;
  bool fits_in_tiles(int first, int second) const;
  bool can_stand_at(int position, int first, int second) const;
  bool join_at(int position, int first, int second);
  void move_runs(int first, int second, int position);
  std::int64_t saved_at(int unit) const;
  bool dies_in(const Unit& group, int item, int made, std::size_t writer) const;
  int find_last_read(const Item& item) const;
  void count(int item, int sign);
  void recount_extra(int unit);
  void drop_extra(int unit);
  std::vector<int> items_of(int a, int b) const;

  const Draft& draft_;
  const Graph& graph_;
  std::vector<bool> wanted_;  // per root: an output
  std::vector<Run> runs_;
  std::vector<Item> items_;
  std::vector<Unit> units_;   // a run's own, or a group's; those that joined another have no runs
  std::vector<int> unit_of_;  // per run; -1: it is not made any more
  std::vector<int> at_;       // per position: its unit, -1 where it is empty
  std::vector<std::int64_t>
      extra_;  // per unit: scratch less what in-place reuses save, as counted in the profile
  LoadProfile profile_;
  std::int64_t limit_ = 0;
};

}  // namespace tidemark
