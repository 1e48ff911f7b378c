// One clock per lane: launch k of a lane is at time k there, and each launch carries, for every lane, up to
// which of its launches everything has ended when it begins. So `a` happens before `b` when b's clock of a's
// lane has reached a. The steps are then taken in the order of the list, with the last write and the reads
// since of every byte at hand: a new access must come behind the write, a new write behind the reads as well.
// As the list is one of the possible orders, each pair of accesses that meet is seen, the earlier one through
// whoever stands between.
#include "tidemark/plan/verify/verify_lanes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tidemark {
namespace {

// Where bytes are: those of an argument or a result are apart from all others.
using Area = std::tuple<std::int32_t, Binding, std::int32_t>;  // memory, binding, slot

class LaneVerifier {
 public:
  LaneVerifier(const Plan& plan, ProblemList& problems) : plan_(plan), problems_(problems) {}

  void run(std::span<const std::pair<std::size_t, std::size_t>> effects) {
    std::vector<std::vector<int>> lane_clock(plan_.lanes.size(), std::vector<int>(plan_.lanes.size(), 0));
    launch_of_.resize(plan_.steps.size());
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t last = end_of_launch(first);
      const auto lane = static_cast<std::size_t>(plan_.steps[first].lane);
      std::vector<int>& clock = lane_clock[lane];
      for (std::size_t t = first; t < last; ++t) {
        if (plan_.steps[t].lane != plan_.steps[first].lane)
          problems_.report("step {}: its group is on another lane", t);
        launch_of_[t] = launches_.size();
        for (std::int32_t wait : plan_.steps[t].waits)
          join(clock, launch_of_[static_cast<std::size_t>(wait)]);
      }
      launches_.push_back({.first = first, .lane = lane, .number = clock[lane] + 1, .clock = clock});
      clock[lane] += 1;  // the next one of this lane begins when this one has ended
      access(first, last);
      if (problems_.full()) break;
      first = last;
    }
    if (problems_.full()) return;  // not every step has a launch
    for (const auto& [first, second] : effects) {
      if (!happens_before(launch_of_[first], launch_of_[second]))
        problems_.report("effects of step {} and step {} in no order", first, second);
    }
  }

 private:
  struct Launch {
    std::size_t first;  // step
    std::size_t lane;
    int number;              // on its lane, from 1
    std::vector<int> clock;  // per lane: how many launches have ended when it begins
  };
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

  // Bytes with the same history, up to where the next ones begin.
  struct Stretch {
    std::size_t writer = nobody;
    std::vector<std::size_t> readers = {};  // since it was written
  };

  std::size_t end_of_launch(std::size_t t) const {
    const std::int32_t group = plan_.steps[t++].group;
    while (group >= 0 && t < plan_.steps.size() && plan_.steps[t].group == group) ++t;
    return t;
  }

  // A launch that waits for `other` begins when it has ended, and with it all that it waited for.
  void join(std::vector<int>& clock, std::size_t other) const {
    const Launch& ended = launches_[other];
    for (std::size_t l = 0; l < clock.size(); ++l) clock[l] = std::max(clock[l], ended.clock[l]);
    clock[ended.lane] = std::max(clock[ended.lane], ended.number);
  }

  bool happens_before(std::size_t a, std::size_t b) const {
    return a == b || launches_[b].clock[launches_[a].lane] >= launches_[a].number;
  }

  void access(std::size_t first, std::size_t last) {
    for (std::size_t t = first; t < last; ++t) {
      const Step& step = plan_.steps[t];
      for (const Ref& ref : step.in) touch(t, ref.buffer, false);
      for (const Ref& ref : step.out) touch(t, ref.buffer, true);
      if (step.scratch.valid()) touch(t, step.scratch, true);
    }
  }

  // Whole buffers: what lies in one buffer is the business of one value after the other.
  void touch(std::size_t t, BufferId id, bool writes) {
    const Buffer& buffer = plan_.buffers[id.index];
    if (buffer.binding == Binding::tile || buffer.bytes == 0) return;
    auto& stretches = areas_[{buffer.memory, buffer.binding, buffer.slot}];
    const std::int64_t begin = buffer.offset, end = buffer.offset + buffer.bytes;
    cut(stretches, begin);
    cut(stretches, end);
    const std::size_t now = launches_.size() - 1;
    for (auto at = stretches.find(begin); at->first < end; ++at) {
      Stretch& stretch = at->second;
      const auto must_follow = [&](std::size_t other) {
        if (other == nobody || happens_before(other, now)) return;
        problems_.report("step {} and step {} touch b{}'s bytes, and neither happens before the other",
                         launches_[other].first, t, id.index);
      };
      must_follow(stretch.writer);
      if (!writes) {
        if (std::ranges::find(stretch.readers, now) == stretch.readers.end()) stretch.readers.push_back(now);
        continue;
      }
      for (std::size_t reader : stretch.readers) must_follow(reader);
      stretch = {.writer = now};
    }
  }

  // So that a stretch begins there.
  static void cut(std::map<std::int64_t, Stretch>& stretches, std::int64_t at) {
    auto next = stretches.lower_bound(at);
    if (next != stretches.end() && next->first == at) return;
    Stretch before = next == stretches.begin() ? Stretch{} : std::prev(next)->second;
    stretches.emplace(at, std::move(before));
  }

  const Plan& plan_;
  ProblemList& problems_;
  std::vector<Launch> launches_;
  std::vector<std::size_t> launch_of_;  // per step
  std::map<Area, std::map<std::int64_t, Stretch>> areas_;
};

}  // namespace

void verify_lanes(const Plan& plan, std::span<const std::pair<std::size_t, std::size_t>> effects,
                  ProblemList& problems) {
  if (plan.lanes.size() == 1) return;  // one after the other
  LaneVerifier(plan, problems).run(effects);
}

}  // namespace tidemark
