#include "tidemark/runtime/lane_lines.h"

#include <algorithm>

namespace tidemark {

void LaneCommands::add(const Command& command) {
  if (command.lane == 0 && rows_.empty()) {
    ++before_;
  } else {
    rows_.push_back({command.lane, command.kind == StepKind::compute, command.waits});
  }
}

bool LaneCommands::run_side_by_side() const {
  std::vector<bool> computes(1, true);
  for (const Row& row : rows_) {
    computes.resize(std::max(computes.size(), static_cast<std::size_t>(row.lane) + 1), false);
    if (row.computes) computes[static_cast<std::size_t>(row.lane)] = true;
  }
  return std::ranges::any_of(rows_,
                             [&](const Row& row) { return !computes[static_cast<std::size_t>(row.lane)]; });
}

LaneLines LaneCommands::lines() const {
  constexpr std::uint32_t unknown = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> line_of_lane(1, 0);
  for (const Row& row : rows_) {
    const auto lane = static_cast<std::size_t>(row.lane);
    line_of_lane.resize(std::max(line_of_lane.size(), lane + 1), unknown);
    if (row.computes) line_of_lane[lane] = 0;
  }
  std::uint32_t count = 1;
  for (const Row& row : rows_) {
    std::uint32_t& line = line_of_lane[static_cast<std::size_t>(row.lane)];
    if (line == unknown) line = count++;
  }
  LaneLines made{.lines = std::vector<std::vector<LaneLines::Item>>(count), .waits = {}};

  std::vector<std::uint32_t> line_of(before_, 0);  // per command
  for (std::size_t c = 0; c < before_; ++c)
    made.lines[0].push_back({.command = static_cast<std::uint32_t>(c)});
  std::vector<std::int64_t> known(std::size_t{count} * count, -1);  // per line, per other: waited for so far
  for (const Row& row : rows_) {
    const std::uint32_t line = line_of_lane[static_cast<std::size_t>(row.lane)];
    LaneLines::Item item{.command = static_cast<std::uint32_t>(line_of.size()),
                         .first_wait = static_cast<std::uint32_t>(made.waits.size())};
    for (std::uint32_t other = 0; other < count && !row.waits.empty(); ++other) {
      std::int64_t last = -1;  // a line runs in order: of its commands only the last counts
      for (const std::int32_t wait : row.waits) {
        if (line_of[static_cast<std::size_t>(wait)] == other) last = std::max<std::int64_t>(last, wait);
      }
      std::int64_t& so_far = known[std::size_t{line} * count + other];
      if (other == line || last <= so_far) continue;
      made.waits.push_back({other, static_cast<std::uint32_t>(last)});
      so_far = last;
    }
    item.last_wait = static_cast<std::uint32_t>(made.waits.size());
    made.lines[line].push_back(item);
    line_of.push_back(line);
  }
  for (const LaneLines::Wait& wait : made.waits) {
    std::vector<LaneLines::Item>& items = made.lines[wait.line];
    std::ranges::lower_bound(items, wait.command, {}, &LaneLines::Item::command)->is_awaited = true;
  }
  return made;
}

}  // namespace tidemark
