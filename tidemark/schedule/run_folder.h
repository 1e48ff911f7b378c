// The folder `tidemark-NAME` of a run within each of its directories: made, locked against a second run, and removed
// after success. Only files that this library names are ever touched.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tidemark/schedule/run.h"

namespace tidemark::schedule {

class RunFolders {
 public:
  // Throws Error `run_directory` where a directory is not there, cannot be written to, or another run has it.
  explicit RunFolders(const RunOptions& options);
  ~RunFolders();  // without a journal there is nothing to come back to: everything is removed
  RunFolders(const RunFolders&) = delete;

  bool any() const { return !journal_.empty(); }
  const std::vector<std::string>& by_level() const { return folders_; }  // empty: a level in memory
  const std::string& journal() const { return journal_; }                // the path
  bool has_journal() const;

  // Removes snapshots and adjoints, all but the ones named.
  void clean(const std::vector<std::string>& keep = {}) const;
  void remove_journal() const;
  void remove();  // everything; the journal first, so that a half removed run is none

 private:
  std::vector<std::string> folders_;
  std::string journal_;
  class Lock {
   public:
    explicit Lock(int file) : file_(file) {}
    Lock(Lock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    ~Lock();

   private:
    int file_;
  };
  static Lock lock(const std::string& folder);
  std::vector<Lock> locks_;
};

}  // namespace tidemark::schedule
