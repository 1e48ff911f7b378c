// Measures a machine: runs kernels of every kind of work at several sizes, through the executor as a plan
// would, and fits the rates of plan/machine.h to the times. Several passes over all probes, the least time of
// each: a machine that is busy for a while does harm only where every pass meets it.
#pragma once
#include <functional>

#include "tidemark/base/effort.h"
#include "tidemark/cpu/device.h"
#include "tidemark/plan/machine.h"

namespace tidemark {

// One call that was timed, and what the fitted rates predict for it.
struct ProbeReport {
  std::string call;  // "softmax f32[32, 512]"
  WorkKind work = WorkKind::opaque;
  double measured = 0, predicted = 0;  // seconds
};

struct CalibrationOptions {
  Effort effort = {};  // below normal: about two seconds; else twelve
  std::function<void(int done, int total)> progress = {};
  std::function<void(const ProbeReport&)> report = {};  // for every probe, once the rates are fitted
  // Where the disk is measured, with 64 MiB that are gone afterwards; empty: no disk. A folder that cannot be
  // used is an Error bad_file.
  std::string disk_folder = {};
};

// With the device's threads. Needs about 256 MiB of memory.
Machine calibrate(CpuDevice& device, const CalibrationOptions& options = {});

}  // namespace tidemark
