// The target that tests plan for: the CPU, which also knows the ops of tests.
#pragma once
#include "tests/support/fake_ops.h"
#include "tidemark/ops/cpu_target.h"

namespace tidemark {

inline const Target& test_target() {
  static constexpr auto find = [](const Op& op) -> const ExecutionFacts* {
    static constexpr ExecutionFacts plain = {};  // of ops that only have types
    if (const ExecutionFacts* facts = fake::facts_of(op)) return facts;
    const ExecutionFacts* facts = cpu_target().find(op);
    return facts ? facts : &plain;
  };
  static constexpr Target target{.name = "cpu", .find = find};
  return target;
}

}  // namespace tidemark
