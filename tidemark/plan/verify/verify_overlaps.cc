// Sweeps over the list of steps with the live stretches of one memory's arena ordered by address.
#include <algorithm>
#include <map>
#include <tuple>

#include "tidemark/plan/verify/verify_buffers.h"

namespace tidemark {
namespace {

struct Event {
  std::int32_t step;
  bool begins;  // ends come first
  std::size_t buffer;
};

std::vector<Event> events_in(const Plan& plan, std::size_t memory) {
  std::vector<Event> events;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (static_cast<std::size_t>(buffer.memory) != memory || buffer.binding != Binding::arena) continue;
    if (buffer.bytes == 0 || buffer.begin == buffer.end) continue;
    events.push_back({buffer.begin, true, b});
    events.push_back({buffer.end, false, b});
  }
  std::ranges::sort(events, [](const Event& a, const Event& b) {
    return std::tuple(a.step, a.begins, a.buffer) < std::tuple(b.step, b.begins, b.buffer);
  });
  return events;
}

}  // namespace

std::int64_t verify_overlaps(const Plan& plan, std::size_t memory, ProblemList& problems) {
  const std::int64_t alignment = memory_of(plan, memory).alignment;
  std::int64_t load = 0, highest = 0;
  std::multimap<std::int64_t, std::size_t> live;  // by offset
  for (const Event& event : events_in(plan, memory)) {
    const Buffer& buffer = plan.buffers[event.buffer];
    if (!event.begins) {
      const auto [low, high] = live.equal_range(buffer.offset);
      live.erase(std::find_if(low, high, [&](const auto& entry) { return entry.second == event.buffer; }));
      load -= align_up(buffer.bytes, alignment);
      continue;
    }
    load += align_up(buffer.bytes, alignment);
    highest = std::max(highest, load);
    const auto at = live.insert({buffer.offset, event.buffer});
    const auto clash = [&](std::size_t other) {
      problems.report("b{} and b{} overlap at step {}", std::min(other, event.buffer),
                      std::max(other, event.buffer), event.step);
    };
    if (at != live.begin()) {
      const Buffer& below = plan.buffers[std::prev(at)->second];
      if (below.offset + below.bytes > buffer.offset) clash(std::prev(at)->second);
    }
    if (std::next(at) != live.end() && std::next(at)->first < buffer.offset + buffer.bytes)
      clash(std::next(at)->second);
  }
  return highest;
}

}  // namespace tidemark
