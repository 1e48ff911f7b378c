#include "tidemark/cuda/item_clock.h"

#include <cmath>

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

ItemClock::ItemClock(const Context& context, std::size_t items) : context_(context) {
  context_.use();
  try {
    const auto make = [&](CUevent& event) {
      context_.check(context_.driver().event_create(&event, CU_EVENT_DEFAULT), "an event was made");
    };
    make(started_);
    events_.reserve(2 * items);
    for (std::size_t i = 0; i < 2 * items; ++i) {
      CUevent event = nullptr;
      make(event);
      events_.push_back(event);
    }
  } catch (...) {
    release();
    throw;
  }
}

ItemClock::~ItemClock() { release(); }

void ItemClock::release() noexcept {
  context_.use_to_release();
  for (const CUevent event : events_) context_.driver().event_destroy(event);
  if (started_) context_.driver().event_destroy(started_);
}

void ItemClock::start(const Stream& stream) {
  stream.wait();
  note(started_, stream);
  context_.check(context_.driver().event_wait(started_), "an event was waited for");
  started_at_ = clock_now();
}

void ItemClock::note(CUevent event, const Stream& stream) const {
  context_.check(context_.driver().event_record(event, stream.get()), "an event was recorded");
}

std::int64_t ItemClock::since_start(CUevent event) const {
  float milliseconds = 0;
  context_.check(context_.driver().event_elapsed(&milliseconds, started_, event), "a time was asked for");
  return std::llround(1e6 * static_cast<double>(milliseconds));
}

void ItemClock::read(std::vector<CommandTimes>& times) const {
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i].begin = started_at_ + since_start(events_[2 * i]);
    times[i].end = started_at_ + since_start(events_[2 * i + 1]);
  }
}

}  // namespace tidemark::cuda

#endif
