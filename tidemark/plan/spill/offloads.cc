#include "tidemark/plan/spill/offloads.h"

#include <algorithm>
#include <optional>

#include "tidemark/ir/graph.h"
#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

// Between two kernels that touch an item and that others separate.
struct Gap {
  int item = -1;
  std::size_t last = 0, next = 0;  // kernels
  double seconds = 0;
};

// A value under way to the disk and back, in kernels before which each part stands.
struct OffloadTrip {
  int out = 0, in = 0;       // tasks
  int item = 0, back = 0;    // that leaves, that returns
  std::size_t last_use = 0;  // before it leaves
  std::size_t leaves = 0, left = 0, returns = 0, returned = 0;
};

bool is_asked(const HintReport& hint) { return hint.kind == HintKind::offload && hint.honoured; }

class Offloading {
 public:
  Offloading(SpillProblem& problem, const Graph& graph, const std::vector<Tier>& tiers, std::int64_t allowed)
      : problem_(problem),
        joint_(problem.joint),
        graph_(graph),
        allowed_(allowed),
        begins_(problem.kernels() + 1, 0) {
    for (std::size_t k = 0; k < problem.kernels(); ++k) begins_[k + 1] = begins_[k] + joint_.tasks[k].cost;
    const auto found = std::ranges::find(tiers, disk_memory_name, &Tier::name);
    if (found == tiers.end()) return;
    disk_ = &*found;
    memory_ = static_cast<int>(found - tiers.begin()) + 1;
    room_ = disk_->budget;
  }

  void run(std::vector<HintReport>& hints) {
    for (HintReport& hint : hints) {
      if (!is_asked(hint)) continue;
      hint.reason = why_not(hint);
      hint.honoured = hint.reason.empty();
    }
    for (const Asked& asked : asked_) add_way(asked);
    if (!trips_.empty()) make_start();
  }

 private:
  struct Asked {
    Gap gap;
    int returned;  // the item that comes back
    std::int64_t taken;
    double out_cost, in_cost;
  };

  // All of them as early out and as late back as hides them, if nothing else moves and there is room.
  void make_start() {
    place_outs();
    place_ins();
    keep_within_memory();
    JointSchedule& start = joint_.start;
    for (std::size_t k = 0; k <= problem_.kernels(); ++k) {
      for (const OffloadTrip& trip : trips_) {
        if (trip.leaves == k) start.push_back({trip.out, Part::begin});
      }
      for (const OffloadTrip& trip : trips_) {
        if (trip.left == k) start.push_back({trip.out, Part::end});
      }
      for (const OffloadTrip& trip : trips_) {
        if (trip.returns == k) start.push_back({trip.in, Part::begin});
      }
      for (const OffloadTrip& trip : trips_) {
        if (trip.returned == k) start.push_back({trip.in, Part::end});
      }
      if (k < problem_.kernels()) start.push_back({static_cast<int>(k)});
    }
  }

  std::string why_not(HintReport& report) {
    if (!disk_) return "there is no disk to wait on: give compile a budget and a .disk";
    const std::optional<Gap> gap = longest_gap(report.value);
    if (!gap) return "it is never in memory as a whole";
    if (gap->next <= gap->last + 1) return "its readers follow each other without a wait";
    const Type& type = graph_.type(report.value);
    const std::int64_t taken = align_up(type.bytes(), tier_alignment);
    if (taken > room_) return "the disk has no room left for it";
    room_ -= taken;
    const auto bytes = static_cast<double>(type.bytes());
    const double out = seconds_of(*disk_->out, bytes, true), in = seconds_of(*disk_->in, bytes, true);
    add_trip(*gap, taken, out, in);
    report.bytes = type.bytes();
    report.runs = 2;
    report.seconds = out + in;
    return {};
  }

  // None: nothing holds the value. Without a wait, of no length.
  std::optional<Gap> longest_gap(ValueId value) const {
    std::optional<Gap> longest;
    std::vector<std::optional<std::size_t>> last(problem_.held.size());
    for (std::size_t k = 0; k < problem_.kernels(); ++k) {
      const JointTask& task = joint_.tasks[k];
      for (const std::vector<int>* items : {&task.uses, &task.makes}) {
        for (const int item : *items) {
          if (problem_.held[at(item)].value != value) continue;
          if (!longest) longest = Gap{.item = item};
          const std::size_t before = last[at(item)].value_or(k);
          const double seconds = begins_[k] - begins_[std::min(k, before + 1)];
          if (k > before + 1 && seconds >= longest->seconds) longest = Gap{item, before, k, seconds};
          last[at(item)] = k;
        }
      }
    }
    return longest;
  }

  void add_trip(const Gap& gap, std::int64_t taken, double out_cost, double in_cost) {
    const int returned = static_cast<int>(joint_.items.size());
    joint_.items.push_back(joint_.items[at(gap.item)]);
    joint_.items[at(gap.item)].pinned = false;
    problem_.held.push_back(problem_.held[at(gap.item)]);
    for (std::size_t k = gap.next; k < problem_.kernels(); ++k) {
      std::ranges::replace(joint_.tasks[k].uses, gap.item, returned);
      for (InPlaceReuse& pair : joint_.tasks[k].reuses) {
        if (pair.used == gap.item) pair.used = returned;
      }
    }
    asked_.push_back({gap, returned, taken, out_cost, in_cost});
  }

  // Behind all items of the first memory.
  void add_way(const Asked& asked) {
    const int out = static_cast<int>(joint_.tasks.size()), in = out + 1;
    const int away = add_transfer(joint_, asked.gap.item,
                                  {.memory = memory_,
                                   .out_lane = 2 * memory_ - 1,
                                   .in_lane = 2 * memory_,
                                   .out_cost = asked.out_cost,
                                   .in_cost = asked.in_cost});
    joint_.items[at(away)].bytes = asked.taken;
    joint_.tasks[at(in)].makes = {asked.returned};
    problem_.moves.push_back({asked.gap.item, away, {.memory = memory_}, true});
    problem_.moves.push_back({asked.returned, away, {.memory = memory_}, false});
    trips_.push_back({out, in, asked.gap.item, asked.returned, asked.gap.last, made_before(asked.gap),
                      asked.gap.last + 1, asked.gap.next, asked.gap.next});
  }

  // The kernel behind the one that makes the item.
  std::size_t made_before(const Gap& gap) const {
    std::size_t k = gap.last;
    while (k > 0 && std::ranges::count(joint_.tasks[k].makes, gap.item) == 0) --k;
    return k + 1;
  }

  void place_outs() {
    std::ranges::stable_sort(trips_, {}, &OffloadTrip::leaves);
    double free = 0;
    for (OffloadTrip& trip : trips_) {
      free = std::max(free, begins_[trip.leaves]) + joint_.tasks[at(trip.out)].cost;
      while (trip.left < trip.returned && begins_[trip.left] < free) ++trip.left;
    }
  }
  void place_ins() {
    std::ranges::stable_sort(trips_, std::ranges::greater{}, &OffloadTrip::returned);
    double limit = begins_.back();
    for (OffloadTrip& trip : trips_) {
      limit = std::min(limit, begins_[trip.returned]) - joint_.tasks[at(trip.in)].cost;
      while (trip.returns > trip.left && begins_[trip.returns] > limit) --trip.returns;
    }
    // The lane takes them in the order in which they are needed.
    std::ranges::stable_sort(trips_, {}, &OffloadTrip::returned);
  }

  // Of the first memory, per kernel, with trips as they are placed.
  std::vector<std::int64_t> loads() const {
    const std::size_t end = problem_.kernels();
    std::vector<std::size_t> first(problem_.held.size(), end), last(problem_.held.size(), 0);
    std::vector<std::int64_t> load(end + 1, 0);
    for (std::size_t k = 0; k < end; ++k) {
      const JointTask& task = joint_.tasks[k];
      load[k] += task.scratch;
      for (const std::vector<int>* items : {&task.uses, &task.makes}) {
        for (const int item : *items)
          first[at(item)] = std::min(first[at(item)], k), last[at(item)] = std::max(last[at(item)], k + 1);
      }
      for (const InPlaceReuse& pair : task.reuses)
        load[k] -= std::min(joint_.items[at(pair.made)].bytes, joint_.items[at(pair.used)].bytes);
    }
    for (const OffloadTrip& trip : trips_) {
      last[at(trip.item)] = trip.left;
      first[at(trip.back)] = trip.returns;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (joint_.items[i].pinned) last[i] = end;
      for (std::size_t k = first[i]; k < last[i]; ++k) load[k] += joint_.items[i].bytes;
    }
    return load;
  }

  // Where copies pile up in memory, those that leave are waited for, the earliest first; then those that
  // return begin later, the last to be needed first.
  void keep_within_memory() {
    std::vector<std::int64_t> load = loads();
    for (std::size_t k = 0; k < problem_.kernels(); ++k) {
      while (load[k] > allowed_) {
        OffloadTrip *leaving = nullptr, *returning = nullptr;
        for (OffloadTrip& trip : trips_) {
          if (trip.last_use < k && trip.left > k && (!leaving || trip.leaves < leaving->leaves))
            leaving = &trip;
          if (trip.returns <= k && trip.returned > k && (!returning || trip.returned > returning->returned))
            returning = &trip;
        }
        if (leaving) {
          for (std::size_t t = k; t < leaving->left; ++t) load[t] -= joint_.items[at(leaving->item)].bytes;
          leaving->left = k;
        } else if (returning) {
          for (std::size_t t = returning->returns; t <= k; ++t)
            load[t] -= joint_.items[at(returning->back)].bytes;
          returning->returns = k + 1;
        } else {
          break;
        }
      }
    }
  }

  SpillProblem& problem_;
  JointProblem& joint_;
  const Graph& graph_;
  const std::int64_t allowed_;  // of the first memory
  std::vector<double> begins_;  // per kernel, if nothing waits; and the end
  const Tier* disk_ = nullptr;
  int memory_ = 0;
  std::int64_t room_ = 0;  // bytes of the disk that are not taken yet
  std::vector<Asked> asked_;
  std::vector<OffloadTrip> trips_;
};

}  // namespace

bool has_offloads(const Plan& plan) { return std::ranges::any_of(plan.hints, is_asked); }

Plan without_offloads(Plan plan) {
  for (HintReport& hint : plan.hints) {
    if (!is_asked(hint)) continue;
    hint.honoured = false;
    hint.reason = "no plan was found that has it wait there and keeps to the budgets";
  }
  return plan;
}

void take_offloads(SpillProblem& problem, const Graph& graph, const std::vector<Tier>& tiers,
                   std::int64_t allowed, std::vector<HintReport>& hints) {
  if (std::ranges::any_of(hints, is_asked)) Offloading(problem, graph, tiers, allowed).run(hints);
}

}  // namespace tidemark
