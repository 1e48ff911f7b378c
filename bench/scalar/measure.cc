#include "bench/scalar/measure.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>

namespace tidemark::bench {

namespace {

void write_all(int file, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file, at, bytes);
    if (written <= 0) ::_exit(3);
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

std::vector<char> read_all(int file) {
  std::vector<char> all;
  char block[1 << 16];
  for (ssize_t got; (got = ::read(file, block, sizeof block)) > 0;) all.insert(all.end(), block, block + got);
  return all;
}

double peak_resident() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// The figures, then the gradient, or an error's text.
[[noreturn]] void work_and_report(int file, const std::function<Measured()>& work) {
  Measured m;
  try {
    m = work();
  } catch (const std::exception& error) {
    m.error = error.what();
  }
  const double figures[] = {
      m.error.empty() ? 1.0 : 0.0, m.value, m.primal, m.first, m.later, m.tape_bytes, peak_resident()};
  write_all(file, figures, sizeof figures);
  if (m.error.empty()) {
    write_all(file, m.gradient.data(), m.gradient.size() * sizeof(double));
  } else {
    write_all(file, m.error.data(), m.error.size());
  }
  ::_exit(0);
}

}  // namespace

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Measured in_process_of_its_own(const std::function<Measured()>& work) {
  std::fflush(nullptr);  // a child would write what is buffered once more
  int ends[2];
  if (::pipe(ends) != 0) return {.error = "no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    work_and_report(ends[1], work);
  }
  ::close(ends[1]);
  const std::vector<char> all = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  double figures[7];
  if (all.size() < sizeof figures) {
    return {.error = WIFSIGNALED(status) ? std::string("signal ") + ::strsignal(WTERMSIG(status))
                                         : "it gave nothing"};
  }
  std::memcpy(figures, all.data(), sizeof figures);
  const char* rest = all.data() + sizeof figures;
  const std::size_t bytes = all.size() - sizeof figures;
  if (figures[0] == 0) return {.error = std::string(rest, bytes)};
  Measured m{.value = figures[1],
             .primal = figures[2],
             .first = figures[3],
             .later = figures[4],
             .tape_bytes = figures[5],
             .peak_resident = figures[6]};
  m.gradient.resize(bytes / sizeof(double));
  std::memcpy(m.gradient.data(), rest, m.gradient.size() * sizeof(double));
  return m;
}

}  // namespace tidemark::bench
