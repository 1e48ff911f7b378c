// tidemark_fuzz: random programs for as long as one likes, on several processes; what fails is made smaller
// and printed as the recipe (the seed and the steps that stay) and as the graph.
//
//   tidemark_fuzz --seeds 0:100000 --jobs 16 --seconds 3600     status 1 when something was found
//   tidemark_fuzz --seeds 4711:4712 --thorough                  one program, every pass switched off, every
//                                                               budget
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "tests/programs/shrink.h"
#include "tidemark/ir/print.h"

namespace tidemark::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t from = 0, to = 1000;
  int jobs = 1;
  double seconds = 1e9;    // for all
  Patience patience{120};  // with one program
  bool shrinks = true;
  Thoroughness thoroughness = {};
};

[[noreturn]] void usage(const std::string& wrong) {
  fmt::print(stderr,
             "{}\nusage: tidemark_fuzz [--seeds FROM:TO] [--jobs N] [--seconds S] [--limit S] [--thorough] "
             "[--no-shrink]\n",
             wrong);
  std::exit(2);
}

template <class T>
T number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    usage(fmt::format("\"{}\" is no number", text));
  return value;
}

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (++i == count) usage(word + " wants a value");
      return words[i];
    };
    if (word == "--seeds") {
      const std::string range = next();
      const std::size_t colon = range.find(':');
      if (colon == std::string::npos) usage("--seeds wants FROM:TO");
      options.from = number<std::uint64_t>(range.substr(0, colon));
      options.to = number<std::uint64_t>(range.substr(colon + 1));
    } else if (word == "--jobs") {
      options.jobs = std::max(1, number<int>(next()));
    } else if (word == "--seconds") {
      options.seconds = number<double>(next());
    } else if (word == "--limit") {
      options.patience = {number<double>(next())};
    } else if (word == "--thorough") {
      options.thoroughness = {.skips = 100, .budget_every = 1};
    } else if (word == "--no-shrink") {
      options.shrinks = false;
    } else {
      usage("unknown: " + word);
    }
  }
  return options;
}

// What the processes share. Seeds are handed out one by one; a worker that dies is started anew.
struct Desk {
  std::atomic<std::uint64_t> next, done, refused, found;
  struct Job {
    std::atomic<std::uint64_t> seed;
    std::atomic<std::int64_t> since;              // in seconds; 0: none
    std::atomic<double> since_processor_seconds;  // of the worker
  };
  Job jobs[256];
  std::atomic<std::uint64_t> bad[1024];  // seeds; more than these are counted only

  void note(std::uint64_t seed) {
    if (const std::uint64_t n = found++; n < std::size(bad)) bad[n] = seed;
  }
};

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
}

void print_finding(std::uint64_t seed, const Finding& finding) {
  fmt::print("seed {}: {}, {}: {}\n", seed, name_of(finding.part), finding.variation.text(), finding.what);
  std::fflush(stdout);
}

void work(Desk& desk, int job, const Options& options) {
  Desk::Job& mine = desk.jobs[job];
  for (std::uint64_t seed; (seed = desk.next++) < options.to;) {
    mine.seed = seed;
    mine.since_processor_seconds = processor_seconds_of(getpid());
    mine.since = now();
    const Finding finding = check(seed, options.thoroughness);
    mine.since = 0;
    ++desk.done;
    desk.refused += finding.refused;
    if (!finding) continue;
    print_finding(seed, finding);
    desk.note(seed);
  }
  std::fflush(stdout);
  _exit(0);
}

class Fuzzer {
 public:
  explicit Fuzzer(const Options& options)
      : options_(options), end_(now() + static_cast<std::int64_t>(options.seconds)) {
    void* memory = mmap(nullptr, sizeof(Desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TM_CHECK(memory != MAP_FAILED, "no memory to share");
    desk_ = new (memory) Desk();
    desk_->next = options.from;
    options_.jobs = std::min(options_.jobs, 256);
  }

  int run() {
    const std::int64_t begin = now();
    std::int64_t told = begin;
    for (int j = 0; j < options_.jobs; ++j) start(j);
    while (!workers_.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      look_after();
      if (now() - told < 30) continue;
      told = now();
      print_counts(told - begin);
    }
    if (options_.shrinks) shrink_all();
    print_counts(now() - begin);
    fmt::print("{}\n", desk_->found == 0 ? "clean" : "NOT CLEAN");
    return desk_->found == 0 ? 0 : 1;
  }

 private:
  void start(int job) {
    std::fflush(stdout);
    const pid_t child = fork();
    TM_CHECK(child >= 0, "no further process");
    if (child == 0) work(*desk_, job, options_);
    workers_[child] = job;
  }

  // Ends what takes too long, starts anew what ended early.
  void look_after() {
    if (now() > end_) desk_->next = options_.to;
    for (const auto& [pid, job] : workers_) {
      if (took_too_long(pid, desk_->jobs[job])) kill(pid, SIGKILL);
    }
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto worker = workers_.find(pid);
      if (worker == workers_.end()) continue;
      const int job = worker->second;
      workers_.erase(worker);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      Desk::Job& its = desk_->jobs[job];
      const bool stopped = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      ++desk_->done;
      fmt::print(
          "seed {}: {}\n", its.seed.load(),
          stopped ? fmt::format("no end after {} s", options_.patience.processor_seconds)
                  : fmt::format("crashed: {}", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit"));
      desk_->note(its.seed);
      its.since = 0;
      start(job);
    }
  }

  bool took_too_long(pid_t pid, const Desk::Job& job) const {
    const std::int64_t since = job.since;
    if (since == 0) return false;
    return processor_seconds_of(pid) - job.since_processor_seconds > options_.patience.processor_seconds ||
           static_cast<double>(now() - since) > options_.patience.wall_seconds();
  }

  void print_counts(std::int64_t seconds) const {
    fmt::print("{} programs of seeds {}:{} in {} s: {} refused, {} found\n", desk_->done.load(),
               options_.from, std::min(desk_->next.load(), options_.to), seconds, desk_->refused.load(),
               desk_->found.load());
    std::fflush(stdout);
  }

  // One of each kind.
  void shrink_all() const {
    std::set<std::string> kinds;
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(desk_->found, std::size(desk_->bad)); ++k) {
      const std::uint64_t seed = desk_->bad[k];
      const Outcome first = run_apart(options_.patience, [&](const Progress& progress) {
        check(seed, options_.thoroughness, {}, progress);
      });
      if (!first.finding || !kinds.insert(kind_of(first.finding.what)).second) continue;
      const Smaller small = shrink(seed, options_.thoroughness, first.finding, options_.patience);
      fmt::print("\n---- made smaller: seed {}, steps left out:", seed);
      for (int s : small.left_out) fmt::print(" {}", s);
      fmt::print("\n");
      print_finding(seed, small.finding);
      fmt::print("{}\n", print(small.program.graph));
      std::fflush(stdout);
    }
  }

  Options options_;
  std::int64_t end_;
  Desk* desk_;
  std::map<pid_t, int> workers_;
};

}  // namespace
}  // namespace tidemark::testing

int main(int count, char** words) {
  using namespace tidemark::testing;
  return Fuzzer(read_options(count, words)).run();
}
