// What a verifier found wrong, in the order it was met. It stops at a few dozen: what comes after is mostly a
// consequence.
#pragma once
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace tidemark {

class ProblemList {
 public:
  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) {
    if (!full()) texts_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  bool empty() const { return texts_.empty(); }
  bool full() const { return texts_.size() >= enough; }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  static constexpr std::size_t enough = 32;
  std::vector<std::string> texts_;
};

}  // namespace tidemark
