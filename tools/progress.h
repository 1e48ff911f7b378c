// A progress bar on stderr: one line that redraws itself on a terminal, a line every tenth elsewhere.
#pragma once
#include <string>

namespace tidemark::cli {

class Progress {
 public:
  explicit Progress(int total);
  void show(int done, const std::string& status);  // `status`: what stands behind the bar

 private:
  int total_;
  bool terminal_;
};

}  // namespace tidemark::cli
