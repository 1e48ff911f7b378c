#include "tools/options/disk_option.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tidemark/base/folder.h"
#include "tidemark/cpu/calibrate_links.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

void require_writable(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::bad_file, {.what = fmt::format("--disk {}: {}", path, why),
                               .expected = "a folder that files can be made in",
                               .help = "make the folder first, or name another"});
  };
  const Result<Folder, std::string> folder = Folder::open(path);
  if (!folder) refuse(folder.error());
  if (!folder.value().create_unnamed()) refuse(std::generic_category().message(errno));
}

}  // namespace

void DiskOption::check() const {
  if (given() == bytes.has_value()) return;
  fail(ErrorCode::bad_plan_option,
       {.what = given() ? "--disk without --disk-memory" : "--disk-memory without --disk",
        .expected = "a folder and how much of it, such as --disk /scratch --disk-memory 20GiB"});
}

void DiskOption::add_to(std::vector<TierBudget>& tiers, std::optional<Machine>& machine) const {
  require_writable(folder);
  const bool known =
      machine && std::ranges::count(machine->further, disk_memory_name, &MachineMemory::name) > 0;
  if (!known) {
    if (!machine) machine = reference_machine();
    CpuDevice device;
    measure_disk(*machine, device, folder);
  }
  tiers.push_back({std::string(disk_memory_name), *bytes});
}

void add_disk_options(CLI::App& command, DiskOption& option) {
  add_text_option(command, "--disk", option.folder,
                  "values may wait in this folder; its rates are measured, unless --machine has a disk")
      ->type_name("FOLDER")
      ->default_str("none");
  command
      .add_option_function<std::string>(
          "--disk-memory",
          [&option](const std::string& text) { option.bytes = parse_size("--disk-memory", text); },
          "how many bytes of that folder (20GiB)")
      ->type_name("BYTES")
      ->default_str("none; it comes with --disk");
}

}  // namespace tidemark::cli
