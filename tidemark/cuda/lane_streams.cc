#include "tidemark/cuda/lane_streams.h"

#include <utility>

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

void LaneStreams::make(const LaneCommands& commands) {
  if (!commands.run_side_by_side()) return;
  const Context& context = first_.context();
  const LaneLines made = commands.lines();
  std::size_t count = 0;
  for (const auto& line : made.lines) count += line.size();
  rows_.resize(count);
  for (std::uint32_t l = 0; l < made.lines.size(); ++l) {
    std::uint32_t previous = none;
    for (const LaneLines::Item& item : made.lines[l]) {
      Row& row = rows_[item.command];
      row = {.line = l,
             .first_wait = item.first_wait,
             .last_wait = item.last_wait,
             .previous = std::exchange(previous, item.command)};
      if (item.is_awaited) row.event = std::make_unique<Event>(context);
    }
    if (l > 0) sides_.push_back(std::make_unique<Side>(context));
  }
  waits_ = made.waits;
  forked_ = std::make_unique<Event>(context);
}

std::vector<std::size_t> LaneStreams::follows(std::size_t command) const {
  std::vector<std::size_t> before;
  if (rows_.empty()) return before;
  const Row& row = rows_[command];
  if (row.line > 0 && row.previous != none) before.push_back(row.previous);
  for (std::uint32_t w = row.first_wait; w < row.last_wait; ++w) before.push_back(waits_[w].command);
  return before;
}

void LaneStreams::fork(std::size_t begin, std::size_t end) {
  for (const auto& side : sides_) side->is_forked = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (rows_[i].line > 0) return first_.record(*forked_);
  }
}

const Stream& LaneStreams::before(std::size_t command, std::size_t begin) {
  const Row& row = rows_[command];
  Side* const side = row.line > 0 ? sides_[row.line - 1].get() : nullptr;
  const Stream& stream = side ? side->stream : first_;
  if (side && !side->is_forked) {
    stream.wait_for(*forked_);
    side->is_forked = true;
  }
  for (std::uint32_t w = row.first_wait; w < row.last_wait; ++w) {
    // What was put in earlier has been joined.
    if (waits_[w].command >= begin) stream.wait_for(*rows_[waits_[w].command].event);
  }
  return stream;
}

void LaneStreams::join() {
  for (const auto& side : sides_) {
    if (!side->is_forked) continue;
    side->stream.record(side->joined);
    first_.wait_for(side->joined);
  }
}

void LaneStreams::join_if_possible() noexcept {
  const Driver& driver = first_.context().driver();
  for (const auto& side : sides_) {
    if (!side->is_forked) continue;
    driver.event_record(side->joined.get(), side->stream.get());
    driver.stream_wait_event(first_.get(), side->joined.get(), 0);
  }
}

std::int64_t LaneStreams::held_bytes() const {
  constexpr std::size_t per_event = 128, per_stream = std::size_t{64} << 10;  // of the driver's, about
  std::size_t bytes = rows_.capacity() * sizeof(Row) + waits_.capacity() * sizeof(waits_[0]);
  for (const Row& row : rows_) bytes += row.event ? per_event : 0;
  return static_cast<std::int64_t>(bytes + sides_.size() * (sizeof(Side) + per_stream));
}

}  // namespace tidemark::cuda

#endif
