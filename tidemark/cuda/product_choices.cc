#include "tidemark/cuda/product_choices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "tidemark/base/check.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::cuda {
namespace {

// A whole entry. Numbers as the machine has them: another machine's file does not fit.
struct Entry {
  std::uint64_t magic = 0x31444f5250544d43;  // "CMTPROD1"
  std::uint64_t key_first = 0, key_second = 0;
  ProductAlgorithm algorithm = {};
  std::uint64_t checksum = 0;

  std::uint64_t sum() const {
    return schedule::checksum(std::as_bytes(std::span(this, 1)).first(offsetof(Entry, checksum)));
  }
};

}  // namespace

ProductChoices::ProductChoices(const std::string& folder, std::string machine)
    : machine_(std::move(machine)) {
  if (folder.empty()) return;
  Result<Folder, std::string> opened = Folder::open(folder);
  if (opened) folder_.emplace(std::move(opened.value()));
}

bool ProductChoices::timing_is_asked_for() {
  const char* const asked = std::getenv("TIDEMARK_CUDA_TIMING");
  return asked && asked[0] != '\0' && std::string_view(asked) != "0";
}

std::string ProductChoices::Name::file() const {
  return fmt::format("{:016x}{:016x}.product", first, second);
}

ProductChoices::Name ProductChoices::name_of(const std::string& form) const {
  const std::string all = fmt::format("{}\n{}", machine_, form);
  const auto bytes = std::as_bytes(std::span(all));
  return {schedule::checksum(bytes, 1), schedule::checksum(bytes, 2)};
}

// What another user put there is not used.
std::optional<ProductAlgorithm> ProductChoices::read(const Name& name) const {
  const FileHandle file = folder_->open_file(name.file(), O_RDONLY);
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      status.st_size != sizeof(Entry))
    return std::nullopt;
  Entry entry;
  std::size_t done = 0;
  if (read_fully(file.get(), std::as_writable_bytes(std::span(&entry, 1)), 0, done) != 0 ||
      done != sizeof(entry))
    return std::nullopt;
  const bool right = entry.magic == Entry{}.magic && entry.key_first == name.first &&
                     entry.key_second == name.second && entry.checksum == entry.sum();
  return right ? std::optional(entry.algorithm) : std::nullopt;
}

std::optional<ProductAlgorithm> ProductChoices::find(const std::string& form) const {
  if (!folder_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(form); known != known_.end()) return known->second;
  const std::optional<ProductAlgorithm> kept = read(name_of(form));
  if (kept) known_.emplace(form, *kept);
  return kept;
}

std::optional<ProductAlgorithm> ProductChoices::keep(const std::string& form,
                                                     const ProductAlgorithm& chosen) const {
  if (!folder_) return std::nullopt;
  const Name name = name_of(form);
  Entry entry{.key_first = name.first, .key_second = name.second, .algorithm = chosen};
  entry.checksum = entry.sum();
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(form); known != known_.end()) return known->second;
  const std::string temporary = unforeseen_name("choosing");
  FileHandle file = folder_->create(temporary);
  if (!file) return std::nullopt;
  int error = write_fully(file.get(), std::as_bytes(std::span(&entry, 1)), 0);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  file.reset();
  if (error == 0) error = folder_->rename_new(temporary, name.file());
  if (error == EEXIST) {
    // Another came first, and its choice counts; one that cannot be read is no choice.
    if (const std::optional<ProductAlgorithm> first = read(name)) {
      folder_->remove(temporary);
      return known_[form] = *first;
    }
    error = folder_->rename(temporary, name.file());
  }
  if (error != 0) {
    folder_->remove(temporary);
    return std::nullopt;
  }
  return known_[form] = chosen;
}

std::size_t fastest(std::span<const double> seconds) {
  TM_CHECK(!seconds.empty());
  constexpr double close = 1.01;
  const double least = *std::ranges::min_element(seconds);
  const auto found = std::ranges::find_if(seconds, [&](double time) { return time <= close * least; });
  return static_cast<std::size_t>(found - seconds.begin());
}

}  // namespace tidemark::cuda
