#include "tidemark/base/text_file.h"

#include "tidemark/base/text_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/base/followed_path.h"

namespace tidemark {
namespace {

constexpr std::size_t piece = std::size_t{1} << 18;

[[noreturn]] void cannot_read(const std::string& path, std::string_view why) {
  fail(ErrorCode::bad_file, {.what = fmt::format("cannot read {}: {}", path, why)});
}

FileHandle open_input(const std::string& path) {
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) cannot_read(path, std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) cannot_read(path, "it is a directory");
  if (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode) && !S_ISSOCK(facts.st_mode))
    cannot_read(path, "it is a device, not a file");
  return file;
}

// At most the size of `to`; 0 at the end.
std::size_t read_some(const FileHandle& file, std::span<char> to, const std::string& path) {
  while (true) {
    const ssize_t n = ::read(file.get(), to.data(), to.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) cannot_read(path, std::strerror(errno));
  }
}

struct PathParts {
  std::string folder, name;
};

PathParts parts_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// A handle of this process that has a path, whatever is behind it: /dev/stdout may be a file, too. Below
// zero: none.
int own_handle(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int handle = -1;
    const char* const end = path.data() + path.size();
    if (path.starts_with(folder) && std::from_chars(path.data() + folder.size(), end, handle).ptr == end)
      return handle;
  }
  return -1;
}

// The file behind links. What is no file (a device, a pipe, a handle of this process) is written to by the
// name it was given.
std::string place_of(const std::string& path) {
  struct stat target {};
  const bool is_there = ::stat(path.c_str(), &target) == 0;
  if (own_handle(path) >= 0 || (is_there && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode)))
    return path;
  const auto place = followed_path(path);
  if (!place)
    fail(ErrorCode::bad_file, {.what = fmt::format("cannot write {}: it is a symbolic link: {}", path,
                                                   std::strerror(place.error()))});
  return place.value();
}

Folder folder_of(const std::string& path, const std::string& place) {
  const PathParts parts = parts_of(place);
  auto folder = Folder::open(parts.folder);
  if (!folder || parts.name.empty())
    fail(ErrorCode::bad_file,
         {.what = fmt::format("cannot write {}: {}", path.empty() ? "to a file without a name" : path,
                              folder ? "it names a directory" : folder.error())});
  return std::move(folder).value();
}

}  // namespace

std::string read_text_file(const std::string& path, std::string_view what, Bytes most) {
  const FileHandle file = open_input(path);
  std::string text;
  // A pipe has no size to ask for, and the size of a file is only what it was a moment ago.
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + piece);
    const std::size_t n = read_some(file, std::span(text).subspan(before), path);
    text.resize(before + n);
    if (n == 0) return text;
    if (static_cast<std::int64_t>(text.size()) > most.count)
      fail(ErrorCode::bad_file, {.what = fmt::format("{} is too large for {}", path, what),
                                 .expected = fmt::format("at most {}", to_string(most))});
  }
}

InputStream::InputStream(const std::string& path) : std::istream(nullptr), buffer_(path) {
  rdbuf(&buffer_);
  exceptions(std::ios::badbit);
}

InputStream::Buffer::Buffer(const std::string& path)
    : path_(path), piece_(piece, '\0'), file_(open_input(path)) {}

int InputStream::Buffer::underflow() {
  const std::size_t n = read_some(file_, piece_, path_);
  setg(piece_.data(), piece_.data(), piece_.data() + n);
  return n == 0 ? traits_type::eof() : traits_type::to_int_type(piece_[0]);
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      place_(place_of(path_)),
      name_(parts_of(place_).name),
      folder_(folder_of(path_, place_)) {
  if (const int own = own_handle(path_); own >= 0) {
    replaces_ = false;
    file_.reset(::dup(own));
    if (!file_) fail_with(errno);
    return;
  }
  struct stat link {};
  struct stat target {};
  const bool is_there = ::fstatat(folder_.handle(), name_.c_str(), &link, AT_SYMLINK_NOFOLLOW) == 0;
  const bool leads_somewhere = is_there && ::fstatat(folder_.handle(), name_.c_str(), &target, 0) == 0;
  if (is_there && S_ISDIR(link.st_mode)) fail_with(EISDIR);
  if (leads_somewhere && !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode)) {
    replaces_ = false;
    file_.reset(::openat(folder_.handle(), name_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file_) fail_with(errno);
    return;
  }
  // Nameless until it is whole, where that can be; the mode is the old file's, or what the user's mask
  // leaves.
  if (::access("/proc/self/fd", X_OK) == 0)
    file_.reset(::openat(folder_.handle(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (!file_) {
    temporary_ = unforeseen_name(".tidemark");
    file_.reset(::openat(folder_.handle(), temporary_.c_str(),
                         O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666));
  }
  if (!file_) {
    temporary_.clear();
    fail_with(errno);
  }
  if (is_there && S_ISREG(link.st_mode) && ::fchmod(file_.get(), link.st_mode & 0777) != 0) {
    const int error = errno;
    if (!temporary_.empty()) folder_.remove(temporary_);
    fail_with(error);
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) folder_.remove(temporary_);
}

void OutputFile::fail_with(int error) const {
  if (is_out_of_room(error))
    fail(ErrorCode::disk_full, {.what = fmt::format("no room for {}: {}", path_, std::strerror(error)),
                                .help = "make room, or write elsewhere; what was there before is untouched"});
  fail(ErrorCode::bad_file, {.what = fmt::format("cannot write {}: {}", path_, std::strerror(error))});
}

void OutputFile::write(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= piece) flush();
}

void OutputFile::flush() {
  const auto bytes = std::as_bytes(std::span(pending_));
  if (replaces_) {
    if (const int error = write_fully(file_.get(), bytes, end_)) fail_with(error);
  } else {  // where there are no places to write at
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno != EINTR) fail_with(errno);
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }
  end_ += pending_.size();
  pending_.clear();
}

void OutputFile::commit() {
  flush();
  if (replaces_) put_in_place();
  if (::close(file_.release()) != 0 && errno != EINTR) fail_with(errno);
}

void OutputFile::put_in_place() {
  if (::fsync(file_.get()) != 0 && errno != EINVAL) fail_with(errno);
  if (temporary_.empty()) {
    const std::string now = unforeseen_name(".tidemark");
    const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
    if (::linkat(AT_FDCWD, self.c_str(), folder_.handle(), now.c_str(), AT_SYMLINK_FOLLOW) != 0)
      fail_with(errno);
    temporary_ = now;
  }
  if (const int error = folder_.rename(temporary_, name_)) fail_with(error);
  temporary_.clear();
  if (const int error = folder_.sync()) fail_with(error);
}

void write_text_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace tidemark
