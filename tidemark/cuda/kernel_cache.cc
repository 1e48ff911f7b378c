#include "tidemark/cuda/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/cuda/device_texts.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::cuda {
namespace {

// An entry: this, then the kernel's bytes. Numbers as the machine has them; another machine's file does not
// fit and is replaced.
struct EntryHeader {
  std::uint64_t magic = 0x31434d5441445543;  // "CUDATMC1"
  std::uint64_t key_first = 0, key_second = 0, bytes = 0, checksum = 0;
};
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;  // far above any kernel

constexpr const char* entry_ending = ".cubin";
constexpr const char* temporary_stem = "writing";
constexpr std::int64_t abandoned_after = std::int64_t{3600} * 1'000'000'000;  // nanoseconds

std::int64_t nanoseconds_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string private_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  return {};
}

}  // namespace

std::string KernelCache::default_folder() {
  if (const char* const folder = std::getenv("TIDEMARK_CUDA_CACHE")) return folder;
  if (const char* const caches = std::getenv("XDG_CACHE_HOME"); caches && caches[0] == '/')
    return fmt::format("{}/tidemark/cuda", caches);
  if (const char* const home = std::getenv("HOME"); home && home[0] == '/')
    return fmt::format("{}/.cache/tidemark/cuda", home);
  return {};
}

Bytes KernelCache::default_limit() {
  constexpr Bytes standard(std::int64_t{1} << 30);
  const char* const given = std::getenv("TIDEMARK_CUDA_CACHE_LIMIT");
  if (!given) return standard;
  try {
    return parse_bytes(given);
  } catch (const Error&) {
    return standard;
  }
}

KernelCache::KernelCache(const std::string& folder, Compile compile, Bytes limit)
    : compile_(std::move(compile)), limit_(limit), kept_on_disk_(!folder.empty()) {
  if (folder.empty()) return;
  if (const std::string error = private_folders(folder); !error.empty()) {
    problem_ = fmt::format("{} cannot be made: {}", folder, error);
    return;
  }
  Result<Folder, std::string> opened = Folder::open(folder);
  if (opened) {
    folder_.emplace(std::move(opened.value()));
  } else {
    problem_ = fmt::format("{} cannot be used: {}", folder, opened.error());
  }
}

KernelCache::Key KernelCache::key_of(const std::string& source, const Architecture& architecture) {
  const Result<CompilerVersion, std::string> version = compiler_version();
  std::string all = fmt::format("{} {} NVRTC {}.{}\n", compile_target(architecture), compile_options(),
                                version ? version.value().major : 0, version ? version.value().minor : 0);
  for (const DeviceText& text : device_texts()) all += fmt::format("{}\n{}\n", text.name, text.text);
  all += source;
  return {schedule::checksum(bytes_of(all), 1), schedule::checksum(bytes_of(all), 2)};
}

std::string KernelCache::name_of_entry(const Key& key) {
  return fmt::format("{:016x}{:016x}{}", key.first, key.second, entry_ending);
}

std::shared_ptr<const std::string> KernelCache::find_or_compile(const std::string& source,
                                                                const Architecture& architecture) {
  const Key key = key_of(source, architecture);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) {
      ++counts_.from_memory;
      return found->second;
    }
    if (std::optional<std::string> kept = read(key)) {
      ++counts_.from_disk;
      return known_[key] = std::make_shared<const std::string>(std::move(*kept));
    }
  }
  // Threads may compile side by side; two that want the same kernel get the same bytes.
  auto binary = std::make_shared<const std::string>(compile_(source, architecture));
  const std::lock_guard lock(mutex_);
  ++counts_.compiled;
  write(key, *binary);
  return known_.try_emplace(key, std::move(binary)).first->second;
}

// What another user put there is not run.
std::optional<std::string> KernelCache::read(const Key& key) {
  if (!folder_) return std::nullopt;
  const FileHandle file = folder_->open_file(name_of_entry(key), O_RDONLY);
  if (!file) return std::nullopt;
  const auto damaged = [&] {
    ++counts_.damaged;
    return std::nullopt;
  };
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid()) return damaged();
  EntryHeader header, expected;
  std::size_t done = 0;
  const auto header_bytes = std::as_writable_bytes(std::span(&header, 1));
  if (read_fully(file.get(), header_bytes, 0, done) != 0 || done != sizeof(header)) return damaged();
  if (header.magic != expected.magic || header.key_first != key.first || header.key_second != key.second ||
      header.bytes == 0 || header.bytes > most_bytes ||
      static_cast<std::uint64_t>(status.st_size) != sizeof(header) + header.bytes)
    return damaged();
  std::string binary(static_cast<std::size_t>(header.bytes), '\0');
  if (read_fully(file.get(), std::as_writable_bytes(std::span(binary)), sizeof(header), done) != 0 ||
      done != binary.size() || schedule::checksum(bytes_of(binary)) != header.checksum)
    return damaged();
  ::futimens(file.get(), nullptr);  // used now; where that cannot be said, it goes earlier
  return binary;
}

// Under a name of its own first: others see an entry whole or not at all.
void KernelCache::write(const Key& key, const std::string& binary) {
  if (!kept_on_disk_) return;
  const auto failed = [&](const char* what, int error) {
    ++counts_.unwritten;
    problem_ =
        fmt::format("a kernel was not kept in {}: {}: {}", folder_->path(), what, std::strerror(error));
  };
  if (!folder_) {
    ++counts_.unwritten;
    return;
  }
  const EntryHeader header{.key_first = key.first,
                           .key_second = key.second,
                           .bytes = binary.size(),
                           .checksum = schedule::checksum(bytes_of(binary))};
  const std::string temporary = unforeseen_name(temporary_stem);
  FileHandle file = folder_->create(temporary);
  if (!file) return failed("no file can be made", errno);
  int error = write_fully(file.get(), std::as_bytes(std::span(&header, 1)), 0);
  if (error == 0) error = write_fully(file.get(), bytes_of(binary), sizeof(header));
  file.reset();
  if (error == 0) error = folder_->rename(temporary, name_of_entry(key));
  if (error == 0) return make_room(name_of_entry(key));
  folder_->remove(temporary);
  failed("it cannot be written", error);
}

// Other processes do the same at the same time: an entry may be gone already, and who reads one has it open.
void KernelCache::make_room(const std::string& written) {
  struct Entry {
    std::string name;
    std::int64_t bytes, used;  // nanoseconds since 1970
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  const std::int64_t now = nanoseconds_of(std::chrono::system_clock::now());
  for (const std::string& name : folder_->files()) {
    struct stat status = {};
    if (::fstatat(folder_->handle(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::int64_t used =
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + std::int64_t{status.st_mtim.tv_nsec};
    if (name.ends_with(entry_ending)) {
      entries.push_back({name, status.st_size, used});
      total += status.st_size;
    } else if (name.starts_with(temporary_stem) && now - used > abandoned_after) {
      folder_->remove(name);  // of a process that was killed
    }
  }
  if (total <= limit_.count) return;
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.used, entry.name); });
  for (const Entry& entry : entries) {
    if (total <= limit_.count) break;
    if (entry.name == written) continue;
    counts_.removed += folder_->remove(entry.name) == 0;
    total -= entry.bytes;
  }
}

KernelCache::Counts KernelCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}
std::string KernelCache::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace tidemark::cuda
