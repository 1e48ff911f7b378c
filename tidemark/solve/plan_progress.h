// How far a planning is, for who waits for it.
#pragma once
#include <concepts>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tidemark {

struct PlanProgress {
  double done = 0;         // of the work expected, from 0 to 1; never falls, and ends at 1
  std::string_view stage;  // "order", "budget", "floor", "changes"
};

// False: planning is to stop, with PlanningStopped.
using PlanCallback = std::function<bool(const PlanProgress&)>;

// The caller's own wish, no mistake of anybody's: so no Error.
class PlanningStopped : public std::runtime_error {
 public:
  PlanningStopped();
};

// Asked now and then whether planning is to stop: a std::stop_token, or anything that can be asked the same.
// The header of std::stop_token takes long to compile, so only who uses it includes it.
class StopToken {
 public:
  StopToken() = default;  // never
  template <class Token>
  requires requires(const Token& token) {
    { token.stop_requested() } -> std::convertible_to<bool>;
  }
  StopToken(Token token)  // NOLINT: implicit by design
      : requested_([token = std::move(token)] { return token.stop_requested(); }) {}

  bool stop_possible() const { return requested_ != nullptr; }
  bool stop_requested() const { return requested_ && requested_(); }

 private:
  std::function<bool()> requested_;
};

}  // namespace tidemark
