#include "tests/faults/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

namespace tidemark::testing {
namespace {

constexpr int patience_ms = 120'000;  // for one line, however slow the machine is

}  // namespace

Child::Child(const std::vector<std::string>& command) {
  std::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

Child::~Child() {
  if (pid_ > 0) {
    kill();
    ended();
  }
  ::close(from_);
}

void Child::say(const std::string& line) const {
  const std::string text = line + "\n";
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return;  // it has ended
}

std::optional<std::string> Child::hear() {
  for (;;) {
    if (const std::size_t end = heard_.find('\n'); end != std::string::npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{.fd = from_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, patience_ms) <= 0) return {};
    char bytes[4096];
    const ssize_t count = ::read(from_, bytes, sizeof bytes);
    if (count <= 0) return {};
    heard_.append(bytes, static_cast<std::size_t>(count));
  }
}

std::string Child::asked(const std::string& line) {
  say(line);
  return hear().value_or("nothing");
}

void Child::kill() const { ::kill(pid_, SIGKILL); }

int Child::ended() {
  ::close(std::exchange(to_, -1));
  while (hear()) {
  }
  kill();  // what ended by itself has its status already
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> Child::unnamed_files(const std::string& folder) const {
  std::vector<std::string> files;
  std::set<ino_t> seen;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd", gone)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    struct stat facts {};
    if (!target.starts_with(folder + "/") || ::stat(entry.path().c_str(), &facts) != 0) continue;
    if (S_ISREG(facts.st_mode) && facts.st_nlink == 0 && seen.insert(facts.st_ino).second)
      files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace tidemark::testing
