#include "tidemark/cuda/hazards.h"

#include <algorithm>
#include <utility>

namespace tidemark::cuda {
namespace {

// After so many commands one waits for all: the bits of what each follows stay few.
constexpr std::size_t most_since_base = 4096;

}  // namespace

// The segment that begins there, once one that holds the address is cut in two; else the next one.
Hazards::Segments::iterator Hazards::split(std::uint64_t at) {
  const auto next = segments_.lower_bound(at);
  if (next == segments_.begin() || (next != segments_.end() && next->first == at)) return next;
  const auto held = std::prev(next);
  if (held->second.last <= at) return next;
  Segment rest = held->second;
  held->second.last = at;
  return segments_.emplace_hint(next, at, std::move(rest));
}

void Hazards::read(const Access& access, std::vector<std::size_t>& before) {
  split(access.last);
  std::uint64_t at = access.first;
  for (auto s = split(at); at < access.last; ++s) {
    if (s == segments_.end() || s->first > at) {  // a gap, which nobody has touched
      const std::uint64_t end = s == segments_.end() ? access.last : std::min(s->first, access.last);
      s = segments_.emplace_hint(s, at, Segment{.last = end});
    }
    Segment& segment = s->second;
    if (segment.writer >= 0) before.push_back(static_cast<std::size_t>(segment.writer));
    segment.readers.push_back(next_);
    at = segment.last;
  }
}

void Hazards::write(const Access& access, std::vector<std::size_t>& before) {
  const auto end = split(access.last);
  auto s = split(access.first);
  while (s != end) {
    const Segment& segment = s->second;
    if (segment.writer >= 0) before.push_back(static_cast<std::size_t>(segment.writer));
    before.insert(before.end(), segment.readers.begin(), segment.readers.end());
    s = segments_.erase(s);
  }
  segments_.emplace_hint(end, access.first,
                         Segment{.last = access.last, .writer = static_cast<std::ptrdiff_t>(next_)});
}

// Counts the next command as one that follows these.
std::vector<std::size_t> Hazards::follow(std::vector<std::size_t> before) {
  std::erase(before, next_);  // where its own operands overlap
  std::ranges::sort(before, std::greater());
  if (before.empty() && has_base_) before.push_back(base_);
  std::vector<std::uint64_t> past((ends_.size() + 63) / 64);
  std::vector<std::size_t> kept;
  for (const std::size_t other : before) {
    const std::size_t bit = other - base_;
    if ((past[bit / 64] >> bit % 64 & 1) != 0) continue;
    kept.push_back(other);
    past[bit / 64] |= std::uint64_t{1} << bit % 64;
    const std::vector<std::uint64_t>& further = past_[bit];
    for (std::size_t w = 0; w < further.size(); ++w) past[w] |= further[w];
    ends_[bit] = false;
  }
  past_.push_back(std::move(past));
  ends_.push_back(true);
  ++next_;
  return kept;
}

std::vector<std::size_t> Hazards::add(std::span<const Access> accesses, std::span<const std::size_t> also) {
  if (ends_.size() >= most_since_base) return add_barrier();
  std::vector<std::size_t> before;
  for (const std::size_t other : also) before.push_back(std::max(other, base_));  // what it follows has ended
  for (const Access& access : accesses) {
    if (access.first < access.last && !access.writes) read(access, before);
  }
  for (const Access& access : accesses) {
    if (access.first < access.last && access.writes) write(access, before);
  }
  return follow(std::move(before));
}

std::vector<std::size_t> Hazards::add_barrier() {
  std::vector<std::size_t> before;
  for (std::size_t i = ends_.size(); i-- > 0;) {
    if (ends_[i]) before.push_back(base_ + i);
  }
  segments_.clear();
  base_ = next_++;
  has_base_ = true;
  ends_.assign(1, true);
  past_.assign(1, {});
  return before;
}

}  // namespace tidemark::cuda
