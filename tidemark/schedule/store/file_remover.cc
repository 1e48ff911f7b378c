#include "tidemark/schedule/store/file_remover.h"

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

void FileRemover::remove(std::shared_ptr<const Folder> folder, std::string name) {
  if (!background_) {
    folder->remove(name);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    files_.emplace_back(std::move(folder), std::move(name));
  }
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  asked_.notify_one();
}

void FileRemover::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return stop_ || !files_.empty(); });
    if (files_.empty()) return;
    const auto [folder, name] = std::move(files_.front());
    files_.pop_front();
    lock.unlock();
    folder->remove(name);
    lock.lock();
  }
}

}  // namespace tidemark::schedule
