// The tapes that were made on a thread, in their order: so that none is active that is gone, whichever goes
// first, and on whichever thread it does.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

// What an activation interrupted; those of a thread are a chain.
template <class T>
struct Interrupted {
  Recorder<T>* recorder = nullptr;
  Interrupted* outer = nullptr;
};
template <class T>
inline constinit thread_local Interrupted<T>* innermost_activation = nullptr;

// On this thread. Another one, on which a tape of this thread's goes, may look at the same moment.
template <class T>
void set_active(Recorder<T>* recorder) {
  std::atomic_ref(active_recorder<T>).store(recorder, std::memory_order_relaxed);
}

template <class T>
class ThreadTapes {
 public:
  static std::shared_ptr<ThreadTapes> of_this_thread() {
    struct Holder {
      std::shared_ptr<ThreadTapes> tapes = std::make_shared<ThreadTapes>();
      Holder() { tapes->active_ = &active_recorder<T>; }
      ~Holder() {
        const std::lock_guard lock(tapes->mutex_);
        tapes->active_ = nullptr;
      }
    };
    thread_local Holder holder;
    return holder.tapes;
  }

  // On this thread. Who `activates` is recorded to from now on.
  void add(Recorder<T>* tape, bool activates) {
    const std::lock_guard lock(mutex_);
    tapes_.push_back({tape, active_recorder<T>});
    if (activates) set_active(tape);
  }
  // On any thread. What was active before it takes its place, wherever it would have become active.
  void remove(Recorder<T>* tape) {
    const std::lock_guard lock(mutex_);
    const auto at =
        std::find_if(tapes_.begin(), tapes_.end(), [&](const Made& made) { return made.tape == tape; });
    Recorder<T>* const before = at->before;
    tapes_.erase(at);
    for (Made& made : tapes_)
      if (made.before == tape) made.before = before;
    for (Interrupted<T>* each = innermost_activation<T>; each; each = each->outer)
      if (each->recorder == tape) each->recorder = before;
    if (active_) {
      const std::atomic_ref active(*active_);
      if (active.load(std::memory_order_relaxed) == tape) active.store(before, std::memory_order_relaxed);
    }
    if (active_recorder<T> == tape) set_active(before);
  }

 private:
  struct Made {
    Recorder<T>* tape;
    Recorder<T>* before;  // that was active when it was made
  };
  std::mutex mutex_;
  std::vector<Made> tapes_;
  Recorder<T>** active_ = nullptr;  // of the thread, as long as it lives
};

}  // namespace tidemark::scalars
