// The folder that the loops of a function keep states in (LoopOptions::folder): one for all of them, which is
// the second memory of the function's plans.
#pragma once
#include <memory>
#include <optional>

#include "tidemark/plan/plan.h"
#include "tidemark/runtime/device.h"

namespace tidemark {

struct LoopFolder {
  std::string path;    // where no loop names one, the system's for temporary files
  SourceLine where;    // of the loop
  bool named = false;  // by the loop
};
// None: no loop has a disk. Throws Error at its line for one that names another folder than those before it.
std::optional<LoopFolder> loop_folder(const Graph& traced);

// A device for a plan whose loops use a disk: with the threads of `device`, and that folder.
std::shared_ptr<Device> with_loop_folder(std::shared_ptr<Device> device, const Plan& plan,
                                         const Graph& traced);

}  // namespace tidemark
