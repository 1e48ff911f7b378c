// When the items of a sequence began and ended on the GPU: an event in front of and behind each, in the
// stream that it is put into. Events are made before the first run; their times are read when all is done,
// and brought to the host's clock by one event whose time both know.
#pragma once
#include <vector>

#include "tidemark/cuda/context.h"
#include "tidemark/runtime/recorded_times.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class ItemClock {
 public:
  ItemClock(const Context& context, std::size_t items);
  ~ItemClock();
  ItemClock(const ItemClock&) = delete;
  ItemClock& operator=(const ItemClock&) = delete;

  void start(const Stream& stream);  // before the first item of a run: waits for what the stream holds
  void begin(std::size_t item, const Stream& stream) const { note(events_[2 * item], stream); }
  void end(std::size_t item, const Stream& stream) const { note(events_[2 * item + 1], stream); }
  // Of all items, each of which ran since the start, once the GPU is done.
  void read(std::vector<CommandTimes>& times) const;

 private:
  void note(CUevent event, const Stream& stream) const;
  std::int64_t since_start(CUevent event) const;  // nanoseconds
  void release() noexcept;

  const Context& context_;
  CUevent started_ = nullptr;
  std::int64_t started_at_ = 0;  // on the host's clock
  std::vector<CUevent> events_;
};

}  // namespace tidemark::cuda

#endif
