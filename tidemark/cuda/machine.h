// Machines with GPUs as the planner knows them, as data of the library: plans for them need none.
#pragma once
#include <memory>
#include <string_view>

#include "tidemark/plan/machine.h"

namespace tidemark::cuda {

// Memory 0 is the GPU's, memory 1 the host's, pinned, memory 2 a disk, through the host. docs/cuda.md says
// where each number is from.
const Machine& h200_machine();
const Machine& h100_machine();  // SXM

// For a GPU that calls itself so ("NVIDIA H100 80GB HBM3"): the nearest of those above.
const Machine& machine_for(std::string_view gpu);

// The machine in the file that TIDEMARK_CUDA_MACHINE names, if it is of this GPU: its name is the GPU's.
// Null: there is none. Throws Error for a file that cannot be read or is no machine.
std::unique_ptr<const Machine> machine_from_file(std::string_view gpu);

}  // namespace tidemark::cuda
