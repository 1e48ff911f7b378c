#include "tidemark/schedule/file_remover.h"

#include <unistd.h>

namespace tidemark::schedule {

FileRemover::~FileRemover() {
  if (!worker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_one();
  worker_.join();
}

void FileRemover::remove(std::string path) {
  if (!background_) {
    ::unlink(path.c_str());
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    paths_.push_back(std::move(path));
  }
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  asked_.notify_one();
}

void FileRemover::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stop_ || !paths_.empty(); });
    if (paths_.empty()) return;
    const std::string path = std::move(paths_.front());
    paths_.pop_front();
    lock.unlock();
    ::unlink(path.c_str());
    lock.lock();
  }
}

}  // namespace tidemark::schedule
