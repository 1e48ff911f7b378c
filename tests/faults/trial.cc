#include "tests/faults/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "tests/faults/child.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/base/error.h"

namespace tidemark::testing {
namespace {

constexpr uid_t nobody = 65534;
// A budget that has values wait on the disk, and one in which hints or a loop alone ask for it; then lower
// ones.
constexpr std::int64_t tight = 3'400'000, roomy = std::int64_t{64} << 20;

// Permissions do not stop root. Limits can be set for one's own processes.
uid_t user_for(Fault fault) {
  const bool limits = fault == Fault::size_limit || fault == Fault::open_limit;
  return ::geteuid() == 0 && !limits ? nobody : ::getuid();
}

// A file system of its own, in memory, at a folder.
class SmallDisk {
 public:
  SmallDisk(const std::string& at, const std::string& kind) : at_(at) {
    const char* const size = kind == "tmpfs" ? "size=32m" : nullptr;
    mounted_ = ::mount(kind.c_str(), at.c_str(), kind.c_str(), 0, size) == 0;
  }
  ~SmallDisk() { detach(); }
  bool mounted() const { return mounted_; }
  void detach() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
    mounted_ = false;
  }

 private:
  const std::string at_;
  bool mounted_ = false;
};

class Trial {
 public:
  Trial(Fault fault, std::uint64_t seed, DiskCompression compress)
      : fault_(fault),
        compress_(compress),
        random_(seed * 1000 + static_cast<std::uint64_t>(fault)),
        user_(user_for(fault)),
        sender_(draw(3)),
        fallback_(sender_ > 0 && draw(3) == 0) {}

  TrialResult run() {
    if (!stage()) return std::move(result_);
    const std::int64_t memory = sender_ > 0 ? roomy : tight;
    child_ = std::make_unique<Child>(std::vector<std::string>{
        TIDEMARK_FAULTS_CHILD, folder_, std::to_string(memory), std::to_string(sender_),
        fallback_ ? "1" : "0", std::to_string(user_), std::to_string(static_cast<int>(compress_))});
    for (int k = 0; k < 2; ++k) must_be_right("before the fault");
    const std::string files = child_->asked("files");
    check(child_->asked("report").ends_with(" with"), "the plan does not use the disk");
    switch (fault_) {
      case Fault::kill:
        kill_in_a_call();
        return std::move(result_);
      case Fault::flip:
      case Fault::hole:
      case Fault::truncate:
      case Fault::size_limit:
      case Fault::unmounted:
        strike_in_calls();
        break;
      default:
        strike_between_calls(memory);
    }
    lift();
    for (int k = 0; k < 2; ++k) must_be_right("after the fault");
    check(fallback_ || child_->asked("report").ends_with(" with"), "it does without the disk, unasked");
    const std::string files_now = child_->asked("files");
    check(files_now == files || fallback_, "files left open: " + files + " became " + files_now);
    check(names_in_folder() == 0, "a file was left in the folder");
    const int status = child_->ended();
    check(status == 0, fmt::format("it ended with {}", status));
    return std::move(result_);
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  void check(bool holds, const std::string& what) {
    if (!holds) result_.problems.push_back(what);
  }

  bool stage() {
    const bool shared_memory = std::filesystem::exists("/dev/shm") && draw(2) == 0;
    scratch_.emplace(shared_memory ? "/dev/shm" : std::filesystem::temp_directory_path());
    folder_ = scratch_->path("values");
    std::filesystem::create_directory(folder_);
    if (fault_ == Fault::full || fault_ == Fault::unmounted) {
      small_.emplace(folder_, "tmpfs");
      if (!small_->mounted()) {
        result_.skipped = "only root can mount a file system";
        return false;
      }
    }
    const bool strikes_file =
        fault_ == Fault::flip || fault_ == Fault::truncate || fault_ == Fault::size_limit;
    if (strikes_file && draw(3) == 0) small_.emplace(folder_, "ramfs");  // has no way past the cache
    std::filesystem::permissions(scratch_->path(), std::filesystem::perms{0755});
    own_folder();
    return true;
  }
  void own_folder() const {
    std::filesystem::permissions(folder_, std::filesystem::perms{0700});
    if (user_ != ::getuid() && ::chown(folder_.c_str(), user_, user_) != 0) throw std::runtime_error("chown");
  }
  std::size_t names_in_folder() const {
    const std::filesystem::directory_iterator entries(folder_);
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

  std::string heard() { return child_->hear().value_or("nothing"); }
  std::string begun_call() {
    child_->say("call");
    return heard();
  }
  void must_be_right(const std::string& when) {
    check(begun_call() == "begin", "no call began " + when);
    const auto begin = std::chrono::steady_clock::now();
    const std::string answer = heard();
    const auto taken =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    call_us_ = static_cast<std::uint64_t>(taken.count());
    check(answer == "ok", when + ": " + answer);
  }

  // The outcome of a call while the fault lasts.
  enum class Allowed { both, error, right };
  void judge(const std::string& answer, Allowed allowed, bool state_must_be_kept) {
    if (answer == "ok") {
      ++result_.right;
      return check(allowed != Allowed::error || fallback_, "a call was right that could not be");
    }
    ++result_.errors;
    if (result_.first_error.empty()) result_.first_error = answer;
    const auto has = [&](const std::string& part) { return answer.find(part) != std::string::npos; };
    check(!fallback_ || has(" lost "), "a call failed that could do without the disk: " + answer);
    const auto code = [](ErrorCode c) { return fmt::format("error {} ", static_cast<int>(c)); };
    check(allowed != Allowed::right, "a call failed for nothing: " + answer);
    check(answer.starts_with(code(ErrorCode::disk_failure)) || answer.starts_with(code(ErrorCode::disk_full)),
          "no error of the disk: " + answer);
    check(has(folder_), "the folder is not named: " + answer);
    check(has("help: "), "no help: " + answer);
    check(has("training_main.cc:"), "the user's line is not named: " + answer);
    const bool lost = has(" lost ");
    result_.lost += lost;
    check(has(" kept ") || (lost && !state_must_be_kept), "the weights: " + answer);
  }

  void wait_a_moment(std::uint64_t parts = 1) {
    std::this_thread::sleep_for(std::chrono::microseconds(draw(1 + call_us_ / parts)));
  }

  void kill_in_a_call() {
    check(begun_call() == "begin", "no call began");
    wait_a_moment();
    child_->kill();
    check(child_->ended() == -SIGKILL, "it did not end by the signal");
    check(names_in_folder() == 0, "a file was left in the folder");
  }

  void strike_in_calls() {
    constexpr int calls = 4;
    for (int k = 0; k < calls; ++k) {
      check(begun_call() == "begin", "no call began");
      const bool lasts = fault_ == Fault::unmounted || fault_ == Fault::size_limit;
      const std::uint64_t strikes = lasts ? 1 : 6;
      for (std::uint64_t strike = 0; strike < strikes; ++strike) {
        wait_a_moment(strikes);
        strike_file();
      }
      judge(heard(), fault_ == Fault::unmounted ? Allowed::right : Allowed::both, false);
      if (fault_ == Fault::size_limit) lift();
    }
  }
  void strike_file() {
    if (fault_ == Fault::unmounted) return small_->detach();
    const std::vector<std::string> files = child_->unnamed_files(folder_);
    if (files.empty()) return check(fallback_, "there is no file to strike");
    const int file = ::open(files.front().c_str(), O_RDWR | O_CLOEXEC);
    check(file >= 0, "the file cannot be opened");
    struct stat facts {};
    ::fstat(file, &facts);
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    if (size == 0) {  // struck before
      ::close(file);
      return;
    }
    const auto at = static_cast<off_t>(draw(size));
    switch (fault_) {
      case Fault::flip: {
        std::vector<char> bytes(1 + draw(std::min<std::uint64_t>(size, 1 << 20)));
        const std::uint64_t first = draw(256);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(first + i * 37);
        check(::pwrite(file, bytes.data(), bytes.size(), at) > 0, "nothing was written over");
        break;
      }
      case Fault::hole:
        ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(1 + draw(size)));
        break;
      case Fault::truncate:
        check(::ftruncate(file, at) == 0, "the file cannot be cut");
        break;
      default:
        limit(RLIMIT_FSIZE, static_cast<rlim_t>(at));
    }
    ::close(file);
  }

  void limit(int which, rlim_t most) {
    rlimit before{};
    ::prlimit(child_->pid(), static_cast<__rlimit_resource>(which), nullptr, &before);
    const rlimit now{.rlim_cur = most, .rlim_max = before.rlim_max};
    check(::prlimit(child_->pid(), static_cast<__rlimit_resource>(which), &now, nullptr) == 0,
          "no limit is set");
    limited_ = which;
    before_ = before;
  }

  // A file that is there goes on; a new one, for a smaller budget, cannot be made. What the old one gives
  // back must not make room.
  void strike_between_calls(std::int64_t memory) {
    const std::string smaller = "memory " + std::to_string(memory - memory / 16);
    if (fault_ == Fault::full) {
      check(child_->asked(smaller) == "ok", "no other budget");
      strike_folder();
    } else {
      strike_folder();
      for (std::uint64_t k = draw(2); k > 0; --k) {
        check(begun_call() == "begin", "no call began");
        judge(heard(), Allowed::right, true);
      }
      check(child_->asked(smaller) == "ok", "no other budget");
    }
    for (int k = 0; k < 2; ++k) {
      check(begun_call() == "begin", "no call began");
      judge(heard(), Allowed::error, true);
    }
  }
  void strike_folder() {
    switch (fault_) {
      case Fault::full: {
        std::ofstream filler(filler_path(), std::ios::binary);
        const std::string block(1 << 16, 'x');
        while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
        }
        filled_ = true;
        break;
      }
      case Fault::no_permission:
        std::filesystem::permissions(folder_, std::filesystem::perms::none);
        break;
      case Fault::read_only:
        std::filesystem::permissions(folder_, std::filesystem::perms{0555});
        break;
      case Fault::removed:
        std::filesystem::remove(folder_);
        break;
      default:
        limit(RLIMIT_NOFILE, 3);
    }
  }
  std::string filler_path() const { return folder_ + "/filler"; }

  void lift() {
    if (limited_) ::prlimit(child_->pid(), static_cast<__rlimit_resource>(*limited_), &before_, nullptr);
    limited_.reset();
    if (filled_) std::filesystem::remove(filler_path());
    filled_ = false;
    if (fault_ == Fault::removed) std::filesystem::create_directory(folder_);
    if (fault_ == Fault::removed || fault_ == Fault::no_permission || fault_ == Fault::read_only)
      own_folder();
  }

  const Fault fault_;
  const DiskCompression compress_;
  std::mt19937_64 random_;
  const uid_t user_;            // that the process runs as
  const std::uint64_t sender_;  // the budget, hints, or a loop: Sender of training_main.cc
  const bool fallback_;         // it may do without the disk, for which there is memory
  TrialResult result_;
  std::optional<ScratchFolder> scratch_;
  std::string folder_;
  std::optional<SmallDisk> small_;
  std::unique_ptr<Child> child_;
  std::optional<int> limited_;
  rlimit before_{};
  bool filled_ = false;
  std::uint64_t call_us_ = 0;  // how long the last right one took, with what is compared behind it
};

}  // namespace

std::string name_of(Fault fault) {
  constexpr std::string_view names[] = {"kill",       "flip",       "hole",          "truncate",
                                        "size_limit", "full",       "no_permission", "read_only",
                                        "removed",    "open_limit", "unmounted"};
  return std::string(names[static_cast<std::size_t>(fault)]);
}

TrialResult run_trial(Fault fault, std::uint64_t seed, DiskCompression compress) {
  return Trial(fault, seed, compress).run();
}

}  // namespace tidemark::testing
