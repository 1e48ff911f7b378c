// Runs a function on a stack of a size that is known. A search that recurses to a fixed depth needs a fixed
// stack, and the caller's may be smaller: threads of a user have as little as 128 KiB.
#pragma once
#include <cstddef>
#include <type_traits>

namespace tidemark {

// Calls f() on a thread of its own and waits for it; what f throws is thrown here. Throws DeviceError where
// there is no thread.
void call_on_stack(std::size_t bytes, void (*f)(void* self), void* self);

template <class F>
void on_stack(std::size_t bytes, F&& f) {
  call_on_stack(
      bytes, [](void* self) { (*static_cast<std::remove_reference_t<F>*>(self))(); }, &f);
}

}  // namespace tidemark
