#include "tools/commands/machine.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/calibrate.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cuda/compiler.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/engine/calibrate_device.h"
#include "tools/commands/machine_fit.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/options/device_option.h"
#include "tools/options/model_option.h"
#include "tools/options/number_option.h"
#include "tools/report/progress.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

struct MachineCommand {
  std::string effort = "normal", output, show, disk, base;
  std::vector<std::string> from;  // profiles
  int threads = 0;
  DeviceOption device;
  bool json = false, probes = false, devices = false;
};

// 1.25e9 with prefixes of a thousand: "1.25 G".
std::string with_prefix(double x) {
  constexpr std::string_view prefixes[] = {"", "k", "M", "G", "T"};
  std::size_t p = 0;
  for (; x >= 999.5 && p + 1 < std::size(prefixes); ++p) x /= 1000;
  return fmt::format("{:.3g} {}", x, prefixes[p]);
}

void print_curve(std::string_view title, const Curve& curve, std::string_view size_unit,
                 std::string_view rate_unit) {
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const Curve::Point& point = curve.points[i];
    fmt::print("  {:<14} {:>10}{:<6} {:>10}{}\n", i == 0 ? title : "", with_prefix(point.size), size_unit,
               with_prefix(point.rate), rate_unit);
  }
}

void print_table(const Machine& machine) {
  fmt::print("{}, {} of memory, {:.2f} µs per step\n", machine.name, to_string(Bytes(machine.memory_bytes)),
             1e6 * machine.overhead);
  fmt::print("\nwork             size of a call         rate\n");
  for (int w = 1; w < work_count; ++w) {
    const auto work = static_cast<WorkKind>(w);
    print_curve(name_of(work), machine[work].flops, "flop", "flop/s");
    print_curve("", machine[work].bytes, "B", "B/s");
  }
  fmt::print("\nspeed by dtype, f32 being 1\n");
  for (const WorkKind work : {WorkKind::contraction, WorkKind::convolution, WorkKind::elementwise}) {
    fmt::print("  {:<14}", name_of(work));
    for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
      fmt::print(" {} {:.2f}", name_of(dtype), machine[work].speed[static_cast<std::size_t>(dtype)]);
    }
    fmt::print("\n");
  }
}

void print_links(const Machine& machine) {
  if (machine.links.empty()) return;
  const auto name = [&](int memory) {
    const bool beside_host = !machine.further.empty() && machine.further[0].name == host_memory_name;
    if (memory == 0) return std::string(beside_host ? "device" : "ram");
    return machine.further[static_cast<std::size_t>(memory) - 1].name;
  };
  fmt::print("\ncopies               latency        alone   while computing\n");
  for (const Link& link : machine.links) {
    fmt::print("  {:<14} {:>8.1f} µs {:>10}B/s {:>10}B/s\n",
               fmt::format("{} → {}", name(link.from), name(link.to)), 1e6 * link.latency,
               with_prefix(link.bandwidth), with_prefix(link.beside_compute));
  }
  if (machine.codecs.empty()) return;
  fmt::print("\ncodecs                  encode       decode\n");
  for (const CodecRate& rate : machine.codecs) {
    fmt::print("  {:<14} {:>10}B/s {:>10}B/s\n", rate.codec, with_prefix(rate.encode),
               with_prefix(rate.decode));
  }
}

void print_probe(const ProbeReport& probe) {
  fmt::print("{:>10.2f} {:>10.2f} {:>6.2f}  {:<14} {}\n", 1e6 * probe.measured, 1e6 * probe.predicted,
             probe.predicted / probe.measured, name_of(probe.work), probe.call);
}

// What both ways to measure are told.
template <class Options>
void set_common(Options& options, const MachineCommand& command, std::unique_ptr<Progress>& progress) {
  options.effort = command.effort == "quick" ? Effort::quick : Effort::normal;
  if (!command.json) {
    options.progress = [&](int done, int total) {
      if (!progress) progress = std::make_unique<Progress>(total);
      progress->show(done, "measuring");
    };
  }
  if (!command.probes) return;
  fmt::print("{:>10} {:>10} {:>6}\n", "meas µs", "pred µs", "ratio");
  options.report = print_probe;
}

Machine measured(const MachineCommand& command) {
  std::unique_ptr<Progress> progress;
  if (command.device.is_cpu()) {
    CpuDevice device(command.threads);
    CalibrationOptions options;
    options.disk_folder = command.disk;
    set_common(options, command, progress);
    return calibrate(device, options);
  }
  const std::shared_ptr<Device> device = command.device.open();
  DeviceCalibrationOptions options{.name = command.device.name(), .memory_bytes = command.device.memory()};
  set_common(options, command, progress);
  return calibrate(*device, options);
}

// The GPUs of this machine and what compiles for them, or why there is none.
void print_devices() {
  fmt::print("{}", to_string(cuda::devices()));
  const auto version = cuda::compiler_version();
  if (version) {
    fmt::print("CUDA compiler: NVRTC {}.{}\n", version.value().major, version.value().minor);
  } else {
    fmt::print("CUDA compiler: none: {}\n", version.error());
  }
}

void run_machine(const CLI::App& app, const MachineCommand& command) {
  if (command.devices) return print_devices();
  if (command.from.empty()) {
    refuse_options(app, {"--base"}, "a machine that is measured");
  } else {
    refuse_options(app, {"--threads", "--disk", "--show", "--effort", "--probes", "--device"},
                   "a machine that is fitted to profiles");
  }
  if (!command.device.is_cpu()) refuse_options(app, {"--threads", "--disk", "--show"}, "a GPU");
  std::optional<OutputFile> file;
  if (!command.output.empty())
    file.emplace(command.output);  // before the measurement: a mistake costs no time
  std::optional<FittedMachine> fitted;
  if (!command.from.empty()) fitted = fitted_machine(command.from, command.base);
  const Machine machine = fitted                 ? fitted->machine
                          : command.show.empty() ? measured(command)
                                                 : load_machine(command.show);
  if (file) {
    file->write(to_json(machine) + '\n');
    file->commit();
  }
  if (command.json) {
    fmt::print("{}\n", to_json(machine));
  } else {
    if (fitted) fmt::print("{}\n", to_text(*fitted));
    print_table(machine);
    print_links(machine);
    if (command.show.empty() && !fitted) {
      fmt::print("\n");
      print_devices();
    }
  }
}

}  // namespace

void add_machine(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<MachineCommand>();
  CLI::App* machine = app.add_subcommand("machine", "measure this machine's rates, for planning");
  CLI::Option* const output =
      add_text_option(*machine, "--output", command->output, "write the rates as JSON to this file")
          ->type_name("FILE")
          ->default_str("none");
  machine->add_option("--effort", command->effort, "how finely: about 2 seconds (quick) or 12 (normal)")
      ->check(CLI::IsMember({"quick", "normal"}))
      ->default_str("normal");
  add_count_option(*machine, "--threads", command->threads, {0, 1024},
                   "threads to measure with; 0: as many as cores")
      ->default_str("0");
  add_device_option(*machine, command->device, "measure this GPU instead of the CPU");
  CLI::Option* const show =
      add_text_option(*machine, "--show", command->show, "measure nothing: show this machine file")
          ->type_name("FILE")
          ->default_str("none");
  machine
      ->add_option("--from", command->from,
                   "measure nothing: fit the rates to these profiles, which `profile().write` and `demo "
                   "--profile` write")
      ->type_name("FILE")
      ->default_str("none");
  add_text_option(*machine, "--base", command->base, "with --from: the machine file to begin with")
      ->type_name("FILE")
      ->default_str("the library's own");
  add_text_option(*machine, "--disk", command->disk,
                  "measure the disk of this folder too, with 64 MiB that are gone afterwards")
      ->type_name("FOLDER")
      ->default_str("none");
  machine
      ->add_flag("--probes", command->probes, "list every call that was timed, with the model's prediction")
      ->excludes("--show");
  CLI::Option* const json = machine->add_flag("--json", command->json, "the rates as JSON");
  machine->add_flag("--devices", command->devices, "measure nothing: list the GPUs")
      ->excludes(json)
      ->excludes(output)
      ->excludes(show);
  describe(
      *machine,
      {.about =
           "Times every kind of work at several sizes and shows the rates. Written to a file, they are what "
           "`tidemark plan --machine` plans with, here or on another machine. docs/machine.md describes the "
           "file.",
       .examples = {{"tidemark machine --output machine.json",
                     "measure this machine, for `plan --machine machine.json`"},
                    {"tidemark machine --effort quick --disk /scratch", "its disk too, coarsely"},
                    {"tidemark machine --devices", "which GPUs are there, or why there are none"}}});
  machine->callback([machine, command, &exit_code] {
    run_machine(*machine, *command);
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
