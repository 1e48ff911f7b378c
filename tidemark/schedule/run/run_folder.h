// The folder `tidemark-NAME` of a run within each of its directories: made for this user alone, locked
// against a second run, and removed after success. Only files that this library names are ever touched, and
// no link is followed. A run without names has no folder: its files are in the directories themselves, where
// nobody sees them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tidemark/base/folder.h"
#include "tidemark/schedule/run.h"

namespace tidemark::schedule {

class RunFolders {
 public:
  // Throws Error `run_directory` where a directory is not there, cannot be written to, or another run has it.
  explicit RunFolders(const RunOptions& options);
  ~RunFolders();  // without a journal there is nothing to come back to: everything is removed
  RunFolders(const RunFolders&) = delete;

  bool any() const { return first_ != nullptr; }
  const std::vector<std::shared_ptr<const Folder>>& by_level() const { return folders_; }  // null: in memory
  const std::shared_ptr<const Folder>& first() const { return first_; }                    // with the journal
  std::string journal() const;                                                             // the path

  // Removes snapshots and adjoints, all but those of the names given.
  void clean(const std::vector<std::string>& keep = {}) const;
  void remove_journal() const;
  void remove();  // everything; the journal first, so that a half removed run is none

 private:
  struct Own {  // a folder of this run's
    std::shared_ptr<const Folder> parent, folder;
    FileHandle lock;
  };
  const std::shared_ptr<const Folder>& folder_in(const std::string& directory);

  std::string name_;
  bool durable_, unnamed_;
  std::vector<std::shared_ptr<const Folder>> folders_;
  std::shared_ptr<const Folder> first_;
  std::vector<std::pair<std::string, Own>> owned_;  // by directory
};

}  // namespace tidemark::schedule
