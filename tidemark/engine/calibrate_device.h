// Measures any device as plans see it: calls of every kind of work run through the executor, many times in
// one plan, so that what a run takes to start and to end drops out. What a device does not compute itself, or
// is not asked, stays as the machine that its plans were made for so far has it.
#pragma once
#include <functional>
#include <string>

#include "tidemark/base/effort.h"
#include "tidemark/cpu/calibrate.h"
#include "tidemark/plan/machine.h"
#include "tidemark/runtime/device.h"

namespace tidemark {

struct DeviceCalibrationOptions {
  std::string name = {};                               // of the machine; empty: as it was
  std::int64_t memory_bytes = 0;                       // that it has; 0: as it was
  std::int64_t largest_bytes = std::int64_t{4} << 30;  // calls that need more memory are not made
  Effort effort = {};                                  // below normal: fewer calls
  std::function<void(int done, int total)> progress = {};
  std::function<void(const ProbeReport&)> report = {};  // for every call, once the rates are fitted
};

Machine calibrate(Device& device, const DeviceCalibrationOptions& options = {});

}  // namespace tidemark
