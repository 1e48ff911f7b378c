// The calls that calibration times: for each kind of work a few typical ops at several sizes.
#pragma once
#include <functional>
#include <vector>

#include "tidemark/ir/builder.h"

namespace tidemark {

struct Probe {
  std::function<void(Builder&)> build;  // adds inputs and one node
  std::int64_t index_limit = 1;         // integer inputs are drawn from [0, index_limit)
  bool quick = false;                   // among those of the quick effort
};

std::vector<Probe> calibration_probes();

}  // namespace tidemark
