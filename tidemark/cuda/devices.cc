#include "tidemark/cuda/devices.h"

#include <fmt/format.h>

#include "tidemark/cuda/driver.h"

namespace tidemark::cuda {

std::string name_of(const Architecture& architecture) {
  return fmt::format("sm_{}{}", architecture.major, architecture.minor);
}

bool has_warpgroups(const Architecture& architecture) {
  return architecture.major == 9 && architecture.minor == 0;
}

bool starts_early(const Architecture& architecture) { return architecture.major >= 9; }

bool has_fp8(const Architecture& architecture) {
  return architecture.major > 8 || (architecture.major == 8 && architecture.minor >= 9);
}

DeviceList devices() {
  const Result<Driver, std::string>& opened = driver();
  if (!opened) return {.devices = {}, .reason = opened.error()};
  return devices(opened.value());
}

#ifdef TIDEMARK_HAS_CUDA

namespace {

std::string name_of_error(const Driver& driver, CUresult error) {
  const char* name = nullptr;
  if (driver.error_name(error, &name) == CUDA_SUCCESS && name) return name;
  return fmt::format("error {}", static_cast<int>(error));
}

CUresult read_facts(const Driver& driver, int number, DeviceFacts& facts) {
  CUdevice device = 0;
  char name[256] = {};
  std::size_t bytes = 0;
  if (const CUresult error = driver.device(&device, number)) return error;
  if (const CUresult error = driver.device_name(name, static_cast<int>(sizeof(name)) - 1, device))
    return error;
  if (const CUresult error = driver.device_memory(&bytes, device)) return error;
  const std::pair<int*, CUdevice_attribute> attributes[] = {
      {&facts.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&facts.architecture.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&facts.architecture.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR}};
  for (const auto& [value, attribute] : attributes) {
    if (const CUresult error = driver.device_attribute(value, attribute, device)) return error;
  }
  facts.name = name;
  facts.memory = Bytes(static_cast<std::int64_t>(bytes));
  return CUDA_SUCCESS;
}

}  // namespace

DeviceList devices(const Driver& driver) {
  DeviceList list;
  if (const CUresult error = driver.init(0)) {
    list.reason = error == CUDA_ERROR_NO_DEVICE
                      ? std::string("the driver finds no device")
                      : fmt::format("the driver does not start: {}", name_of_error(driver, error));
    return list;
  }
  int count = 0;
  if (const CUresult error = driver.device_count(&count)) {
    list.reason = fmt::format("the driver does not count its devices: {}", name_of_error(driver, error));
    return list;
  }
  if (count == 0) list.reason = "the driver finds no device";
  for (int i = 0; i < count; ++i) {
    DeviceFacts facts;
    if (const CUresult error = read_facts(driver, i, facts)) {
      list.reason = fmt::format("the driver does not tell of device {}: {}", i, name_of_error(driver, error));
    } else {
      list.devices.push_back(facts);
    }
  }
  return list;
}

#else

DeviceList devices(const Driver&) { return {.devices = {}, .reason = driver().error()}; }

#endif

std::string to_string(const DeviceList& list) {
  std::string text;
  for (std::size_t i = 0; i < list.devices.size(); ++i) {
    const DeviceFacts& facts = list.devices[i];
    text += fmt::format("CUDA {}: {}, {}, {} multiprocessors, {}\n", i, facts.name, to_string(facts.memory),
                        facts.multiprocessors, name_of(facts.architecture));
  }
  if (list.devices.empty()) return fmt::format("CUDA: none: {}\n", list.reason);
  if (!list.reason.empty()) text += fmt::format("CUDA: {}\n", list.reason);
  return text;
}

}  // namespace tidemark::cuda
