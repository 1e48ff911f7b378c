// A CPU that says when it begins a command, on the thread that is about to run it: for tests that want some
// commands to be slow, or to fail.
#pragma once
#include <functional>
#include <memory>

#include "tidemark/cpu/device.h"

namespace tidemark::testing {

class WatchedDevice final : public CpuDevice {
 public:
  using CpuDevice::CpuDevice;

  // Called with the number of the command among all that were prepared, those in regions before their own.
  std::function<void(int command)> before;
  int commands() const { return commands_; }

  CpuLaunch prepare_call(const Call& call) const override { return watched(CpuDevice::prepare_call(call)); }
  CpuLaunch prepare_group(std::span<const GroupStep> steps) const override {
    return watched(CpuDevice::prepare_group(steps));
  }
  CpuLaunch prepare_transfer(const Command& command, FileCopies& files) const override {
    return watched(CpuDevice::prepare_transfer(command, files));
  }

 private:
  struct Watched {
    const WatchedDevice* device;
    int number;
    CpuLaunch launch;
  };

  CpuLaunch watched(CpuLaunch launch) const {
    return {[](const KernelArgs& args) {
              const Watched& w = args.attrs<Watched>();
              if (w.device->before) w.device->before(w.number);
              KernelArgs inner = args;
              inner.attributes = w.launch.attributes.get();
              w.launch.run(inner);
            },
            std::make_shared<const Watched>(Watched{this, commands_++, std::move(launch)})};
  }

  mutable int commands_ = 0;
};

}  // namespace tidemark::testing
