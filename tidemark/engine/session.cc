#include "tidemark/engine/session.h"

#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/engine/program.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

std::shared_ptr<Device>& device_slot() {
  // Never destroyed: tensors and compiled functions in static storage may outlive any order of destruction.
  static auto* slot = new std::shared_ptr<Device>(std::make_shared<CpuDevice>());
  return *slot;
}

std::vector<Tensor> run_at_once(const Graph& graph, std::span<const Tensor> inputs) {
  // Loops are worth planning: their bodies run many times.
  if (std::ranges::any_of(graph.nodes(), [](const Node& node) {
        return !node.regions.empty() && find_cpu_kernel(*node.op);
      })) {
    Program program(graph, {}, default_device());
    std::vector<Tensor> results = program.run(inputs, {});
    for (Tensor& result : results) result.storage()->settle();
    return results;
  }
  const Graph runnable =
      expand(graph, [](const Node& node) { return !find_cpu_kernel(*node.op) && node.op->expand; });
  std::vector<const std::byte*> data;
  for (const Tensor& tensor : inputs) data.push_back(tensor.bytes());
  std::vector<AlignedBytes> memory = interpret(runnable, data, default_device()->pool());
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const Type& type = runnable.type(runnable.outputs()[i]);
    outputs.push_back(
        Tensor::from_storage(type, std::make_shared<Storage>(std::move(memory[i]), type.bytes())));
  }
  return outputs;
}

}  // namespace

std::shared_ptr<Device> default_device() { return device_slot(); }

void set_threads(int threads) { device_slot() = std::make_shared<CpuDevice>(threads); }

bool install_engine() {
  set_evaluator(run_at_once);
  return true;
}

}  // namespace tidemark
