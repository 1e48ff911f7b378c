// A plan run on a device whose memory need not be the host's.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/literals.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::testing {

// One plan on one device, with inputs in the device's memory.
class DeviceRun {
 public:
  DeviceRun(Device& device, const Graph& graph, const Plan& plan)
      : device_(device),
        graph_(graph),
        plan_(plan),
        arenas_(arenas_of(device, plan)),
        executor_(graph, verified(graph, plan, device.target()), device, pointers(arenas_)) {
    for (const Input& input : graph.inputs()) {
      const std::int64_t bytes = graph.type(input.value).bytes();
      inputs_.push_back(std::make_unique<Arena>(device, bytes));
      addresses_.push_back(inputs_.back()->base());
    }
  }

  // Inputs are written anew each time: those that are donated are overwritten. The arena is full of ones
  // before, NaN in every dtype of floats: what reads a byte of it that no step wrote has no number.
  std::vector<Literal> run(const std::vector<Literal>& inputs) {
    const std::vector<std::byte> ones(static_cast<std::size_t>(arenas_.front()->bytes()), std::byte{0xff});
    device_.write(arenas_.front()->base(), ones.data(), arenas_.front()->bytes());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      device_.write(addresses_[i], inputs[i].bytes.data(), static_cast<std::int64_t>(inputs[i].bytes.size()));
    }
    executor_.run(addresses_);
    for (std::size_t m = 0; m < arenas_.size(); ++m) {
      EXPECT_LE(arenas_[m]->high_water(), memory_of(plan_, m).arena_bytes);
    }
    std::vector<Literal> outputs;
    for (const Ref& ref : plan_.outputs) {
      const Type& type = graph_.type(ref.value);
      const Buffer& buffer = plan_.buffers[ref.buffer.index];
      const Address at = buffer.binding == Binding::argument
                             ? addresses_[static_cast<std::size_t>(buffer.slot)]
                             : arenas_[static_cast<std::size_t>(buffer.memory)]->base() + buffer.offset;
      outputs.push_back(
          {type.dtype, type.shape, std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))});
      device_.read(outputs.back().bytes.data(), at + ref.offset, type.bytes());
    }
    return outputs;
  }

 private:
  using Arenas = std::vector<std::unique_ptr<Arena>>;
  static Arenas arenas_of(Device& device, const Plan& plan) {
    Arenas made;
    for (std::size_t m = 0; m < memory_count(plan); ++m)
      made.push_back(std::make_unique<Arena>(device, memory_of(plan, m).arena_bytes, static_cast<int>(m)));
    return made;
  }
  static std::vector<Arena*> pointers(const Arenas& arenas) {
    std::vector<Arena*> each;
    for (const auto& arena : arenas) each.push_back(arena.get());
    return each;
  }

  Device& device_;
  const Graph& graph_;
  const Plan& plan_;
  Arenas arenas_;  // by memory
  Executor executor_;
  Arenas inputs_;
  std::vector<Address> addresses_;
};

}  // namespace tidemark::testing
