// Copies, codes and fetches made to look like kernels, so that one loop runs all commands.
#pragma once
#include "tidemark/cpu/prepared.h"

namespace tidemark {

// `files`: which memories are files, and the plan's copies to and from them so far.
CpuLaunch transfer(const Command& command, FileCopies& files);

// Values in a file are copied from and to memory, and nothing else: Error no_kernel for other commands on
// them.
void require_memory(const Command& command, const FileCopies& files);

}  // namespace tidemark
