// Removes files in the background: a file system may take as long to give up a large file as to write it.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tidemark/base/folder.h"

namespace tidemark::schedule {

class FileRemover {
 public:
  explicit FileRemover(bool background) : background_(background) {}
  ~FileRemover();  // after everything has been removed
  void remove(std::shared_ptr<const Folder> folder, std::string name);

 private:
  void work();

  bool background_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<std::pair<std::shared_ptr<const Folder>, std::string>> files_;
  bool stop_ = false;
  std::thread worker_;  // started when there is something to do
};

}  // namespace tidemark::schedule
