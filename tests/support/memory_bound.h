// A machine on which only bytes count: arithmetic takes no time to speak of, so that whatever saves bytes is
// faster.
#pragma once
#include "tidemark/plan/machine.h"

namespace tidemark::testing {

inline const Machine& memory_bound() {
  static const Machine machine = [] {
    Machine m = reference_machine();
    m.name = "memory bound";
    for (WorkRates& rates : m.work) {
      rates.flops = {{{1, 1e18}}};
      rates.bytes = {{{1, 1e9}}};
    }
    return m;
  }();
  return machine;
}

}  // namespace tidemark::testing
