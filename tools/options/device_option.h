// --device: where a program runs, or which machine it is planned for. Planning needs no GPU.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "tidemark/plan/machine.h"
#include "tidemark/plan/passes/plan_options.h"
#include "tidemark/runtime/device.h"

namespace tidemark::cli {

struct DeviceOption {
  std::optional<int> gpu;  // none: the CPU

  bool is_cpu() const { return !gpu; }
  // Plans for its target, and for its machine unless another is named.
  void add_to(PlanOptions& options) const;
  std::shared_ptr<Device> open() const;  // null: the CPU; throws DeviceError where there is none
  // "NVIDIA H200", where it is there; "on NVIDIA H200", and the bytes of its memory.
  std::string name() const;
  std::string text() const;
  std::int64_t memory() const;
};

void add_device_option(CLI::App& command, DeviceOption& option, const std::string& help);

}  // namespace tidemark::cli
