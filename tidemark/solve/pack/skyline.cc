#include "tidemark/solve/pack/skyline.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/repeatable_math.h"

namespace tidemark::packing {
namespace {

constexpr std::int64_t endless = std::int64_t{1}
                                 << 62;  // walls at both ends, slack of sections that are done
constexpr float never = -1e30f;
constexpr std::int64_t units_per_step = 10;  // of a tree: a miss of the cache or two
constexpr int no_section = std::numeric_limits<int>::max();
constexpr int many = 1 << 30;

int leaves_for(std::size_t count) {
  int leaves = 1;
  while (static_cast<std::size_t>(leaves) < count) leaves *= 2;
  return leaves;
}

}  // namespace

Skyline::Skyline(const Problem& problem) : problem_(&problem) {
  const int blocks = static_cast<int>(problem.blocks.size());
  order_.resize(blocks);
  rank_.resize(blocks);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    const Block &x = problem.blocks[a], &y = problem.blocks[b];
    return x.first != y.first ? x.first < y.first : x.last != y.last ? x.last < y.last : a < b;
  });
  begin_.assign(problem.sections + 1, blocks);
  for (int r = blocks - 1; r >= 0; --r) {
    rank_[order_[r]] = r;
    begin_[problem.blocks[order_[r]].first] = r;
  }
  for (int s = problem.sections - 1; s >= 0; --s) begin_[s] = std::min(begin_[s], begin_[s + 1]);

  leaves_ = leaves_for(problem.blocks.size());
  blocks_.preference.assign(2 * leaves_, never);
  blocks_.least_last.assign(2 * leaves_, no_section);
  blocks_.most_last.assign(2 * leaves_, -1);
  for (int r = 0; r < blocks; ++r) {
    const int last = problem.blocks[order_[r]].last;
    blocks_.preference[leaves_ + r] = 0;
    blocks_.least_last[leaves_ + r] = blocks_.most_last[leaves_ + r] = last;
  }
  for (int node = leaves_ - 1; node > 0; --node) pull(node);

  section_leaves_ = leaves_for(problem.load.size());
  slack_.least.assign(2 * section_leaves_, endless);
  slack_.added.assign(2 * section_leaves_, 0);
  slack_.blocks.assign(2 * section_leaves_, many);
  slack_.blocks_added.assign(2 * section_leaves_, 0);
  std::vector<int> covering(problem.sections + 1, 0);
  for (const Block& b : problem.blocks) ++covering[b.first], --covering[b.last];
  std::partial_sum(covering.begin(), covering.end(), covering.begin());
  for (int s = 0; s < problem.sections; ++s) {
    slack_.least[section_leaves_ + s] = -problem.load[s];
    slack_.blocks[section_leaves_ + s] = covering[s];
  }
  for (int node = section_leaves_ - 1; node > 0; --node) {
    slack_.least[node] = std::min(slack_.least[2 * node], slack_.least[2 * node + 1]);
    slack_.blocks[node] = std::min(slack_.blocks[2 * node], slack_.blocks[2 * node + 1]);
  }

  segments_.resize(problem.sections + 1);
  segments_[0] = {.end = problem.sections, .present = true};
  queue(0);
  undecided_ = problem.blocks.size();
  layout_.offsets.resize(problem.blocks.size());
}

void Skyline::prefer(const Taste& taste, Noise& noise) {
  waste_price_ = taste.waste_price;
  for (std::size_t i = 0; i < problem_->blocks.size(); ++i) {
    const double jitter = taste.noise > 0 ? taste.noise * noise.uniform() : 0;
    const std::size_t leaf = static_cast<std::size_t>(leaves_ + rank_[i]);
    if (blocks_.most_last[leaf] < 0) continue;
    const Block& b = problem_->blocks[i];
    blocks_.preference[leaf] =
        static_cast<float>(taste.length * repeatable::log(b.length()) +
                           taste.size * repeatable::log(static_cast<double>(b.size)) + jitter);
  }
  for (int node = leaves_ - 1; node > 0; --node) pull(node);
  steps_ += 4 * leaves_;
}

std::int64_t Skyline::build(std::int64_t level) {
  while (undecided_ > 0) {
    const auto [height, segment] = waiting_.front();
    const Segment here = segments_[segment];
    if (here.present && here.height == height && height >= level) break;
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
    if (!here.present || here.height != height) continue;

    const Height wall = std::min(here.left >= 0 ? segments_[here.left].height : endless,
                                 here.right >= 0 ? segments_[here.right].height : endless);
    int critical = -1;
    const Height slack = least_slack(segment, here.end, critical);
    int block = -1;
    if (slack < endless / 2) {
      if (worth_giving_away(segment, wall, slack)) {
        spend_slack(segment, here.end, wall - height);
        raise(segment, segment, here.end, wall);
        continue;
      }
      block = preferred(segment, critical + 1, critical + 1, here.end);
      if (block < 0) block = preferred(segment, here.end, 0, here.end);
    }
    if (block >= 0) {
      place(block, segment);
    } else {
      TM_CHECK(wall < endless, "a block is left that fits nowhere");
      spend_slack(segment, here.end, wall - height);
      raise(segment, segment, here.end, wall);
    }
  }
  return units_per_step * std::exchange(steps_, 0);
}

void Skyline::place(int block, int segment) {
  const Block& b = problem_->blocks[block];
  const Height ground = segments_[segment].height;
  const Height offset = align_up(ground, b.alignment);
  layout_.offsets[block] = offset;
  layout_.height = std::max(layout_.height, offset + b.size);
  remove(block);
  add(1, 0, section_leaves_, b.first, b.last, ground - offset, -1);
  retire(1, 0, section_leaves_, b.first, b.last, 0);
  raise(segment, b.first, b.last, offset + b.size);
}

// A valley is given away up to its lower wall when it keeps more slack than that wall has, by the price of
// the waste.
bool Skyline::worth_giving_away(int segment, Height wall, Height slack) const {
  if (wall >= endless || std::isinf(waste_price_)) return false;
  const Segment& here = segments_[segment];
  Height beside = endless;
  int at = 0;
  if (here.left >= 0 && segments_[here.left].height == wall)
    beside = std::min(beside, least_slack(here.left, segment, at));
  if (here.right >= 0 && segments_[here.right].height == wall)
    beside = std::min(beside, least_slack(here.right, segments_[here.right].end, at));
  return waste_price_ * static_cast<double>(wall - here.height) <=
         static_cast<double>(slack) - static_cast<double>(beside);
}

std::int64_t Skyline::least_height() const {
  const Height slack = slack_.least[1];
  return std::max(layout_.height, slack > endless / 2 ? 0 : -slack);
}

double Skyline::cost() const {
  const double bound = static_cast<double>(problem_->bound), scale = 0.01 * bound;
  double sum = 0;
  auto visit = [&](auto&& self, int node, Height acc) -> void {
    if (slack_.least[node] + acc > endless / 2) return;
    if (node >= section_leaves_) {
      sum += repeatable::exp((-static_cast<double>(slack_.least[node] + acc) - bound) / scale);
      return;
    }
    self(self, 2 * node, acc + slack_.added[node]);
    self(self, 2 * node + 1, acc + slack_.added[node]);
  };
  visit(visit, 1, 0);
  const double built = (static_cast<double>(layout_.height) - bound) / scale;
  return std::max(built, sum > 0 ? repeatable::log(sum) : -1e9);
}

// ---- the outline

void Skyline::queue(int segment) {
  waiting_.emplace_back(segments_[segment].height, segment);
  std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
}

void Skyline::put(int segment, Segment value) {
  value.present = true;
  segments_[segment] = value;
  if (value.left >= 0) segments_[value.left].right = segment;
  if (value.right >= 0) segments_[value.right].left = segment;
}

// [from, to) of a segment gets a new height and joins neighbours of the same height.
void Skyline::raise(int segment, int from, int to, Height height) {
  const Segment old = segments_[segment];
  segments_[segment].present = false;
  int left = old.left, right = old.right;
  if (segment < from) {
    put(segment, {.end = from, .left = left, .right = right, .height = old.height});
    queue(segment);
    left = segment;
  }
  if (to < old.end) {
    put(to, {.end = old.end, .left = left, .right = right, .height = old.height});
    queue(to);
    right = to;
  }
  int begin = from, end = to;
  if (left >= 0 && segments_[left].height == height) {
    segments_[left].present = false;
    begin = left;
    left = segments_[left].left;
  }
  if (right >= 0 && segments_[right].height == height) {
    segments_[right].present = false;
    end = segments_[right].end;
    right = segments_[right].right;
  }
  put(begin, {.end = end, .left = left, .right = right, .height = height});
  queue(begin);
}

// ---- the tree of undecided blocks

void Skyline::pull(std::size_t node) {
  blocks_.preference[node] = std::max(blocks_.preference[2 * node], blocks_.preference[2 * node + 1]);
  blocks_.least_last[node] = std::min(blocks_.least_last[2 * node], blocks_.least_last[2 * node + 1]);
  blocks_.most_last[node] = std::max(blocks_.most_last[2 * node], blocks_.most_last[2 * node + 1]);
}

void Skyline::remove(int block) {
  std::size_t node = static_cast<std::size_t>(leaves_ + rank_[block]);
  blocks_.preference[node] = never;
  blocks_.least_last[node] = no_section;
  blocks_.most_last[node] = -1;
  for (node /= 2; node > 0; node /= 2) pull(node);
  --undecided_;
}

// The preferred undecided block with first in [first_lo, first_hi) and last in [last_lo, last_hi]; -1: none.
int Skyline::preferred(int first_lo, int first_hi, int last_lo, int last_hi) {
  query_ = {begin_[first_lo], begin_[first_hi], last_lo, last_hi, never, -1};
  if (query_.lo < query_.hi) descend(1, 0, leaves_);
  return query_.found;
}

void Skyline::descend(std::size_t node, int lo, int hi) {
  ++steps_;
  if (hi <= query_.lo || query_.hi <= lo || blocks_.preference[node] <= query_.best ||
      blocks_.least_last[node] > query_.last_hi || blocks_.most_last[node] < query_.last_lo)
    return;
  if (hi - lo == 1) {
    query_.found = order_[lo];
    query_.best = blocks_.preference[node];
    return;
  }
  const int middle = (lo + hi) / 2;
  if (blocks_.preference[2 * node] >= blocks_.preference[2 * node + 1]) {
    descend(2 * node, lo, middle);
    descend(2 * node + 1, middle, hi);
  } else {
    descend(2 * node + 1, middle, hi);
    descend(2 * node, lo, middle);
  }
}

// ---- the tree of slack

void Skyline::add(std::size_t node, int lo, int hi, int from, int to, Height slack, int blocks) {
  if (to <= lo || hi <= from) return;
  ++steps_;
  if (from <= lo && hi <= to) {
    slack_.least[node] += slack;
    slack_.added[node] += slack;
    slack_.blocks[node] += blocks;
    slack_.blocks_added[node] += blocks;
    return;
  }
  const int middle = (lo + hi) / 2;
  add(2 * node, lo, middle, from, to, slack, blocks);
  add(2 * node + 1, middle, hi, from, to, slack, blocks);
  slack_.least[node] = std::min(slack_.least[2 * node], slack_.least[2 * node + 1]) + slack_.added[node];
  slack_.blocks[node] =
      std::min(slack_.blocks[2 * node], slack_.blocks[2 * node + 1]) + slack_.blocks_added[node];
}

// Sections of [from, to) that no undecided block covers any more have no slack to care for.
void Skyline::retire(std::size_t node, int lo, int hi, int from, int to, int acc) {
  if (to <= lo || hi <= from || slack_.blocks[node] + acc > 0) return;
  ++steps_;
  if (hi - lo == 1) {
    slack_.least[node] = endless;
    slack_.blocks[node] = many;
    return;
  }
  const int middle = (lo + hi) / 2;
  acc += slack_.blocks_added[node];
  retire(2 * node, lo, middle, from, to, acc);
  retire(2 * node + 1, middle, hi, from, to, acc);
  slack_.least[node] = std::min(slack_.least[2 * node], slack_.least[2 * node + 1]) + slack_.added[node];
  slack_.blocks[node] =
      std::min(slack_.blocks[2 * node], slack_.blocks[2 * node + 1]) + slack_.blocks_added[node];
}

void Skyline::spend_slack(int from, int to, Height amount) {
  add(1, 0, section_leaves_, from, to, -amount, 0);
}

Skyline::Height Skyline::least_slack(int from, int to, int& at) const {
  Height least = std::numeric_limits<Height>::max();
  least_slack(1, 0, section_leaves_, from, to, 0, least, at);
  return least;
}

void Skyline::least_slack(std::size_t node, int lo, int hi, int from, int to, Height acc, Height& least,
                          int& at) const {
  if (to <= lo || hi <= from || slack_.least[node] + acc >= least) return;
  if (hi - lo == 1) {
    least = slack_.least[node] + acc;
    at = lo;
    return;
  }
  const int middle = (lo + hi) / 2;
  acc += slack_.added[node];
  if (slack_.least[2 * node] <= slack_.least[2 * node + 1]) {
    least_slack(2 * node, lo, middle, from, to, acc, least, at);
    least_slack(2 * node + 1, middle, hi, from, to, acc, least, at);
  } else {
    least_slack(2 * node + 1, middle, hi, from, to, acc, least, at);
    least_slack(2 * node, lo, middle, from, to, acc, least, at);
  }
}

}  // namespace tidemark::packing
