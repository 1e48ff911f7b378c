// The gradient of a simulation (the wave equation of the examples in f32) inside a byte budget, timed, with
// the memory of the process: bench/compare_wave.py runs it next to JAX's nested checkpoints.
//   wave [--cells 512] [--steps 4096] [--memory BYTES] [--kind automatic] [--threads 1] [--rounds 1]
//   [--directory D]
//        [--gradient FILE]
// Prints JSON. With a directory, a second level without bounds lies there. --gradient writes the field as raw
// floats.
#include <fmt/format.h>
#include <malloc.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include "examples/wave.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/schedule/run.h"

namespace td = tidemark;
namespace schedule = tidemark::schedule;

namespace {

struct Options {
  int cells = 512, threads = 1, rounds = 1;
  schedule::Step steps = 4096;
  td::Bytes memory = td::Bytes(-1);  // below zero: any
  schedule::Kind kind = schedule::Kind::automatic;
  std::string directory, gradient;
};

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--cells") options.cells = std::stoi(value);
    if (name == "--steps") options.steps = std::stoll(value);
    if (name == "--threads") options.threads = std::stoi(value);
    if (name == "--rounds") options.rounds = std::stoi(value);
    if (name == "--memory") options.memory = td::parse_bytes(value);
    if (name == "--kind") options.kind = schedule::kind_named(value).value();
    if (name == "--directory") options.directory = value;
    if (name == "--gradient") options.gradient = value;
  }
  return options;
}

// A line of /proc/self/status, in bytes.
std::int64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Freed records stay with the process: by default their pages go back to the kernel, and getting them again
  // takes longer than the step that fills them.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  const Options options = read(argc, argv);
  const int n = options.cells;
  wave::Medium<float> medium(n, n, 20);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x)
      medium.courant2.at(y, x) = static_cast<float>(0.16 + 0.04 * std::sin(0.05 * x) * std::cos(0.07 * y));
  wave::Shot<float> shot{{n / 2, n / 2}, wave::ricker<float>(options.steps, 0.02), {}, {}};
  for (int x = 0; x < n; x += 8) shot.receivers.push_back({24, x});
  shot.observed.assign(static_cast<std::size_t>(options.steps) * shot.receivers.size(), 0.0f);
  td::ThreadPool pool(options.threads);
  wave::Stepper<float> stepper(medium, shot, options.threads > 1 ? &pool : nullptr);

  // One step of each kind by itself: what the schedule's steps should cost.
  double advance_seconds = 1e9, record_seconds = 1e9, reverse_seconds = 1e9;
  {
    wave::State<float> state(n, n);
    wave::Adjoint<float> adjoint(n, n);
    for (int repeat = 0; repeat < 5; ++repeat) {
      const int many = 8;
      tidemark::Stopwatch watch;
      stepper.advance(state, {0, many});
      advance_seconds = std::min(advance_seconds, watch.seconds() / many);
      watch = {};
      wave::Record<float> record;
      for (int i = 0; i < many; ++i) record = stepper.record(state, i);
      record_seconds = std::min(record_seconds, watch.seconds() / many);
      watch = {};
      for (int i = many; i-- > 0;) stepper.reverse(record, adjoint, i);
      reverse_seconds = std::min(reverse_seconds, watch.seconds() / many);
    }
  }

  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
  const std::int64_t baseline = status_bytes("VmRSS:");
  wave::Adjoint<float> adjoint(n, n);
  schedule::Report report;
  double seconds = 1e9, cpu_seconds = 1e9;
  for (int round = 0; round < options.rounds; ++round) {
    wave::State<float> state(n, n);
    adjoint = wave::Adjoint<float>(n, n);
    std::vector<schedule::RunLevel> levels = {{.bytes = options.memory}};
    if (!options.directory.empty()) levels.push_back({.directory = options.directory});
    const tidemark::Stopwatch watch;
    const std::clock_t cpu_start = std::clock();
    report = schedule::run(stepper, state, adjoint, options.steps,
                           {.levels = std::move(levels), .kind = options.kind});
    seconds = std::min(seconds, watch.seconds());
    cpu_seconds = std::min(cpu_seconds, static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  }
  if (!options.gradient.empty()) {
    std::vector<std::byte> bytes(adjoint.courant2.size());
    std::span<std::byte> to = bytes;
    adjoint.courant2.save(to);
    std::ofstream(options.gradient, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  fmt::print(
      "{{\"kind\": \"{}\", \"seconds\": {:.3f}, \"cpu_seconds\": {:.3f}, \"held\": {}, \"peak_rss\": {}, "
      "\"growth\": {}, \"forward\": "
      "{}, "
      "\"predicted_forward\": {}, \"stall_seconds\": {:.3f}, \"misfit\": {:.9e}, \"advance_ms\": {:.4f}, "
      "\"record_ms\": {:.4f}, \"reverse_ms\": {:.4f}}}\n",
      schedule::name_of(report.promise.kind), seconds, cpu_seconds, report.levels[0].peak_bytes.count,
      status_bytes("VmHWM:"), status_bytes("VmHWM:") - baseline, report.actual_forward(),
      report.predicted_forward(), report.stall_seconds, adjoint.misfit, 1e3 * advance_seconds,
      1e3 * record_seconds, 1e3 * reverse_seconds);
}
