#include "tidemark/engine/disk_cuts.h"

#include <algorithm>
#include <optional>

#include "tidemark/autodiff/loop_segments.h"
#include "tidemark/plan/spill/tier.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark {
namespace {

// On the disk, each in pages of its own; what is small stays in memory.
std::int64_t disk_bytes(const std::vector<std::int64_t>& values, std::int64_t count) {
  std::int64_t bytes = 0;
  for (const std::int64_t value : values)
    bytes += value * count > buffer_alignment ? align_up(value * count, tier_alignment) : 0;
  return bytes;
}

// What waits on the disk: what segments keep, as far as there is room, or states alone.
enum class Waits { kept, states };

// So much less than the memory is kept, in states; a half of that where what is kept waits.
struct CutKind {
  Waits waits;
  std::int64_t less;
};
constexpr CutKind cut_kinds[] = {{Waits::states, 1},
                                 {Waits::states, 2},
                                 {Waits::states, most_states_beside},
                                 {Waits::kept, 0},
                                 {Waits::kept, most_states_beside}};

std::optional<DiskCut> cut_in(const DiskLoop& loop, const DiskLoopRates& rates, std::int64_t count,
                              const CutKind& kind, std::int64_t memory, std::int64_t disk) {
  const std::int64_t least = std::max<std::int64_t>(1, loop.state_bytes());
  const std::int64_t left = memory - kind.less * least;
  const std::int64_t own = std::max(least, kind.waits == Waits::kept ? left / 2 : left);
  const std::int64_t length = segment_length(loop.trips, count);
  const bool records = loop.record_bytes() * length <= own;
  const std::int64_t slots =
      std::clamp<std::int64_t>(own / std::max<std::int64_t>(1, loop.state_bytes()), 1, length);
  const std::int64_t state = disk_bytes(loop.state, 1);
  const std::int64_t stack = records ? disk_bytes(loop.record, length) : disk_bytes(loop.state, slots);
  const auto waiting = [&](std::int64_t again) {
    return std::max<std::int64_t>(0, again - 1) * state + (count - 1 - again) * stack;
  };
  std::int64_t again = kind.waits == Waits::kept ? 0 : count - 1;
  while (again < count - 1 && waiting(again) > disk) ++again;
  if (waiting(again) > disk) return {};

  const auto trips = static_cast<double>(loop.trips), steps = static_cast<double>(length);
  const auto segments = static_cast<double>(count), repeated = static_cast<double>(again);
  const double stacks = segments - 1 - repeated, states = std::max(0.0, repeated - 1);
  const auto seconds_of_moves = [&](const Link& link) {
    return states * seconds_of(link, static_cast<double>(state), true) +
           stacks * seconds_of(link, static_cast<double>(stack), true);
  };
  const auto advances = static_cast<double>(schedule::least_advances(length + 1, slots) - length);
  const double forward = trips * rates.step, out = seconds_of_moves(rates.out),
               in = seconds_of_moves(rates.in);
  const double backward =
      repeated * steps * rates.step + (records ? trips * std::max(rates.back - rates.step, 0.0)
                                               : segments * advances * rates.step + trips * rates.back);
  const double seconds = std::max(forward, out) + std::max(backward, in);
  const int number = static_cast<int>(&kind - cut_kinds);
  return DiskCut{number, count, again, own, waiting(again), length * loop.slice_bytes, seconds};
}

}  // namespace

std::vector<DiskCut> disk_cuts(const DiskLoop& loop, const DiskLoopRates& rates, std::int64_t memory,
                               std::int64_t disk, std::int64_t most) {
  std::vector<DiskCut> cuts;
  // As many as states have room for, and fewer.
  const std::int64_t each = std::max<std::int64_t>(1, disk_bytes(loop.state, 1));
  const std::int64_t top = std::min({most, loop.trips, disk / each + 2});
  for (std::int64_t count = top; count >= 2; count = count > 4 ? count * 2 / 3 : count - 1) {
    for (const CutKind& kind : cut_kinds) {
      if (const auto cut = cut_in(loop, rates, count, kind, memory, disk)) cuts.push_back(*cut);
    }
  }
  std::ranges::stable_sort(cuts, {}, &DiskCut::seconds);
  return cuts;
}

}  // namespace tidemark
