#include "tidemark/base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

namespace tidemark {
namespace {

constexpr mode_t private_file = 0600, private_folder = 0700;

int result_of(int status) { return status == 0 ? 0 : errno; }

}  // namespace

Result<Folder, std::string> Folder::open(const std::string& path) {
  FileHandle handle(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle) {
    if (errno == ENOENT || errno == ENOTDIR) return fmt::format("{} is not a directory", path);
    return fmt::format("{} cannot be opened: {}", path, std::strerror(errno));
  }
  return Folder(std::move(handle), path);
}

Result<Folder, std::string> Folder::make_private(const std::string& name) const {
  const std::string path = path_of(name);
  const bool made = ::mkdirat(handle(), name.c_str(), private_folder) == 0;
  if (!made && errno != EEXIST) return fmt::format("{} cannot be made: {}", path, std::strerror(errno));
  FileHandle inner(::openat(handle(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!inner || ::fstat(inner.get(), &facts) != 0) {
    const int error = errno;
    if (error == ELOOP || error == ENOTDIR)
      return fmt::format("{} is a symbolic link or a file, where a directory should be", path);
    return fmt::format("{} cannot be opened: {}", path, std::strerror(error));
  }
  if (!made && facts.st_uid != ::geteuid())
    return fmt::format("{} belongs to another user, who could change what is kept there", path);
  if ((facts.st_mode & 0777) != private_folder && ::fchmod(inner.get(), private_folder) != 0)
    return fmt::format("{} cannot be closed to other users: {}", path, std::strerror(errno));
  return Folder(std::move(inner), path);
}

bool Folder::is_removed() const {
  struct stat facts {};
  return ::fstat(handle(), &facts) == 0 && facts.st_nlink == 0;
}

std::string Folder::path_of(const std::string& name) const {
  return path_.ends_with('/') ? path_ + name : path_ + '/' + name;
}

FileHandle Folder::create(const std::string& name, int flags) const {
  ::unlinkat(handle(), name.c_str(), 0);
  return FileHandle(::openat(handle(), name.c_str(),
                             O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, private_file));
}

// Without O_NONBLOCK a pipe would wait for its other end.
FileHandle Folder::open_file(const std::string& name, int flags) const {
  FileHandle file(::openat(handle(), name.c_str(), O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return {};
  if (S_ISREG(facts.st_mode) && facts.st_nlink == 1) return file;
  file.reset();
  errno = S_ISDIR(facts.st_mode) ? EISDIR : EPERM;
  return file;
}

FileHandle Folder::open_or_create(const std::string& name) const {
  return FileHandle(
      ::openat(handle(), name.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, private_file));
}

// Where the file system cannot make one without a name, it has one for a moment.
FileHandle Folder::create_unnamed(int flags) const {
  FileHandle file(::openat(handle(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC | flags, private_file));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)) return file;
  const std::string name = unforeseen_name(".tidemark");
  file.reset(::openat(handle(), name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
                      private_file));
  if (file) ::unlinkat(handle(), name.c_str(), 0);
  return file;
}

bool Folder::holds(const std::string& name) const {
  struct stat facts {};
  return ::fstatat(handle(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

int Folder::remove(const std::string& name) const { return result_of(::unlinkat(handle(), name.c_str(), 0)); }
int Folder::remove_folder(const std::string& name) const {
  return result_of(::unlinkat(handle(), name.c_str(), AT_REMOVEDIR));
}
int Folder::rename(const std::string& from, const std::string& to) const {
  return result_of(::renameat(handle(), from.c_str(), handle(), to.c_str()));
}
int Folder::rename_new(const std::string& from, const std::string& to) const {
  return result_of(::renameat2(handle(), from.c_str(), handle(), to.c_str(), RENAME_NOREPLACE));
}
// File systems that cannot sync a directory say EINVAL; there is nothing to wait for then.
int Folder::sync() const {
  const int error = result_of(::fsync(handle()));
  return error == EINVAL ? 0 : error;
}

std::vector<std::string> Folder::files() const {
  std::vector<std::string> names;
  FileHandle again(::openat(handle(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const entries = again ? ::fdopendir(again.get()) : nullptr;
  if (!entries) return names;
  again.release();  // closedir closes it
  while (const dirent* entry = ::readdir(entries)) {
    struct stat facts {};
    if (::fstatat(handle(), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode))
      names.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

int write_fully(int file, std::span<const std::byte> bytes, std::uint64_t offset, std::size_t* done) {
  std::size_t written = 0;
  int error = 0;
  while (written < bytes.size() && error == 0) {
    const ssize_t n =
        ::pwrite(file, bytes.data() + written, bytes.size() - written, static_cast<off_t>(offset + written));
    if (n > 0) written += static_cast<std::size_t>(n);
    if (n == 0) error = ENOSPC;
    if (n < 0 && errno != EINTR) error = errno;
  }
  if (done) *done = written;
  return error;
}

int read_fully(int file, std::span<std::byte> bytes, std::uint64_t offset, std::size_t& done) {
  done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

bool is_out_of_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string unforeseen_name(const std::string& stem) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}", stem, random(), random());
}

}  // namespace tidemark
