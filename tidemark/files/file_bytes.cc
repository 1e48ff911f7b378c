#include "tidemark/files/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/base/folder.h"
#include "tidemark/base/text_file.h"

namespace tidemark {

static_assert(std::endian::native == std::endian::little, "data files are read as they lie");

FileBytes FileBytes::open(const std::string& path, SourceLine where) {
  const auto cannot = [&](std::string_view why) {
    fail(ErrorCode::bad_file, {.what = fmt::format("cannot read {}: {}", path, why), .where = where});
  };
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would wait
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) cannot(std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) cannot("it is a directory");
  if (!S_ISREG(facts.st_mode)) cannot("it is a pipe or a device, and data files are read by places");
  return {std::move(file), {}, static_cast<std::uint64_t>(facts.st_size), path};
}

FileBytes FileBytes::of(std::span<const std::byte> bytes, std::string name) {
  return {FileHandle(), bytes, bytes.size(), std::move(name)};
}

void FileBytes::read(std::span<std::byte> to, std::uint64_t offset) const {
  if (offset > size_ || to.size() > size_ - offset) {
    refuse(fmt::format("it ends at byte {}, and {} bytes at {} should be there", size_, to.size(), offset),
           "a whole file", "it was cut off on its way here: copy or download it again");
  }
  if (to.empty()) return;
  if (!file_) {
    std::memcpy(to.data(), memory_.data() + offset, to.size());
    return;
  }
  std::size_t done = 0;
  if (const int error = read_fully(file_.get(), to, offset, done)) {
    fail(ErrorCode::bad_file, {.what = fmt::format("cannot read {}: {}", name_, std::strerror(error))});
  }
  if (done < to.size()) refuse("it became shorter while it was read");
}

std::shared_ptr<const std::byte> FileBytes::mapped() const {
  if (!file_ || size_ == 0) return nullptr;
  if (auto held = mapping_.lock()) return held;
  const std::size_t size = size_;
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (at == MAP_FAILED) {
    fail(ErrorCode::bad_file, {.what = fmt::format("cannot map {}: {}", name_, std::strerror(errno)),
                               .help = "load it without `.map`"});
  }
  std::shared_ptr<const std::byte> whole(static_cast<const std::byte*>(at), [size](const std::byte* p) {
    ::munmap(const_cast<std::byte*>(p), size);
  });
  mapping_ = whole;
  return whole;
}

void FileBytes::refuse(std::string_view what, std::string expected, std::string help) const {
  refuse_file(name_, what, std::move(expected), std::move(help));
}

void refuse_file(std::string_view name, std::string_view what, std::string expected, std::string help) {
  fail(ErrorCode::bad_data_file,
       {.what = fmt::format("{}: {}", name, what), .expected = std::move(expected), .help = std::move(help)});
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string result(text.substr(0, most));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > most ? result + "…" : result;
}

void write_bytes(OutputFile& file, std::span<const std::byte> bytes) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t done = 0; done < bytes.size(); done += piece) {
    const std::span part = bytes.subspan(done, std::min(piece, bytes.size() - done));
    file.write({reinterpret_cast<const char*>(part.data()), part.size()});
  }
}

}  // namespace tidemark
