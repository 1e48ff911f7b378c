#include "tidemark/engine/session.h"

#include <mutex>
#include <system_error>

#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

constexpr int most_threads = 4096;  // far above the cores of any machine

struct DeviceSlot {
  std::mutex mutex;
  std::shared_ptr<CpuDevice> device = std::make_shared<CpuDevice>();
};
DeviceSlot& device_slot() {
  // Never destroyed: tensors and compiled functions in static storage may outlive any order of destruction.
  static auto* slot = new DeviceSlot;
  return *slot;
}

std::vector<Tensor> run_at_once(const Graph& graph, std::span<const Tensor> inputs) {
  const std::shared_ptr<CpuDevice> device = default_device();
  // Loops are worth planning: their bodies run many times.
  if (std::ranges::any_of(graph.nodes(),
                          [](const Node& node) { return !node.regions.empty() && runs_on_cpu(*node.op); })) {
    Program program(graph, {}, device);
    std::vector<Tensor> results = program.run(inputs, {});
    for (Tensor& result : results) result.storage()->materialize();
    return results;
  }
  const Graph runnable =
      expand(graph, [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; });
  std::vector<Reading> readings;
  std::vector<const std::byte*> data;
  for (const Tensor& tensor : inputs) {
    readings.push_back(tensor.read());
    data.push_back(readings.back().data());
  }
  std::vector<AlignedBytes> memory = interpret(runnable, data, device->pool());
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const Type& type = runnable.type(runnable.outputs()[i]);
    outputs.push_back(
        Tensor::from_storage(type, std::make_shared<Storage>(std::move(memory[i]), type.bytes())));
  }
  return outputs;
}

}  // namespace

std::shared_ptr<CpuDevice> default_device() {
  DeviceSlot& slot = device_slot();
  const std::lock_guard lock(slot.mutex);
  return slot.device;
}

void set_threads(int threads, SourceLine where) {
  if (threads < 0 || threads > most_threads) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{} threads", threads),
                                    .expected = fmt::format("1 to {}, or 0 for all cores", most_threads),
                                    .where = where});
  }
  std::shared_ptr<CpuDevice> device;
  try {
    device = std::make_shared<CpuDevice>(threads);
  } catch (const std::system_error& error) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("the system does not make {} threads: {}", threads, error.what()),
          .expected = "as many as the process may have",
          .where = where,
          .help = "ask for fewer; there are as many as before"});
  }
  DeviceSlot& slot = device_slot();
  const std::lock_guard lock(slot.mutex);
  slot.device.swap(device);  // the old one goes, with its threads, when nobody computes on it any more
}

bool install_engine() {
  set_evaluator(run_at_once);
  return true;
}

}  // namespace tidemark
