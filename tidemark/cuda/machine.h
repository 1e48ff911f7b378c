// Machines with GPUs as the planner knows them, as data of the library: plans for them need none.
#pragma once
#include "tidemark/plan/machine.h"

namespace tidemark::cuda {

// One NVIDIA H200: memory 0 is the GPU's, memory 1 the host's, pinned.
const Machine& h200_machine();

}  // namespace tidemark::cuda
