#include "tidemark/base/deep_stack.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstring>
#include <exception>

#include "tidemark/base/error.h"

namespace tidemark {

void call_on_stack(std::size_t bytes, void (*f)(void* self), void* self) {
  struct Task {
    void (*f)(void*);
    void* self;
    std::exception_ptr error;
  } task{f, self, nullptr};
  const auto run = [](void* argument) -> void* {
    Task& t = *static_cast<Task*>(argument);
    try {
      t.f(t.self);
    } catch (...) {
      t.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  int failure = pthread_attr_setstacksize(&attributes, bytes);
  if (failure == 0) failure = pthread_create(&thread, &attributes, run, &task);
  pthread_attr_destroy(&attributes);
  if (failure != 0)
    throw DeviceError(ErrorCode::out_of_memory,
                      {.what = fmt::format("the machine has no thread with a stack of {} KiB: {}",
                                           bytes >> 10, std::strerror(failure))});
  pthread_join(thread, nullptr);
  if (task.error) std::rethrow_exception(task.error);
}

}  // namespace tidemark
