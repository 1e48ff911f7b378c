#include "tidemark/schedule/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tidemark/base/error.h"

namespace tidemark::schedule {

namespace fs = std::filesystem;

namespace {

void require_name(const std::string& name) {
  const bool good =
      !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '.';
      });
  if (!good)
    fail(ErrorCode::bad_run_option, {.what = fmt::format("a run cannot be named '{}'", name),
                                     .expected = "letters, digits, '-', '_' and '.'; at most 100"});
}

bool is_ours(const fs::path& path) { return path.extension() == ".snapshot"; }

}  // namespace

RunFolders::Lock::~Lock() {
  if (file_ >= 0) ::close(file_);
}

RunFolders::Lock RunFolders::lock(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (file < 0)
    fail(ErrorCode::run_directory,
         {.what = fmt::format("{} cannot be written to: {}", folder, std::strerror(errno)),
          .help = "give a directory that this user may write to"});
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    fail(ErrorCode::run_directory, {.what = fmt::format("another run is using {}", folder),
                                    .help = "wait for it, or give this run another name"});
  }
  return Lock(file);
}

RunFolders::RunFolders(const RunOptions& options) {
  for (const RunLevel& level : options.levels) {
    folders_.emplace_back();
    if (level.directory.empty()) continue;
    require_name(options.name);
    std::error_code error;
    if (!fs::is_directory(level.directory, error))
      fail(ErrorCode::run_directory,
           {.what = fmt::format("{} is not a directory", level.directory),
            .help = "make it first: a run does not make the directory it is given"});
    folders_.back() = (fs::path(level.directory) / ("tidemark-" + options.name)).string();
    fs::create_directory(folders_.back(), error);
    if (error)
      fail(ErrorCode::run_directory,
           {.what = fmt::format("{} cannot be made: {}", folders_.back(), error.message()),
            .help = "give a directory that this user may write to"});
    const bool seen = std::find(folders_.begin(), folders_.end() - 1, folders_.back()) != folders_.end() - 1;
    if (!seen) locks_.push_back(lock(folders_.back()));
    if (journal_.empty()) journal_ = folders_.back() + "/journal";
  }
}

RunFolders::~RunFolders() {
  if (any() && !has_journal()) remove();
}

bool RunFolders::has_journal() const { return any() && ::access(journal_.c_str(), F_OK) == 0; }

void RunFolders::clean(const std::vector<std::string>& keep) const {
  for (const std::string& folder : folders_) {
    if (folder.empty()) continue;
    std::error_code error;
    std::vector<fs::path> unwanted;
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (is_ours(entry.path()) && std::find(keep.begin(), keep.end(), entry.path().string()) == keep.end())
        unwanted.push_back(entry.path());
    for (const fs::path& path : unwanted) fs::remove(path, error);
  }
}

void RunFolders::remove_journal() const { ::unlink(journal_.c_str()); }

void RunFolders::remove() {
  if (!any()) return;
  remove_journal();
  clean();
  for (const std::string& folder : folders_) {
    if (folder.empty()) continue;
    ::unlink((folder + "/lock").c_str());
    ::rmdir(folder.c_str());
  }
}

}  // namespace tidemark::schedule
