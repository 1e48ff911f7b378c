// Runs a function on a thread with a small stack: what recurses on something of the user's size crashes
// there.
#pragma once
#include <pthread.h>

#include <cstddef>
#include <exception>

#include "tests/support/sanitized.h"
#include "tidemark/base/check.h"

namespace tidemark::testing {

// Sanitizers put more on the stack, and of their own.
inline constexpr std::size_t small_stack_bytes = (sanitized ? 16 : 1) * (std::size_t{256} << 10);

template <class F>
void on_small_stack(const F& f) {
  struct Task {
    const F* f;
    std::exception_ptr error;
  } task{&f, nullptr};
  const auto run = [](void* self) -> void* {
    Task& t = *static_cast<Task*>(self);
    try {
      (*t.f)();
    } catch (...) {
      t.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  TM_CHECK(pthread_attr_setstacksize(&attributes, small_stack_bytes) == 0);
  pthread_t thread;
  TM_CHECK(pthread_create(&thread, &attributes, run, &task) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (task.error) std::rethrow_exception(task.error);
}

}  // namespace tidemark::testing
