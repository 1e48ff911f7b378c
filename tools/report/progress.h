// A progress bar on stderr: one line that redraws itself on a terminal, a line every tenth elsewhere.
#pragma once
#include <string>

#include "tidemark/solve/search_control.h"
#include "tools/options/effort_option.h"

namespace tidemark::cli {

class Progress {
 public:
  explicit Progress(int total);
  void show(int done, const std::string& status);  // `status`: what stands behind the bar

 private:
  int total_;
  bool terminal_;
};

// The control of a command's planning: its limit in seconds, if it has one, and on a terminal a bar for what
// takes longer than a moment.
ControlOptions planning_control(const Effort& effort);

}  // namespace tidemark::cli
