// A process that answers lines with lines, and what its files are.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tidemark::testing {

class Child {
 public:
  explicit Child(const std::vector<std::string>& command);
  ~Child();  // kills it if it still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void say(const std::string& line) const;
  // None: it has ended, or says nothing for as long as no call takes.
  std::optional<std::string> hear();
  std::string asked(const std::string& line);  // says and hears; "nothing" where there is no answer
  void kill() const;
  // Closes its input and waits. The exit status, or minus the signal that ended it: SIGKILL where it had to
  // be.
  int ended();

  // Open files of the process that have no name and lay in the folder: paths through which they can be
  // opened, each file once.
  std::vector<std::string> unnamed_files(const std::string& folder) const;

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string heard_;
};

}  // namespace tidemark::testing
