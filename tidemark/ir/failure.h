// Which calls can fail while a plan runs, for what their operands hold: the caller's indices, matrices, code,
// disk. All others throw for nothing but bugs of ours. A compiled function asks so that donated state
// survives a call that fails.
//
//   early   it looks at its operands first, and throws before it writes anything
//   late    results may be half written by then
#pragma once
#include <optional>

#include "tidemark/ir/op.h"

namespace tidemark {

enum class Fails : std::uint8_t { never, early, late };

// Every element of an operand must be in [0, bound), or be `except`. Calls that check the same value alike
// fail together: behind the first, the others cannot.
struct IndexCheck {
  int operand = 0;
  std::int64_t bound = 0;
  std::optional<std::int64_t> except = {};
};

struct Failure {
  Fails when = Fails::never;
  std::optional<IndexCheck> check = {};  // early, and for nothing else
};

// As the op says; late for a call with a region in which anything can fail.
Failure failure_of(const Call& call);

}  // namespace tidemark
