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
  const std::int64_t slots = std::clamp<std::int64_t>(own / least, 1, length);
  const std::int64_t state = disk_bytes(loop.state, 1);
  const std::int64_t stack = records ? disk_bytes(loop.record, length) : disk_bytes(loop.state, slots);
  const auto waiting = [&](std::int64_t again) {
    return std::max<std::int64_t>(0, again - 1) * state + (count - 1 - again) * stack;
  };
  const auto trips = static_cast<double>(loop.trips), forward = trips * rates.step;
  const auto advances = static_cast<double>(schedule::least_advances(length + 1, slots) - length);
  const double backward = records ? trips * std::max(rates.back - rates.step, 0.0)
                                  : static_cast<double>(count) * advances * rates.step + trips * rates.back;
  // Copies run beside computing, forward and backward by themselves.
  const auto seconds_with = [&](std::int64_t again) {
    const auto states = static_cast<double>(std::max<std::int64_t>(0, again - 1)),
               stacks = static_cast<double>(count - 1 - again);
    const auto moves = [&](const Link& link) {
      return states * seconds_of(link, static_cast<double>(state), true) +
             stacks * seconds_of(link, static_cast<double>(stack), true);
    };
    const double repeated = static_cast<double>(again * length) * rates.step;
    return std::max(forward, moves(rates.out)) + std::max(backward + repeated, moves(rates.in));
  };
  std::optional<DiskCut> best;
  for (std::int64_t again = kind.waits == Waits::kept ? 0 : count - 1; again < count; ++again) {
    if (waiting(again) > disk || waiting(again) == 0) continue;
    const double seconds = seconds_with(again);
    if (best && seconds >= best->seconds) continue;
    best = DiskCut{.kind = static_cast<int>(&kind - cut_kinds),
                   .segments = count,
                   .again = again,
                   .own = own,
                   .slots = records ? 0 : slots,
                   .on_disk = waiting(again),
                   .beside = length * loop.slice_bytes,
                   .seconds = seconds};
  }
  return best;
}

}  // namespace

std::vector<DiskCut> disk_cuts(const DiskLoop& loop, const DiskLoopRates& rates, std::int64_t memory,
                               std::int64_t disk, std::int64_t most) {
  std::vector<DiskCut> cuts;
  // As many as states have room for, and fewer; shorter ones are more loops than steps.
  constexpr std::int64_t shortest = 4;
  const std::int64_t each = std::max<std::int64_t>(1, disk_bytes(loop.state, 1));
  const std::int64_t top =
      std::min({most, std::max<std::int64_t>(2, loop.trips / shortest), disk / each + 2});
  std::vector<std::int64_t> counts = {top};
  for (std::int64_t count = most; count >= 2; count = count > 4 ? count * 2 / 3 : count - 1) {
    if (count < top) counts.push_back(count);
  }
  for (const std::int64_t count : counts) {
    for (const CutKind& kind : cut_kinds) {
      const std::optional<DiskCut> cut = cut_in(loop, rates, count, kind, memory, disk);
      const auto is_same = [&](const DiskCut& other) {
        return other.segments == cut->segments && other.again == cut->again && other.slots == cut->slots;
      };
      if (cut && std::ranges::none_of(cuts, is_same)) cuts.push_back(*cut);
    }
  }
  std::ranges::stable_sort(cuts, {}, &DiskCut::seconds);
  return cuts;
}

double seconds_alone(const DiskLoop& loop, const DiskLoopRates& rates, std::int64_t memory) {
  const auto trips = static_cast<double>(loop.trips);
  if (memory < 0) return trips * std::max(rates.back, rates.step);
  const std::int64_t slots =
      std::clamp<std::int64_t>(memory / std::max<std::int64_t>(1, loop.state_bytes()), 1, loop.trips);
  return static_cast<double>(schedule::least_advances(loop.trips + 1, slots)) * rates.step +
         trips * rates.back;
}

}  // namespace tidemark
