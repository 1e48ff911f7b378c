// What a step decided at its first visit: step size, random counter, state of a controller. A replay asks the
// log and gets the same answer; nothing is decided twice. The log is kept in memory (its size times the
// steps) and, for a run that can be resumed, in its journal.
//
//   const double dt = log.once(i, [&] { return choose_step(u); });
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

class StepLog {
 public:
  // The value of step `step`: `choose()` the first time, the same bits ever after. Steps ask in their order,
  // each for one value, always of one type: a struct when there are several things to say.
  template <class Choose>
  auto once(Step step, Choose&& choose) {
    using T = std::remove_cvref_t<decltype(choose())>;
    static_assert(std::is_trivially_copyable_v<T>, "a step log holds trivially copyable values");
    if (!knows(step)) {
      const T value = choose();
      append(step, std::as_bytes(std::span(&value, 1)));
      return value;
    }
    return at<T>(step);
  }

  // What an earlier step said, for a controller that goes on from it.
  template <class T>
  T at(Step step) const {
    T value;
    std::memcpy(&value, entry(step, sizeof(T)).data(), sizeof(T));
    return value;
  }

  bool knows(Step step) const { return step < count_; }
  Step count() const { return count_; }
  std::size_t entry_bytes() const { return entry_bytes_; }
  std::uint64_t digest() const { return digest_; }  // of all entries, in their order
  static std::uint64_t digest_after(std::uint64_t digest, std::span<const std::byte> entry);
  std::span<const std::byte> bytes() const { return bytes_; }
  void reserve(Step steps) { reserved_ = steps; }
  void restore(std::size_t entry_bytes, std::span<const std::byte> bytes);  // appends what a journal kept

 private:
  void append(Step step, std::span<const std::byte> value);
  std::span<const std::byte> entry(Step step, std::size_t bytes) const;

  std::vector<std::byte> bytes_;
  std::size_t entry_bytes_ = 0;
  Step count_ = 0, reserved_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace tidemark::schedule
