#include "tools/options/device_option.h"

#include <fmt/format.h>

#include "tidemark/base/aligned.h"
#include "tidemark/base/error.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"

namespace tidemark::cli {
namespace {

std::optional<int> parse_device(const std::string& text) {
  if (text == "cpu") return std::nullopt;
  const std::optional<int> number = cuda::device_number(text);
  if (!number)
    fail(ErrorCode::bad_plan_option, {.what = fmt::format("--device {}", text.substr(0, 60)),
                                      .expected = "cpu, cuda, or cuda:N for a GPU other than the first"});
  return number;
}

}  // namespace

void DeviceOption::add_to(PlanOptions& options) const {
  if (is_cpu()) return;
  options.target = &cuda::cuda_target();
  if (!options.machine) options.machine = &cuda::h200_machine();
}

std::shared_ptr<Device> DeviceOption::open() const { return is_cpu() ? nullptr : cuda::device(*gpu); }

std::string DeviceOption::name() const {
  if (is_cpu()) return "the CPU";
  const cuda::DeviceList list = cuda::devices();
  const auto at = static_cast<std::size_t>(*gpu);
  return at < list.devices.size() ? list.devices[at].name : fmt::format("CUDA {}", *gpu);
}

std::string DeviceOption::text() const { return "on " + name(); }

std::int64_t DeviceOption::memory() const {
  if (is_cpu()) return machine_memory();
  const cuda::DeviceList list = cuda::devices();
  const auto at = static_cast<std::size_t>(*gpu);
  return at < list.devices.size() ? list.devices[at].memory.count : cuda::h200_machine().memory_bytes;
}

void add_device_option(CLI::App& command, DeviceOption& option, const std::string& help) {
  command
      .add_option_function<std::string>(
          "--device", [&option](const std::string& text) { option.gpu = parse_device(text); }, help)
      ->type_name("cpu|cuda|cuda:N")
      ->default_str("cpu");
}

}  // namespace tidemark::cli
