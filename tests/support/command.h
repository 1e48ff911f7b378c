// Runs a command of the shell and keeps what it printed: for tests of the `tidemark` command.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/scratch_folder.h"

namespace tidemark::testing {

struct CommandRun {
  int exit_code = -1;
  std::string out, err;
};

inline CommandRun run_command(const std::string& command) {
  const ScratchFolder folder;
  const int status =
      std::system(("( " + command + " ) >" + folder.path("out") + " 2>" + folder.path("err")).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

}  // namespace tidemark::testing
