#include "tidemark/schedule/kinds/remainder_choice.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::schedule {
namespace {

using Advances = __int128;  // sums of segments do not overflow
constexpr Advances never = Advances{1} << 100;

// Of a segment whose first state is stored in one of the slots; a single step needs none.
Advances segment_advances(Step length, std::int64_t slots) {
  if (length <= 1) return 0;
  if (slots < 1) return never;
  const Step least = least_advances(length, slots);
  return least < 0 ? never : least;
}

Step counted(Advances advances) {
  return advances > std::numeric_limits<Step>::max() ? -1 : static_cast<Step>(advances);
}

// segment_advances for one number of slots after the other. Where lengths are few they are listed, each from
// the one before: t(l, s) − t(l − 1, s) is the least r with C(s + r, s) ≥ l.
class SegmentCosts {
 public:
  explicit SegmentCosts(Step longest)
      : listed_(longest <= most_listed ? static_cast<std::size_t>(longest) + 1 : 0) {}

  void set_slots(std::int64_t slots) {
    slots_ = slots;
    if (listed_.empty() || slots < 1) return;
    const Step longest = std::ssize(listed_) - 1;
    Step reach = 1, repeats = 0, advances = 0;  // reach: C(slots + repeats, slots)
    for (Step length = 1; length <= longest; ++length) {
      while (reach < length) ++repeats, reach = longest_segment(slots, repeats, longest);
      if (length > 1) advances += repeats;
      listed_[static_cast<std::size_t>(length)] = advances;
    }
  }
  Advances operator()(Step length) const {
    if (listed_.empty() || slots_ < 1) return segment_advances(length, slots_);
    return listed_[static_cast<std::size_t>(length)];
  }

 private:
  std::int64_t slots_ = 0;
  std::vector<Step> listed_;  // by length
};

// One rank after the other: least_[x] is the cost of everything before place x if it is the rank-th. Of
// equal paths one with more held states left where they are: costs are in parts of an advance.
class Paths {
 public:
  static constexpr Advances parts = 1 << 20;

  Paths(const Remainder& r, std::int64_t slots, const std::vector<Step>& steps)
      : r_(r), slots_(slots), steps_(steps), source_(steps.size()), costs_(r.end) {
    const std::size_t count = steps.size();
    for (std::size_t x = 0, h = 0; x < count; ++x) {
      while (h + 1 < r.held.size() && r.held[h + 1] <= steps[x]) ++h;
      source_[x] = r.held[h];
    }
    const std::size_t sources = r.held.size() + (r.working > r.held.back() ? 1 : 0);
    // A last place of a single step takes no slot, once its source is the working state.
    const std::size_t ranks =
        std::min({sources, count, static_cast<std::size_t>(slots) + (r.may_load ? 1 : 0)});
    from_.assign(ranks, {});
    least_.assign(count, never);
    least_[0] = 0;
    finish(0, 0, 1);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      before_.assign(count, never);
      for (std::size_t x = rank - 1; x < count; ++x)
        if (least_[x] < never) before_[x] = least_[x] + move(x);
      least_.assign(count, never);
      from_[rank].assign(count, 0);
      relax(rank, rank, count - 1, rank - 1, count - 2);
      finish(rank, rank, count);
    }
  }

  RemainderPlan plan(RemainderPlan::Choice choice) const {
    RemainderPlan plan{.places = {}, .advances = 0, .choice = choice};
    if (best_ >= never) return plan.advances = -1, plan;
    std::size_t x = best_place_;
    for (std::size_t rank = best_rank_ + 1; rank-- > 0;) {
      plan.places.push_back({source_[x], steps_[x]});
      if (rank > 0) x = from_[rank][x];
    }
    std::reverse(plan.places.begin(), plan.places.end());
    if (best_works_) plan.places.back().source = r_.working;
    plan.advances = counted((best_ + parts / 2) / parts);
    return plan;
  }

 private:
  Advances move(std::size_t x) const {
    return steps_[x] == source_[x] ? Advances{-1} : (steps_[x] - source_[x]) * parts;
  }
  Advances segment(Step length) const {
    const Advances advances = costs_(length);
    return advances == never ? never : advances * parts;
  }

  // Best places before do not go back as places go on, since costs are convex in the length.
  void relax(std::size_t rank, std::size_t low, std::size_t high, std::size_t from_low,
             std::size_t from_high) {
    const std::size_t middle = low + (high - low) / 2;
    Advances best = never * 2;
    std::size_t best_from = from_low;
    for (std::size_t from = from_low; from <= std::min(from_high, middle - 1); ++from) {
      if (before_[from] >= best) continue;
      const Advances sum = before_[from] + segment(steps_[middle] - steps_[from]);
      if (sum < best) best = sum, best_from = from;
    }
    least_[middle] = std::min(best, never);
    from_[rank][middle] = static_cast<std::uint32_t>(best_from);
    if (low < middle) relax(rank, low, middle - 1, from_low, best_from);
    if (middle < high) relax(rank, middle + 1, high, best_from, from_high);
  }

  // If the place is the last: only that one may be reached from the working state.
  void finish(std::size_t rank, std::size_t low, std::size_t high) {
    costs_.set_slots(slots_ - static_cast<std::int64_t>(rank));  // and so for places behind one of this rank
    for (std::size_t x = low; x < high; ++x) {
      if (least_[x] - 1 > best_) continue;
      const bool works = r_.working > source_[x] && steps_[x] >= r_.working;
      const Advances reach = works ? (steps_[x] - r_.working) * parts : move(x);
      const Advances sum = least_[x] + reach + segment(r_.end - steps_[x]);
      if (sum > best_) continue;
      best_ = sum, best_rank_ = rank, best_place_ = x, best_works_ = works;
    }
  }

  const Remainder& r_;
  std::int64_t slots_;
  const std::vector<Step>& steps_;
  std::vector<Step> source_;  // the latest held state at or before each step
  SegmentCosts costs_;
  std::vector<Advances> before_, least_;
  std::vector<std::vector<std::uint32_t>> from_;  // by rank and place: the place before it
  Advances best_ = never;
  std::size_t best_rank_ = 0, best_place_ = 0;
  bool best_works_ = false;
};

// The last segment, from a kept state on, with the working state somewhere in it.
struct LastSegment {
  Advances advances = never;
  Step state = -1;  // where the working state goes; below zero: it is given up
};

// Split at m, a segment costs m − working + the left part with all slots + the right one with one less. That
// is convex in m, and split_segment knows the largest m at which it is least, wherever it is begun from.
LastSegment last_segment(const Remainder& r, Step from, std::int64_t slots) {
  const Advances whole = segment_advances(r.end - from, slots);
  if (r.working <= from) return {whole, -1};
  const Step length = r.end - from;
  const std::int64_t used = std::min(slots, length - 1);
  const std::int64_t repeats = repeats_of(length, used);
  const std::int64_t shorter = longest_segment(used, repeats - 1, length);
  const Step best = from + split_segment(length, used, repeats, shorter).left;
  if (r.working <= best) return {whole == never ? never : whole - (r.working - from), best};
  const Advances beside =
      segment_advances(r.working - from, slots) + segment_advances(r.end - r.working, slots - 1);
  return beside <= whole ? LastSegment{beside, r.working} : LastSegment{whole, -1};
}

class OneByOne {
 public:
  OneByOne(const Remainder& r, std::int64_t slots) : r_(r), slots_(slots), kept_(r.held) {
    while (surplus() > 0) drop(surplus() <= few ? surplus() : surplus() / 2);
    Advances now = total();
    for (std::int64_t count = std::ssize(kept_) / few + 1; count > 0 && kept_.size() > 1;) {
      const std::vector<Step> before = kept_;
      drop(count);
      const Advances then = total();
      if (then < now) {
        now = then;
      } else {
        kept_ = before;
        count /= 2;
      }
    }
  }

  RemainderPlan plan() const {
    RemainderPlan plan{
        .places = {}, .advances = counted(total()), .choice = RemainderPlan::Choice::one_by_one};
    for (const Step state : kept_) plan.places.push_back({state, state});
    const LastSegment last = last_segment(r_, kept_.back(), slots_of(kept_.size() - 1));
    if (last.state >= 0) plan.places.push_back({r_.working, last.state});
    return plan;
  }

 private:
  static constexpr std::int64_t few = 32;

  std::int64_t surplus() const { return std::ssize(kept_) - slots_; }
  // While too many are kept, as if the last ones had one slot each.
  std::int64_t slots_of(std::size_t rank) const {
    return std::max<std::int64_t>(slots_ - static_cast<std::int64_t>(rank), 1);
  }
  Advances segment(std::size_t rank, std::size_t until, std::int64_t slots) const {
    if (until == kept_.size()) return last_segment(r_, kept_[rank], slots).advances;
    return segment_advances(kept_[until] - kept_[rank], slots);
  }
  Advances total() const {
    Advances sum = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) sum += segment(i, i + 1, slots_of(i));
    return sum;
  }

  // Without state k the segment before it reaches further, and those behind it have one slot more.
  void drop(std::int64_t count) {
    const std::size_t n = kept_.size();
    std::vector<Advances> marginal(n, never);
    Advances behind = 0;
    for (std::size_t k = n; k-- > 1;) {
      const Advances own = segment(k, k + 1, slots_of(k));
      marginal[k] =
          segment(k - 1, k + 1, slots_of(k - 1)) - segment(k - 1, k, slots_of(k - 1)) - own + behind;
      behind += segment(k, k + 1, slots_of(k - 1)) - own;
    }
    std::vector<std::size_t> order(n - 1);
    std::iota(order.begin(), order.end(), std::size_t{1});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return marginal[a] < marginal[b]; });
    std::vector<bool> gone(n + 1, false);
    for (const std::size_t k : order) {
      if (count == 0) break;
      if (gone[k - 1] || gone[k + 1]) continue;
      gone[k] = true;
      --count;
    }
    std::vector<Step> left;
    for (std::size_t k = 0; k < n; ++k)
      if (!gone[k]) left.push_back(kept_[k]);
    kept_ = std::move(left);
  }

  const Remainder& r_;
  std::int64_t slots_;
  std::vector<Step> kept_;
};

}  // namespace

RemainderPlan remainder_by_paths(const Remainder& remainder, std::int64_t slots,
                                 const std::vector<Step>& steps, RemainderPlan::Choice choice) {
  return Paths(remainder, slots, steps).plan(choice);
}

RemainderPlan remainder_one_by_one(const Remainder& remainder, std::int64_t slots) {
  return OneByOne(remainder, slots).plan();
}

}  // namespace tidemark::schedule
