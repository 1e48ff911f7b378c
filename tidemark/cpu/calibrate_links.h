// Measures what moves values: copies within memory, a disk, codecs. Each alone and beside threads that
// compute.
#pragma once
#include <string>

#include "tidemark/cpu/device.h"
#include "tidemark/plan/machine.h"

namespace tidemark {

// Fills in further memories, links and codecs. Empty `disk_folder`: no disk; one that cannot be used is Error
// bad_file.
void measure_links(Machine& machine, CpuDevice& device, const std::string& disk_folder);

// The disk alone, in the place of one that the machine has.
void measure_disk(Machine& machine, CpuDevice& device, const std::string& folder);

}  // namespace tidemark
