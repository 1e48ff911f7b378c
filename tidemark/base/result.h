// A value or a reason why there is none, for failures that callers are meant to handle (a budget that does
// not fit).
#pragma once
#include <utility>
#include <variant>

#include "tidemark/base/check.h"

namespace tidemark {

template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& { return (require(0), std::get<0>(state_)); }
  T& value() & { return (require(0), std::get<0>(state_)); }
  T&& value() && { return (require(0), std::get<0>(std::move(state_))); }
  const E& error() const { return (require(1), std::get<1>(state_)); }

 private:
  void require(std::size_t index) const {
    TM_CHECK(state_.index() == index, "the other side of a Result was read");
  }
  std::variant<T, E> state_;
};

}  // namespace tidemark
