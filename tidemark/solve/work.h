// What a search may still spend, in units of about a microsecond: counted, never timed, so that the same
// problem gets the same search on every machine.
#pragma once
#include <cstdint>

#include "tidemark/solve/search_control.h"

namespace tidemark {

struct Work {
  std::int64_t left = 0;
  SearchControl* control = nullptr;  // may end it early

  bool spend(std::int64_t units) {
    left -= units;
    if (control && control->spent(units) && left > 0) left = 0;
    return left > 0;
  }
};

}  // namespace tidemark
