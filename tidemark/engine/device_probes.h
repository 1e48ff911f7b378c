// The calls that calibration of a device times: of the sizes that keep one busy, and some that do not.
#pragma once
#include <vector>

#include "tidemark/cpu/calibrate_probes.h"

namespace tidemark {

std::vector<Probe> device_probes();

}  // namespace tidemark
