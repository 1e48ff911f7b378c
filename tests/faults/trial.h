// One trial: a training run with a disk in a process of its own (training_main.cc), and one fault of the disk
// at a moment drawn from the seed. Whatever the moment, each call must give the right bits or an error that
// names the folder; never other numbers, a crash, a hang, a file left behind or one left open; and when the
// fault is gone, the next call must be right.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/cpu/disk_compression.h"

namespace tidemark::testing {

enum class Fault {
  kill,           // SIGKILL in the middle of a call
  flip,           // bits of what waits in the file change, in the middle of a call
  hole,           // a part of the file reads as zeros
  truncate,       // the file loses its end
  size_limit,     // the process may write no further than a part of the file (RLIMIT_FSIZE)
  full,           // another file takes all room before ours is made
  no_permission,  // the folder may not be entered any more
  read_only,      // the folder takes no files any more
  removed,        // the folder is gone
  open_limit,     // the process may open no more files
  unmounted       // the file system is taken out of the tree
};
constexpr Fault faults[] = {Fault::kill,       Fault::flip,       Fault::hole,      Fault::truncate,
                            Fault::size_limit, Fault::full,       Fault::read_only, Fault::no_permission,
                            Fault::removed,    Fault::open_limit, Fault::unmounted};
std::string name_of(Fault fault);

struct TrialResult {
  std::vector<std::string> problems = {};  // empty: all was as it must be
  std::string skipped = {};                // why this machine cannot stage the fault
  int right = 0, errors = 0;               // calls while the fault lasted
  int lost = 0;                            // of the errors: donated weights were lost, and said to be
  std::string first_error = {};
};
// `compress`: what waits in the file.
TrialResult run_trial(Fault fault, std::uint64_t seed, DiskCompression compress);

}  // namespace tidemark::testing
