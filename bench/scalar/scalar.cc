// Gradients of scalar code by operator overloading: published problems, ours and the peers that were found,
// in one table.
// usage: scalar [--problem NAME] [--tool NAME] [--seconds S] [--runs N] [--small]
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "bench/scalar/counted.h"
#include "bench/scalar/tools/tools.h"

namespace {

using namespace tidemark::bench;

struct Arguments {
  std::string problem, tool;
  Settings settings;
  bool small = false;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (!std::strcmp(argv[i], "--problem"))
      arguments.problem = value();
    else if (!std::strcmp(argv[i], "--tool"))
      arguments.tool = value();
    else if (!std::strcmp(argv[i], "--seconds"))
      arguments.settings.least_seconds = std::atof(value());
    else if (!std::strcmp(argv[i], "--runs"))
      arguments.settings.least_runs = std::atoi(value());
    else if (!std::strcmp(argv[i], "--small"))
      arguments.small = true;
    else
      std::exit((fmt::print(stderr, "unknown argument {}\n", argv[i]), 2));
  }
  return arguments;
}

std::vector<Tool> tools() {
  std::vector<Tool> all;
  add_tidemark(all);
#ifdef TIDEMARK_BENCH_ADOLC
  add_adolc(all);
#endif
#ifdef TIDEMARK_BENCH_CPPAD
  add_cppad(all);
#endif
#ifdef TIDEMARK_BENCH_SACADO
  add_sacado(all);
#endif
#ifdef TIDEMARK_BENCH_STAN
  add_stan(all);
#endif
  return all;
}

std::string missing() {
  std::string names = "Adept and CoDiPack, of which neither Debian nor PyPI has a package";
#ifndef TIDEMARK_BENCH_ADOLC
  names += "; ADOL-C (Debian: libadolc-dev)";
#endif
#ifndef TIDEMARK_BENCH_CPPAD
  names += "; CppAD (PyPI: cmeel-cppad)";
#endif
#ifndef TIDEMARK_BENCH_SACADO
  names += "; Sacado (Debian: libtrilinos-sacado-dev)";
#endif
#ifndef TIDEMARK_BENCH_STAN
  names += "; Stan Math (Debian: r-cran-stanheaders)";
#endif
  return names;
}

template <class P>
std::int64_t operations(const P& problem) {
  const std::vector<double> inputs = problem.inputs();
  const std::vector<Counted> x(inputs.begin(), inputs.end());
  Counted::operations = 0;
  evaluate<Counted>(problem, x);
  return Counted::operations;
}

// The largest difference by the largest entry.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= difference)) difference = std::abs(a[i] - b[i]);  // holds a NaN fast
    size = std::max(size, std::abs(b[i]));
  }
  return a.size() == b.size() ? difference / size : HUGE_VAL;
}

std::string in_mib(double bytes) { return bytes < 0 ? "-" : fmt::format("{:.1f}", bytes / (1 << 20)); }

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  fmt::print("{:<12} {:<26} {:>10} {:>11} {:>6} {:>12} {:>10} {:>6} {:>13}\n", "problem", "tool", "primal ms",
             "gradient ms", "ratio", "first/later", "tape MiB", "B/op", "resident MiB");
  bool failed = false;
  for (const Problem& problem : arguments.small ? small_problems() : published_problems()) {
    const std::string name = std::visit([](const auto& p) { return std::string(p.name); }, problem);
    if (name.find(arguments.problem) == std::string::npos) continue;
    const double ops = static_cast<double>(std::visit([](const auto& p) { return operations(p); }, problem));
    std::vector<double> expected;
    for (const Tool& tool : tools()) {
      if (tool.name.find(arguments.tool) == std::string::npos) continue;
      bool applies = true;
      const Measured m =
          in_process_of_its_own([&] { return tool.run(problem, arguments.settings).value_or(Measured{}); });
      if (m.error.empty() && m.gradient.empty()) applies = false;
      if (!applies) continue;
      if (expected.empty() && m.error.empty()) expected = m.gradient;
      std::string complaint = m.error;
      if (complaint.empty() && !(distance(m.gradient, expected) < 1e-10)) {
        complaint = fmt::format("FAILED: its gradient is {:.1e} away from the first row's",
                                distance(m.gradient, expected));
      }
      if (!complaint.empty()) {
        fmt::print("{:<12} {:<26} {}\n", name, tool.name, complaint.substr(0, complaint.find('\n')));
        // A memory that is too small says so: no step fits (TM0101), or what is not marked (TM0901).
        failed =
            failed || !(complaint.starts_with("error[TM0101]") || complaint.starts_with("error[TM0901]"));
        continue;
      }
      fmt::print("{:<12} {:<26} {:>10.2f} {:>11.2f} {:>6.1f} {:>12.2f} {:>10} {:>6} {:>13}\n", name,
                 tool.name, m.primal * 1e3, m.later * 1e3, m.later / m.primal, m.first / m.later,
                 in_mib(m.tape_bytes), m.tape_bytes < 0 ? "-" : fmt::format("{:.1f}", m.tape_bytes / ops),
                 in_mib(m.peak_resident));
      std::fflush(stdout);
    }
  }
  fmt::print(
      "Each row is a process of its own; values and gradients in turns, medians of the processor's time. "
      "Tapes are recorded for "
      "every "
      "gradient unless a row says otherwise.\nNot here: {}.\n",
      missing());
  return failed ? 1 : 0;
}
