// The folder `tidemark-NAME` of a run within each of its directories: made, locked against a second run, and removed
// after success. Only files that this library names are ever touched.
#pragma once
#include <string>
#include <vector>

#include "tidemark/schedule/run.h"

namespace tidemark::schedule {

class RunFolders {
 public:
  // Throws Error `run_directory` where a directory is not there, cannot be written to, or another run has it.
  explicit RunFolders(const RunOptions& options);
  ~RunFolders();
  RunFolders(const RunFolders&) = delete;

  bool any() const { return !journal_.empty(); }
  const std::vector<std::string>& by_level() const { return folders_; }  // empty: a level in memory
  const std::string& journal() const { return journal_; }                // the path
  bool has_journal() const;

  // Removes snapshots and adjoints, all but the ones named.
  void clean(const std::vector<std::string>& keep = {}) const;
  void remove();  // everything; the journal first, so that a half removed run is none

 private:
  std::vector<std::string> folders_;
  std::string journal_;
  std::vector<int> locks_;
};

}  // namespace tidemark::schedule
