// The generated kernel of a command of a plan, whichever family writes it.
#pragma once
#include "tidemark/cuda/group_source.h"

namespace tidemark::cuda {

bool has_kernel(const Command& command);  // a group, or a call whose route is a generated kernel
KernelText write_command(const Command& command);

}  // namespace tidemark::cuda
