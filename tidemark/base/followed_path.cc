#include "tidemark/base/followed_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace tidemark {
namespace {

constexpr int most_links = 40;  // as many as the kernel follows

std::string folder_part(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "./";
  return path.substr(0, slash + 1);
}

bool is_trusted(const struct stat& link, const std::string& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) return true;  // whoever opens the folder finds out why
  const bool open_to_all = (facts.st_mode & S_ISVTX) != 0 && (facts.st_mode & S_IWOTH) != 0;
  return !open_to_all || link.st_uid == ::geteuid() || link.st_uid == facts.st_uid;
}

}  // namespace

Result<std::string, int> followed_path(const std::string& path) {
  std::string at = path;
  for (int links = 0;; ++links) {
    struct stat facts {};
    if (::lstat(at.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return at;
    const std::string folder = folder_part(at);
    if (links == most_links) return ELOOP;
    if (!is_trusted(facts, folder)) return EACCES;
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(at.c_str(), target.data(), target.size());
    if (length < 0) return errno;
    if (static_cast<std::size_t>(length) == target.size()) return ENAMETOOLONG;
    const std::string next(target.data(), static_cast<std::size_t>(length));
    at = next.starts_with('/') ? next : folder + next;
  }
}

}  // namespace tidemark
