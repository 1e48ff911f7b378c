#include "tidemark/solve/remat/timeline.h"

#include <algorithm>
#include <cmath>

#include "tidemark/base/check.h"

namespace tidemark {

Timeline::Timeline(const RematProblem& problem, std::span<const int> sequence)
    : problem_(&problem),
      block_size_(static_cast<std::size_t>(
          std::clamp(std::sqrt(static_cast<double>(sequence.size())) * 2, 24.0, 512.0))),
      task_(sequence.begin(), sequence.end()),
      block_(sequence.size()),
      index_(sequence.size()),
      saved_(sequence.size(), 0),
      runs_of_(at(problem.model.tasks)),
      events_(at(problem.model.items)),
      load_at_end_(problem.model.base),
      count_(static_cast<int>(sequence.size())) {
  const OrderModel& model = problem.model;
  for (Run run = 0; run < count_; ++run) {
    if (blocks_.empty() || blocks_.back().runs.size() >= block_size_) {
      order_.push_back(static_cast<int>(blocks_.size()));
      blocks_.emplace_back();
    }
    block_[at(run)] = static_cast<int>(blocks_.size()) - 1;
    index_[at(run)] = static_cast<int>(blocks_.back().runs.size());
    blocks_.back().runs.push_back(run);
    runs_of_[at(task(run))].push_back(run);
    for (int i : model.uses[task(run)]) events_[at(i)].push_back({run, false});
    for (int i : model.makes[task(run)]) events_[at(i)].push_back({run, true});
    cost_ += problem.cost[at(task(run))];
  }
  rank_blocks();

  std::vector<std::int64_t> change(sequence.size() + 1, 0);
  for (int i = 0; i < model.items; ++i) {
    if (model.pinned[at(i)]) load_at_end_ += model.size[at(i)];
    const auto& list = events_[at(i)];
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (!list[k].make) continue;
      std::size_t last = k;
      while (last + 1 < list.size() && !list[last + 1].make) ++last;
      const bool to_the_end = last + 1 == list.size() && model.pinned[at(i)];
      change[at(list[k].run)] += model.size[at(i)];
      change[to_the_end ? sequence.size() : at(list[last].run) + 1] -= model.size[at(i)];
    }
    if (!model.present[at(i)]) continue;
    std::size_t last = 0;
    while (last < list.size() && !list[last].make) ++last;
    change[0] += model.size[at(i)];
    const bool to_the_end = last == list.size() && model.pinned[at(i)];
    change[to_the_end ? sequence.size() : last == 0 ? 0 : at(list[last - 1].run) + 1] -= model.size[at(i)];
  }
  std::int64_t load = model.base;
  for (Run run = 0; run < count_; ++run) {
    load += change[at(run)];
    saved_[at(run)] = saved_by(run);
    blocks_[at(block_[at(run)])].load.push_back(load + model.scratch[at(task(run))] - saved_[at(run)]);
  }
}

std::int64_t Timeline::load(Run run) const {
  const Block& block = blocks_[at(block_[at(run)])];
  return block.load[at(index_[at(run)])] + block.added;
}

Timeline::Run Timeline::first() const { return blocks_[at(order_[0])].runs[0]; }

Timeline::Run Timeline::next(Run run) const {
  const int b = block_[at(run)];
  const std::size_t k = at(index_[at(run)]) + 1;
  if (k < blocks_[at(b)].runs.size()) return blocks_[at(b)].runs[k];
  const std::size_t rank = at(rank_[at(b)]) + 1;
  return rank < order_.size() ? blocks_[at(order_[rank])].runs.front() : none;
}

Timeline::Run Timeline::previous(Run run) const {
  const int b = block_[at(run)];
  const int k = index_[at(run)];
  if (k > 0) return blocks_[at(b)].runs[at(k - 1)];
  const int rank = rank_[at(b)];
  return rank > 0 ? blocks_[at(order_[at(rank - 1)])].runs.back() : none;
}

Sequence Timeline::sequence() const {
  Sequence tasks;
  tasks.reserve(at(count_));
  for (int b : order_) {
    for (Run run : blocks_[at(b)].runs) tasks.push_back(task(run));
  }
  return tasks;
}

std::int64_t Timeline::peak() const {
  std::int64_t peak = 0;
  for (const Block& block : blocks_) {
    if (block.runs.empty()) continue;
    block.count();
    peak = std::max(peak, block.highest + block.added);
  }
  return peak;
}

Timeline::Run Timeline::peak_run() const {
  const std::int64_t highest = peak();
  for (int b : order_) {
    const Block& block = blocks_[at(b)];
    if (block.highest + block.added != highest) continue;
    return block.runs[static_cast<std::size_t>(std::ranges::max_element(block.load) - block.load.begin())];
  }
  return none;
}

double Timeline::excess(std::int64_t limit) const {
  double sum = 0;
  for (const Block& block : blocks_) {
    const std::int64_t level = limit - block.added;
    if (block.runs.empty()) continue;
    block.count();
    if (block.highest <= level) continue;
    if (block.lowest >= level) {
      sum += std::max(0.0, block.sum - static_cast<double>(level) * static_cast<double>(block.load.size()));
      continue;
    }
    for (std::int64_t load : block.load) sum += static_cast<double>(std::max<std::int64_t>(0, load - level));
  }
  return sum;
}

int Timeline::events_before(int item, Run run) const {
  const auto& list = events_[at(item)];
  std::size_t low = 0, high = list.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (earlier(list[middle].run, run)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<int>(low);
}

bool Timeline::alive_before(int item, Run run) const {
  const int k = events_before(item, run);
  return (k > 0 || problem_->model.present[at(item)]) && spans_after(item, at(k));
}

// Event `k` of the item, or the end if there is none, reads what was there before it.
bool Timeline::spans_after(int item, std::size_t k) const {
  const auto& list = events_[at(item)];
  return k < list.size() ? !list[k].make : problem_->model.pinned[at(item)];
}

void Timeline::Block::count() const {
  if (counted) return;
  std::int64_t most = load[0], least = load[0];
  std::int64_t high = 0, low = 0;  // sums of halves: neither overflows
  for (std::int64_t bytes : load) {
    most = std::max(most, bytes);
    least = std::min(least, bytes);
    high += bytes >> 32;
    low += bytes & 0xffffffff;
  }
  highest = most;
  lowest = least;
  sum = static_cast<double>(high) * 0x1p32 + static_cast<double>(low);
  counted = true;
}

void Timeline::add_range(Block& block, std::size_t first, std::size_t last, std::int64_t bytes) {
  if (first == 0 && last == block.load.size()) {
    block.added += bytes;
    return;
  }
  std::int64_t* load = block.load.data();
  for (std::size_t k = first; k < last; ++k) load[k] += bytes;
  block.counted = false;
}

void Timeline::add(Run from, Run to, std::int64_t bytes) {
  const int a = rank_[at(block_[at(from)])], b = rank_[at(block_[at(to)])];
  const std::size_t first = at(index_[at(from)]), last = at(index_[at(to)]) + 1;
  if (a == b) {
    if (first < last) add_range(blocks_[at(order_[at(a)])], first, last, bytes);
    return;
  }
  if (a > b) return;  // an empty stretch
  Block& front = blocks_[at(order_[at(a)])];
  add_range(front, first, front.load.size(), bytes);
  for (int r = a + 1; r < b; ++r) blocks_[at(order_[at(r)])].added += bytes;
  add_range(blocks_[at(order_[at(b)])], 0, last, bytes);
}

void Timeline::add_between(Run after, Run before, std::int64_t bytes) {
  const Run from = next(after);
  if (from != before) add(from, previous(before), bytes);
}

std::int64_t Timeline::saved_by(Run run) const {
  const OrderModel& model = problem_->model;
  return saved_by_reuse(model, task(run),
                        [&](int item) { return !spans_after(item, at(events_before(item, run)) + 1); });
}

void Timeline::refresh_saved(Run run) {
  if (problem_->model.reuses[at(task(run))].empty()) return;
  const std::int64_t saved = saved_by(run);
  if (saved == saved_[at(run)]) return;
  add(run, run, saved_[at(run)] - saved);
  saved_[at(run)] = saved;
}

// Bytes alive when `run` begins.
std::int64_t Timeline::load_before(Run run) const {
  if (run == none) return load_at_end_;
  const OrderModel& model = problem_->model;
  std::int64_t bytes = load(run) - model.scratch[at(task(run))] + saved_[at(run)];
  for (int i : model.makes[task(run)]) bytes -= model.size[at(i)];
  return bytes;
}

void Timeline::number(int block, std::size_t from) {
  const std::vector<Run>& runs = blocks_[at(block)].runs;
  for (std::size_t k = from; k < runs.size(); ++k) {
    block_[at(runs[k])] = block;
    index_[at(runs[k])] = static_cast<int>(k);
  }
}

void Timeline::rank_blocks() {
  rank_.resize(blocks_.size());
  for (std::size_t r = 0; r < order_.size(); ++r) rank_[at(order_[r])] = static_cast<int>(r);
}

void Timeline::split(int block) {
  const int fresh = static_cast<int>(blocks_.size());
  blocks_.emplace_back();
  Block& left = blocks_[at(block)];
  Block& right = blocks_[at(fresh)];
  const std::ptrdiff_t half = static_cast<std::ptrdiff_t>(left.runs.size() / 2);
  right.runs.assign(left.runs.begin() + half, left.runs.end());
  right.load.assign(left.load.begin() + half, left.load.end());
  right.added = left.added;
  left.runs.resize(static_cast<std::size_t>(half));
  left.load.resize(static_cast<std::size_t>(half));
  left.counted = right.counted = false;
  number(fresh, 0);
  order_.insert(order_.begin() + rank_[at(block)] + 1, fresh);
  rank_blocks();
}

void Timeline::place(Run run, Run next, std::int64_t load) {
  const int b = next == none ? order_.back() : block_[at(next)];
  Block& block = blocks_[at(b)];
  const auto k = static_cast<std::ptrdiff_t>(next == none ? block.runs.size() : at(index_[at(next)]));
  block.runs.insert(block.runs.begin() + k, run);
  block.load.insert(block.load.begin() + k, load - block.added);
  block.counted = false;
  number(b, at(static_cast<int>(k)));
  if (block.runs.size() > 2 * block_size_) split(b);
}

void Timeline::put_use(int item, Run run) {
  auto& list = events_[at(item)];
  const auto k = static_cast<std::size_t>(events_before(item, run));
  if (!spans_after(item, k)) {  // the version before must last longer
    TM_DCHECK(k > 0);
    const Event last = list[k - 1];
    add(next(last.run), run, problem_->model.size[at(item)]);
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(k), {run, false});
    if (!last.make) refresh_saved(last.run);
  } else {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(k), {run, false});
  }
}

void Timeline::put_make(int item, Run run) {
  auto& list = events_[at(item)];
  const auto k = static_cast<std::size_t>(events_before(item, run));
  const std::int64_t size = problem_->model.size[at(item)];
  if (k > 0 && spans_after(item, k)) {  // the version before may end earlier
    const Event last = list[k - 1];
    add_between(last.run, run, -size);
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(k), {run, true});
    if (!last.make) refresh_saved(last.run);
  } else {
    add(run, run, size);
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(k), {run, true});
  }
}

void Timeline::take_use(int item, Run run) {
  auto& list = events_[at(item)];
  const auto k = static_cast<std::size_t>(events_before(item, run));
  const bool was_last = !spans_after(item, k + 1);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
  if (!was_last) return;
  const Event last = list[k - 1];
  add(next(last.run), run, -problem_->model.size[at(item)]);
  if (!last.make) refresh_saved(last.run);
}

void Timeline::take_make(int item, Run run) {
  auto& list = events_[at(item)];
  const auto k = static_cast<std::size_t>(events_before(item, run));
  const bool was_used = spans_after(item, k + 1);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
  if (!was_used) return;
  TM_DCHECK(k > 0);
  const Event last = list[k - 1];
  add_between(last.run, run, problem_->model.size[at(item)]);
  if (!last.make) refresh_saved(last.run);
}

Timeline::Run Timeline::insert(int task, Run next) {
  const OrderModel& model = problem_->model;
  Run run;
  if (free_.empty()) {
    run = static_cast<Run>(task_.size());
    task_.push_back(task);
    block_.push_back(0);
    index_.push_back(0);
    saved_.push_back(0);
  } else {
    run = free_.back();
    free_.pop_back();
    task_[at(run)] = task;
    saved_[at(run)] = 0;
  }
  place(run, next, load_before(next) + model.scratch[at(task)]);
  auto& runs = runs_of_[at(task)];
  runs.insert(std::ranges::upper_bound(runs, run, [&](Run a, Run b) { return earlier(a, b); }), run);
  for (int i : model.uses[task]) put_use(i, run);
  for (int i : model.makes[task]) put_make(i, run);
  refresh_saved(run);
  cost_ += problem_->cost[at(task)];
  ++count_;
  return run;
}

void Timeline::erase(Run run) {
  const OrderModel& model = problem_->model;
  const int t = task(run);
  for (int i : model.makes[t]) take_make(i, run);
  for (int i : model.uses[t]) take_use(i, run);
  std::erase(runs_of_[at(t)], run);
  const int b = block_[at(run)];
  Block& block = blocks_[at(b)];
  const auto k = static_cast<std::ptrdiff_t>(index_[at(run)]);
  block.runs.erase(block.runs.begin() + k);
  block.load.erase(block.load.begin() + k);
  if (block.runs.empty()) {
    order_.erase(order_.begin() + rank_[at(b)]);  // its number is not used again
    rank_blocks();
  } else {
    block.counted = false;
    number(b, static_cast<std::size_t>(k));
  }
  free_.push_back(run);
  cost_ -= problem_->cost[at(t)];
  --count_;
}

}  // namespace tidemark
