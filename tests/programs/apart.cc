#include "tests/programs/apart.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>

namespace tidemark::testing {
namespace {

// What the two processes share: a finding without pointers.
struct Shared {
  Part part;
  int threads, budget;
  std::uint64_t donated;
  bool derivatives, refused;
  char skip[64];
  char what[4000];

  void put(const Finding& finding) {
    part = finding.part;
    threads = finding.variation.threads;
    budget = finding.variation.budget;
    donated = finding.variation.donated;
    derivatives = finding.variation.derivatives;
    refused = finding.refused;
    std::strncpy(skip, finding.variation.skip.c_str(), sizeof skip - 1);
    std::strncpy(what, finding.what.c_str(), sizeof what - 1);
  }
  Finding get() const {
    return {.part = part,
            .variation = {.skip = skip,
                          .threads = threads,
                          .budget = budget,
                          .donated = donated,
                          .derivatives = derivatives},
            .what = what,
            .refused = refused};
  }
};

Shared* share() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TM_CHECK(memory != MAP_FAILED, "no memory to share");
  return static_cast<Shared*>(memory);
}

// The status it ended with; nothing: it had to be stopped.
std::optional<int> wait_for(pid_t child, Patience patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  auto pause = std::chrono::microseconds(50);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
    if (processor_seconds_of(child) > patience.processor_seconds || waited > patience.wall_seconds()) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  return status;
}

}  // namespace

double processor_seconds_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;  // it has ended
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Outcome run_apart(Patience patience, const std::function<void(const Progress&)>& body) {
  Shared* shared = share();
  const pid_t child = fork();
  TM_CHECK(child >= 0, "no further process");
  if (child == 0) {
    body([&](const Finding& finding) { shared->put(finding); });
    _exit(0);
  }
  const std::optional<int> status = wait_for(child, patience);
  Outcome outcome{shared->get(), !status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0};
  munmap(shared, sizeof(Shared));
  if (!status) {
    outcome.finding.what = fmt::format("no end after {} s", patience.processor_seconds);
  } else if (outcome.crashed) {
    outcome.finding.what = WIFSIGNALED(*status) ? fmt::format("crashed: {}", strsignal(WTERMSIG(*status)))
                                                : "crashed: the process ended early";
  }
  return outcome;
}

}  // namespace tidemark::testing
