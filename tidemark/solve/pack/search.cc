#include "tidemark/solve/pack/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "tidemark/base/bytes.h"
#include "tidemark/base/deep_stack.h"
#include "tidemark/base/repeatable_math.h"

namespace tidemark::packing {
namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t remembered = std::size_t{1} << 20;  // refuted states kept, a power of two
constexpr std::size_t max_depth = 4'000;                  // of the recursion; deeper attempts are given up
constexpr std::size_t shallow = 30;                       // blocks: few enough for the caller's stack
// Some 600 bytes a level, four times that under sanitizers; pages that are not touched cost nothing.
constexpr std::size_t stack_bytes = std::size_t{32} << 20;
constexpr double first_limit = 2e6,
                 limit_growth = 1.3;  // work units per attempt, grown every round of preferences
constexpr double dives_per_attempt = 3;
constexpr int pure_preferences = 4;
constexpr double noise_of_preferences = 0.7;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDull;
  x = (x ^ (x >> 29)) * 0xC4CEB9FE1A85EC53ull;
  return x ^ (x >> 32);
}

}  // namespace

double dive_cost(const Problem& problem) {
  const double blocks = static_cast<double>(problem.blocks.size());
  return blocks * (static_cast<double>(problem.area()) / 2 + 2 * blocks);
}

Search::Search(const Problem& problem, std::int64_t capacity)
    : problem_(problem),
      capacity_(capacity),
      noise_(1),
      limit_(std::max(first_limit, dives_per_attempt * dive_cost(problem))) {
  const std::size_t blocks = problem.blocks.size();
  const std::size_t sections = static_cast<std::size_t>(problem.sections);
  std::map<std::tuple<int, int, Height, Height>, int> kinds;
  for (const Block& b : problem.blocks)
    kind_.push_back(kinds.try_emplace({b.first, b.last, b.size, b.alignment}, static_cast<int>(kinds.size()))
                        .first->second);
  for (std::size_t i = 0; i < kinds.size(); ++i) kind_key_.push_back(noise_.bits());
  preference_.resize(blocks);
  head_.resize(blocks);
  layout_.offsets.resize(blocks);
  floor_.resize(sections);
  rest_.resize(sections);
  valley_.resize(sections);
  covers_.resize(sections + 1);
  beside_left_.resize(sections + 1);
  beside_right_.resize(sections + 1);
  refuted_.assign(remembered, Key{0, 0});
}

SearchOutcome Search::run(WorkMeter& meter, std::int64_t share) {
  if (problem_.bound > capacity_) return SearchOutcome::infeasible;
  meter_ = &meter;
  while (share > 0 && !meter.exhausted()) {
    set_preferences();
    spent_ = 0;
    allowed_ = static_cast<std::int64_t>(limit_);
    stopped_ = false;
    const bool found = attempt();
    share -= spent_;
    if (found) {
      layout_.height = 0;
      for (std::size_t i = 0; i < layout_.offsets.size(); ++i)
        layout_.height = std::max(layout_.height, layout_.offsets[i] + problem_.blocks[i].size);
      return SearchOutcome::found;
    }
    if (!stopped_) return problem_.aligned ? SearchOutcome::infeasible : SearchOutcome::gave_up;
    if (++restarts_ % pure_preferences == 0) limit_ *= limit_growth;
  }
  return SearchOutcome::gave_up;
}

// The first attempts prefer large area, length, size, length² × size; later ones the same with noise.
void Search::set_preferences() {
  const int measure = restarts_ % pure_preferences;
  for (std::size_t i = 0; i < preference_.size(); ++i) {
    const Block& b = problem_.blocks[i];
    const double length = repeatable::log(b.length()), size = repeatable::log(static_cast<double>(b.size));
    preference_[i] = measure == 0   ? length + size
                     : measure == 1 ? length
                     : measure == 2 ? size
                                    : 2 * length + size;
    if (restarts_ >= pure_preferences) preference_[i] += noise_of_preferences * noise_.uniform();
  }
}

bool Search::attempt() {
  std::fill(head_.begin(), head_.end(), 0);
  trail_.clear();
  Frame& root = frame(0);
  root.blocks.resize(problem_.blocks.size());
  std::iota(root.blocks.begin(), root.blocks.end(), 0);
  if (problem_.blocks.size() <= shallow) return expand(0, 0, problem_.sections);
  bool found = false;
  on_stack(stack_bytes, [&] { found = expand(0, 0, problem_.sections); });
  return found;
}

Search::Frame& Search::frame(std::size_t depth) {
  while (frames_.size() <= depth) frames_.emplace_back();
  return frames_[depth];
}

// Bounds, splits and solves the blocks of a frame.
bool Search::expand(std::size_t depth, int lo, int hi) {
  Frame& here = frame(depth);
  if (here.blocks.empty()) return true;
  if (depth >= max_depth) return stopped_ = true, false;
  if (!measure(here, lo, hi)) return false;

  // Sections that a block joins to the next belong together.
  std::vector<int>& reach = covers_;
  std::fill(reach.begin() + lo, reach.begin() + hi, 0);
  for (int i : here.blocks) {
    const Block& b = problem_.blocks[i];
    reach[b.first] = std::max(reach[b.first], b.last);
  }
  std::vector<Group> groups;
  for (int s = lo; s < hi;) {
    if (reach[s] == 0) {
      ++s;
      continue;
    }
    int end = reach[s];
    for (int t = s; t < end; ++t) {
      end = std::max(end, reach[t]);
      valley_[t] = static_cast<int>(groups.size());
    }
    groups.push_back({0, 0, s, end});
    s = end;
  }
  for (int i : here.blocks) ++groups[valley_[problem_.blocks[i].first]].end;
  int total = 0;
  for (Group& g : groups) {
    const int count = g.end;
    g.begin = g.end = total;
    total += count;
  }
  here.grouped.resize(here.blocks.size());
  for (int i : here.blocks) here.grouped[groups[valley_[problem_.blocks[i].first]].end++] = i;

  // The small ones first: they fail soonest.
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.end - a.begin < b.end - b.begin; });
  const std::size_t mark = trail_.size();
  for (const Group& g : groups)
    if (!branch(depth, g)) return undo(mark), false;
  return true;
}

// Sorts by head, computes floors and rests of [lo, hi), and tests the heads against the capacity.
bool Search::measure(Frame& here, int lo, int hi) {
  std::vector<int>& blocks = here.blocks;
  for (std::size_t k = 1; k < blocks.size(); ++k) {  // nearly sorted already
    const int block = blocks[k];
    std::size_t at = k;
    for (; at > 0 && head_[blocks[at - 1]] < head_[block]; --at) blocks[at] = blocks[at - 1];
    blocks[at] = block;
  }
  std::fill(rest_.begin() + lo, rest_.begin() + hi, 0);
  std::int64_t steps = 0;
  bool fits = true;
  for (int i : blocks) {
    const Block& b = problem_.blocks[i];
    const Height head = head_[i];
    Height* const rest = rest_.data() + b.first;
    Height* const floor = floor_.data() + b.first;
    Height most = 0;
    const int length = b.length();
    for (int k = 0; k < length; ++k) {
      rest[k] += b.size;
      floor[k] = head;
      most = std::max(most, rest[k]);
    }
    steps += length;
    if (head + most > capacity_) {
      fits = false;
      break;
    }
  }
  const std::int64_t units = static_cast<std::int64_t>(blocks.size()) * 4 + steps;
  spent_ += units;
  meter_->spend(units);
  if (spent_ > allowed_ || meter_->exhausted()) stopped_ = true;
  return fits && !stopped_;
}

bool Search::branch(std::size_t depth, const Group& group) {
  Frame& here = frame(depth);
  const std::span<const int> blocks(here.grouped.data() + group.begin,
                                    static_cast<std::size_t>(group.end - group.begin));
  if (blocks.size() == 1) {
    layout_.offsets[blocks[0]] = head_[blocks[0]];  // measure() has seen that it fits
    return true;
  }
  const Key key = key_of(blocks, group.lo, group.hi);
  Key& slot = refuted_[key.first & (remembered - 1)];
  if (slot == key) return false;

  const Choice choice = choose(blocks, group.lo, group.hi);
  std::vector<int> candidates = std::move(here.candidates);
  candidates.clear();
  for (int i : blocks) {
    const Block& b = problem_.blocks[i];
    if (b.first >= choice.valley_lo && b.last <= choice.valley_hi && b.first <= choice.section &&
        choice.section < b.last)
      candidates.push_back(i);
  }
  std::sort(candidates.begin(), candidates.end(), [&](int a, int b) {
    return preference_[a] != preference_[b] ? preference_[a] > preference_[b] : a < b;
  });
  bool found = false;
  for (std::size_t k = 0; k < candidates.size() && !found && !stopped_; ++k) {
    const bool seen = std::any_of(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(k),
                                  [&](int other) { return kind_[other] == kind_[candidates[k]]; });
    if (!seen) found = place(depth, group, candidates[k]);
  }
  if (!found && !stopped_ && choice.may_stay_empty) found = leave_empty(depth, group, choice);
  frame(depth).candidates = std::move(candidates);
  if (!found && !stopped_) slot = key;
  return found;
}

bool Search::place(std::size_t depth, const Group& group, int block) {
  Frame& next = frame(depth + 1);
  const Frame& here = frames_[depth];
  const Block& placed = problem_.blocks[block];
  const std::size_t mark = trail_.size();
  const Height top = head_[block] + placed.size;
  layout_.offsets[block] = head_[block];
  next.blocks.clear();
  for (int k = group.begin; k < group.end; ++k) {
    const int i = here.grouped[k];
    if (i == block) continue;
    next.blocks.push_back(i);
    const Block& b = problem_.blocks[i];
    if (b.first < placed.last && placed.first < b.last) raise_head(i, top);
  }
  if (expand(depth + 1, group.lo, group.hi)) return true;
  undo(mark);
  return false;
}

bool Search::leave_empty(std::size_t depth, const Group& group, const Choice& choice) {
  Frame& next = frame(depth + 1);
  const Frame& here = frames_[depth];
  const std::size_t mark = trail_.size();
  next.blocks.assign(here.grouped.begin() + group.begin, here.grouped.begin() + group.end);
  for (int i : next.blocks) {
    const Block& b = problem_.blocks[i];
    if (b.first <= choice.section && choice.section < b.last) raise_head(i, choice.raised);
  }
  if (expand(depth + 1, group.lo, group.hi)) return true;
  undo(mark);
  return false;
}

void Search::find_valleys(int lo, int hi) {
  for (int s = lo; s < hi;) {
    int end = s;
    while (end < hi && floor_[end] == floor_[s]) ++end;
    const bool walled = (s == lo || floor_[s - 1] > floor_[s]) && (end == hi || floor_[end] > floor_[s]);
    std::fill(valley_.begin() + s, valley_.begin() + end, walled ? s : -1);
    s = end;
  }
}

Search::Choice Search::choose(std::span<const int> blocks, int lo, int hi) {
  find_valleys(lo, hi);
  // Per section s of a valley: how many blocks of the valley cover s; the least size of those that end at s
  // or before, and of those that begin after s.
  std::fill(covers_.begin() + lo, covers_.begin() + hi + 1, 0);
  std::fill(beside_left_.begin() + lo, beside_left_.begin() + hi + 1, unbounded);
  std::fill(beside_right_.begin() + lo, beside_right_.begin() + hi + 1, unbounded);
  for (int i : blocks) {
    const Block& b = problem_.blocks[i];
    if (valley_[b.first] < 0 || valley_[b.first] != valley_[b.last - 1]) continue;
    ++covers_[b.first];
    --covers_[b.last];
    beside_left_[b.last] = std::min(beside_left_[b.last], b.size);
    beside_right_[b.first] = std::min(beside_right_[b.first], b.size);
  }

  Choice best;
  for (int s = lo; s < hi;) {
    if (valley_[s] < 0) {
      ++s;
      continue;
    }
    int end = s;
    while (end < hi && valley_[end] == valley_[s]) ++end;
    const Height ground = floor_[s];
    const Height wall = std::min(s > lo ? floor_[s - 1] : unbounded, end < hi ? floor_[end] : unbounded);
    Height smallest = unbounded;
    for (int t = end - 1; t >= s; --t) {
      smallest = std::min(smallest, beside_right_[t]);
      if (t > s) beside_right_[t] = smallest;
    }
    Height left = unbounded;
    int cover = 0;
    for (int t = s; t < end; ++t) {
      cover += covers_[t];
      if (t > s) left = std::min(left, beside_left_[t]);
      const Height beside = std::min(left, t + 1 < end ? beside_right_[t + 1] : unbounded);
      Choice c{.section = t, .slack = capacity_ - ground - rest_[t], .valley_floor = ground};
      c.valley_lo = s;
      c.valley_hi = end;
      c.raised = std::min(wall, beside < unbounded ? ground + beside : unbounded);
      c.may_stay_empty = c.raised < unbounded && c.raised + rest_[t] <= capacity_;
      // With no block beside it the whole valley would stay empty, though a block fits below the wall.
      if (beside >= unbounded && wall - ground >= smallest) c.may_stay_empty = false;
      c.branches = cover + (c.may_stay_empty ? 1 : 0);
      if (best.section < 0 || std::tie(c.branches, c.slack) < std::tie(best.branches, best.slack)) best = c;
    }
    s = end;
  }
  return best;
}

void Search::raise_head(int block, Height height) {
  height = align_up(height, problem_.blocks[block].alignment);
  if (head_[block] >= height) return;
  trail_.emplace_back(block, head_[block]);
  head_[block] = height;
}

void Search::undo(std::size_t mark) {
  while (trail_.size() > mark) {
    head_[trail_.back().first] = trail_.back().second;
    trail_.pop_back();
  }
}

Search::Key Search::key_of(std::span<const int> blocks, int lo, int hi) const {
  std::uint64_t a = 0, b = 0;
  for (int i : blocks) {
    const std::uint64_t key = kind_key_[kind_[i]];
    a += key;
    b += mix(key);
  }
  for (int s = lo; s < hi; ++s) {
    const std::uint64_t f = static_cast<std::uint64_t>(floor_[s]);
    a = mix(a + f);
    b = mix((b ^ f) + 0x9E3779B97F4A7C15ull);
  }
  return {a, b | 1};  // never the empty slot's
}

}  // namespace tidemark::packing
