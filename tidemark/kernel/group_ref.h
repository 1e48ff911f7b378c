// Fused kernels run several steps as one.
#pragma once
#include <cstdint>

namespace tidemark {

// Where a step of a group of steps that run as one kernel finds an operand or puts a result.
struct GroupRef {
  enum Kind : std::uint8_t {
    operand,    // KernelArgs::in[number] of the group
    result,     // KernelArgs::out[number]; later steps may read it too
    temporary,  // nowhere: a number for what exists in the group alone
  };
  Kind kind = operand;
  int number = 0;
  friend bool operator==(const GroupRef&, const GroupRef&) = default;
};

}  // namespace tidemark
