// The lanes of a plan as streams: line 0 (runtime/lane_lines.h), which computes, is the stream that all else
// uses too, each further one has a stream of its own for its copies, which go beside computing. Waits are
// events. Whatever is put in begins behind all that the first stream holds and ends before anything that
// follows there, so that whoever waits for the first stream has waited for all. Recorded graphs have edges
// instead (Sequence::record), and need the order alone.
//
//   first    ──┬── kernel ──┬── kernel ── kernel ──┬──▶
//   to host    └────────────┴── copy ──────────────┤
//   from host  └── copy ───────────────────────────┘
#pragma once
#include <memory>
#include <vector>

#include "tidemark/cuda/context.h"
#include "tidemark/runtime/lane_lines.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class LaneStreams {
 public:
  explicit LaneStreams(const Stream& first) : first_(first) {}
  LaneStreams(const LaneStreams&) = delete;
  LaneStreams& operator=(const LaneStreams&) = delete;

  void make(const LaneCommands& commands);  // streams and events, where there are several lines
  // What orders a command by the plan: what it waits for, and on a further line the one before it.
  std::vector<std::size_t> follows(std::size_t command) const;

  // The commands [begin, end): `call` puts one into the stream that it is given. When it throws, what was put
  // in before stays, joined to the first stream as ever.
  template <class Call>
  void put(std::size_t begin, std::size_t end, const Call& call) {
    if (rows_.empty()) {
      for (std::size_t i = begin; i < end; ++i) call(i, first_);
      return;
    }
    fork(begin, end);
    try {
      for (std::size_t i = begin; i < end; ++i) {
        const Stream& stream = before(i, begin);
        call(i, stream);
        if (rows_[i].event) stream.record(*rows_[i].event);
      }
    } catch (...) {
      join_if_possible();
      throw;
    }
    join();
  }
  std::int64_t held_bytes() const;

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  struct Row {  // of a command
    std::uint32_t line = 0, first_wait = 0, last_wait = 0;
    std::uint32_t previous = none;      // on its line
    std::unique_ptr<Event> event = {};  // that it has ended; null: nobody waits for that
  };
  struct Side {  // a further line
    explicit Side(const Context& context) : stream(context), joined(context) {}
    Stream stream;
    Event joined;
    bool is_forked = false;  // in what is being put
  };

  void fork(std::size_t begin, std::size_t end);
  const Stream& before(std::size_t command, std::size_t begin);  // what it waits for: in its stream
  void join();
  void join_if_possible() noexcept;

  const Stream& first_;
  std::vector<Row> rows_;
  std::vector<LaneLines::Wait> waits_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::unique_ptr<Event> forked_;
};

}  // namespace tidemark::cuda

#endif
