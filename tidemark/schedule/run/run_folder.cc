#include "tidemark/schedule/run/run_folder.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/schedule/run/journal.h"

namespace tidemark::schedule {

namespace {

constexpr const char* lock_name = "lock";

void require_name(const std::string& name) {
  const bool good =
      !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '.';
      });
  if (!good)
    fail(ErrorCode::bad_run_option, {.what = fmt::format("a run cannot be named '{}'", name),
                                     .expected = "letters, digits, '-', '_' and '.'; at most 100"});
}

std::shared_ptr<const Folder> opened(Result<Folder, std::string> folder, const char* help) {
  if (!folder) fail(ErrorCode::run_directory, {.what = folder.error(), .help = help});
  return std::make_shared<const Folder>(std::move(folder).value());
}

// An empty handle when the run that had the folder has just removed it.
FileHandle lock(const Folder& folder) {
  FileHandle file = folder.open_or_create(lock_name);
  struct stat facts {};
  if (!file && errno == ENOENT) return file;
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    fail(ErrorCode::run_directory,
         {.what = fmt::format("{} cannot be written to: {}", folder.path(),
                              file ? "its lock is not a file" : std::strerror(errno)),
          .help = "give a directory that this user may write to"});
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    fail(ErrorCode::run_directory, {.what = fmt::format("another run is using {}", folder.path()),
                                    .help = "wait for it, or give this run another name"});
  if (::fstat(file.get(), &facts) != 0 || facts.st_nlink == 0) file.reset();
  return file;
}

}  // namespace

RunFolders::RunFolders(const RunOptions& options)
    : name_("tidemark-" + options.name), durable_(options.durable), unnamed_(options.unnamed) {
  if (unnamed_ && options.resume)
    fail(ErrorCode::bad_run_option, {.what = "a run whose files have no names cannot be resumed"});
  for (const RunLevel& level : options.levels) {
    folders_.emplace_back();
    if (level.directory.empty()) continue;
    if (!unnamed_) require_name(options.name);
    folders_.back() = folder_in(level.directory);
    if (!first_) first_ = folders_.back();
  }
}

const std::shared_ptr<const Folder>& RunFolders::folder_in(const std::string& directory) {
  for (const auto& [known, own] : owned_)
    if (known == directory) return own.folder;
  Own own;
  own.parent =
      opened(Folder::open(directory), "make it first: a run does not make the directory it is given");
  if (unnamed_) {
    own.folder = own.parent;
  } else {
    for (int attempt = 0; !own.lock && attempt < 10; ++attempt) {
      own.folder = opened(own.parent->make_private(name_),
                          "give a directory that this user may write to, or the run another name");
      own.lock = lock(*own.folder);
    }
    if (!own.lock)
      fail(ErrorCode::run_directory,
           {.what = fmt::format("{} is removed again and again", own.folder->path())});
    if (durable_)
      if (const int error = own.parent->sync())
        fail(ErrorCode::run_directory,
             {.what = fmt::format("{} cannot be written to the disk: {}", directory, std::strerror(error))});
  }
  return owned_.emplace_back(directory, std::move(own)).second.folder;
}

RunFolders::~RunFolders() {
  if (any() && !unnamed_ && !first_->holds(journal_name)) remove();
}

std::string RunFolders::journal() const { return first_->path_of(journal_name); }

void RunFolders::clean(const std::vector<std::string>& keep) const {
  if (unnamed_) return;
  for (const auto& [directory, own] : owned_)
    for (const std::string& name : own.folder->files())
      if (name.ends_with(".snapshot") && std::find(keep.begin(), keep.end(), name) == keep.end())
        own.folder->remove(name);
}

void RunFolders::remove_journal() const {
  if (any() && !unnamed_) first_->remove(journal_name);
}

void RunFolders::remove() {
  if (!any() || unnamed_) return;
  remove_journal();
  clean();
  for (const auto& [directory, own] : owned_) {
    own.folder->remove(lock_name);
    own.parent->remove_folder(name_);
  }
}

}  // namespace tidemark::schedule
