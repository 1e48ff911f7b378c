// How many threads and open files this process has, for tests that nothing is left behind.
#pragma once
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

namespace tidemark::testing {

inline std::size_t entries_of(const std::string& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}
inline std::size_t open_files() { return entries_of("/proc/self/fd"); }
inline std::size_t threads_alive() { return entries_of("/proc/self/task"); }

// The system forgets a thread a moment after it was joined.
inline bool threads_come_down_to(std::size_t count) {
  constexpr int patience = 100'000;
  for (int look = 0; look < patience; ++look) {
    if (threads_alive() <= count) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace tidemark::testing
