// From measured times to the rates of a machine: for each kind of work the two curves (and the speeds of
// dtypes) under which the model of plan/machine.h errs least. Pure arithmetic; the clock is calibrate.cc's.
#pragma once
#include <span>

#include "tidemark/plan/machine.h"

namespace tidemark {

struct Measurement {
  Cost cost;
  DType dtype = DType::f32;
  double seconds = 0;
};

// Rates for one kind of work, fitted to at least one measurement of it, the machine's overhead being known.
// Minimises a robust sum of the logarithms of predicted / measured by coordinate descent: deterministic. Time
// that flops and bytes would explain alike is given to the flops: bandwidth stays near `bandwidth` (the
// memory's own; empty: unknown) unless the measurements speak against it. Flop rates do not fall with size.
// `overlaps`: as Machine has it.
WorkRates fit_rates(std::span<const Measurement> measurements, double overhead, const Curve& bandwidth = {},
                    bool overlaps = false);

}  // namespace tidemark
