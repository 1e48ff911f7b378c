// Journals and snapshots that a stranger could write: records are taken apart, changed and put together again
// with checksums that hold. And what becomes of a run that goes on from them, in a process of its own.
#pragma once
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "tests/support/killed_runs.h"
#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule::testing {

struct CraftedFrame {
  char kind = 0;
  std::string payload = {};

  std::size_t words() const { return payload.size() / 8; }
  std::uint64_t word(std::size_t index) const {
    std::uint64_t value = 0;
    std::memcpy(&value, payload.data() + 8 * index, 8);
    return value;
  }
  void set_word(std::size_t index, std::uint64_t value) {
    std::memcpy(payload.data() + 8 * index, &value, 8);
  }
};

inline std::string bytes_in(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The frames of a journal: length, kind, checksum, payload.
class CraftedJournal {
 public:
  static CraftedJournal from(const std::string& bytes) {
    CraftedJournal journal;
    for (std::size_t at = 0; at + 24 <= bytes.size();) {
      std::uint64_t length = 0;
      std::memcpy(&length, bytes.data() + at, 8);
      if (length > bytes.size() - at - 24) break;
      journal.frames.push_back({bytes[at + 8], bytes.substr(at + 24, length)});
      at += 24 + length;
    }
    return journal;
  }
  std::string bytes() const {
    constexpr std::uint64_t magic = 0x31304c4e524a4d54;
    std::string out;
    for (const CraftedFrame& frame : frames) {
      const std::uint64_t length = frame.payload.size();
      const auto kind = static_cast<std::uint64_t>(frame.kind);
      const std::uint64_t sum =
          checksum(std::as_bytes(std::span(frame.payload)), magic + kind + (length << 8));
      for (const std::uint64_t word : {length, kind, sum})
        out.append(reinterpret_cast<const char*>(&word), 8);
      out += frame.payload;
    }
    return out;
  }
  // The last of a kind; null when there is none.
  CraftedFrame* last(char kind) {
    for (std::size_t i = frames.size(); i-- > 0;)
      if (frames[i].kind == kind) return &frames[i];
    return nullptr;
  }
  std::vector<CraftedFrame> frames;
};

// Words of a stored snapshot or adjoint: level and slot, generation, step, is_record, action, bytes,
// checksum, …
enum CommitWord : std::size_t {
  place_word,
  generation_word,
  step_word,
  record_word,
  action_word,
  bytes_word
};

enum class Fate : std::uint8_t { right, error, wrong, foreign_exception, crashed };

inline const char* name_of(Fate fate) {
  constexpr const char* names[] = {"the right gradient", "an Error", "a wrong gradient",
                                   "an exception that is not an Error", "a crash or no end"};
  return names[static_cast<std::size_t>(fate)];
}

// What `run` comes to in a child that has 20 seconds and, without sanitizers, 2 GiB of addresses. `run` says
// whether its gradient is right.
inline Fate fate_of(const std::function<bool()>& run, std::string* text = nullptr) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return Fate::crashed;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
#if !TM_SANITIZED
    const rlimit limit{.rlim_cur = rlim_t{2} << 30, .rlim_max = rlim_t{2} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
#endif
    Fate fate = Fate::crashed;
    std::string what;
    try {
      fate = run() ? Fate::right : Fate::wrong;
    } catch (const Error& error) {
      fate = Fate::error;
      what = error.what();
    } catch (const std::exception& error) {
      fate = Fate::foreign_exception;
      what = error.what();
    }
    if (::write(ends[1], what.data(), std::min<std::size_t>(what.size(), 4000)) < 0) ::_exit(9);
    ::_exit(static_cast<int>(fate));
  }
  ::close(ends[1]);
  std::string said(4000, '\0');
  const ssize_t n = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (text) *text = said;
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > static_cast<int>(Fate::crashed)) return Fate::crashed;
  return static_cast<Fate>(WEXITSTATUS(status));
}

// The files of a run's folder, to be put back after each attempt.
class FolderCopy {
 public:
  explicit FolderCopy(std::filesystem::path folder) : folder_(std::move(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      files_.emplace_back(entry.path().filename().string(), bytes_in(entry.path()));
  }
  void restore() const {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    for (const auto& [name, bytes] : files_) put_bytes(folder_ / name, bytes);
  }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::string bytes(const std::string& name) const {
    for (const auto& [file, bytes] : files_)
      if (file == name) return bytes;
    return "";
  }
  const std::vector<std::pair<std::string, std::string>>& files() const { return files_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace tidemark::schedule::testing
