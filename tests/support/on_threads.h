// Code run on several threads at once, and results compared bit by bit.
#pragma once
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "tidemark/trace/storage.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

// Calls body(thread) on so many threads, which begin together, and throws what one of them threw.
template <class Body>
void on_threads(int threads, const Body& body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(threads));
  std::atomic<int> ready = 0;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      ++ready;
      while (ready < threads) std::this_thread::yield();
      try {
        body(t);
      } catch (...) {
        failures[static_cast<std::size_t>(t)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

inline std::vector<std::byte> bits_of(const Tensor& tensor) {
  const Reading reading = tensor.read();
  return {reading.data(), reading.data() + tensor.type().bytes()};
}

}  // namespace tidemark
