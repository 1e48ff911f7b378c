#include "tidemark/optim/step.h"

#include "tidemark/trace/functions.h"
#include "tidemark/trace/trace.h"

namespace tidemark::optim {

void NameGradients::on_tensor(Tensor& tensor) {
  Trace* trace = current_trace();
  if (trace == nullptr || tensor.trace() != trace->serial()) return;
  Value& value = trace->graph()[tensor.value()];
  // What has a name or comes from outside is something else too.
  if (value.producer.valid() && value.name.empty()) value.name = path();
}

Tensors with_frozen_zeros(const Tensors& parameters, std::span<const Tensor> trained,
                          const std::vector<bool>& frozen) {
  Tensors list;
  std::size_t next = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    list.push_back(frozen[i] ? zeros(parameters[i].shape(), parameters[i].dtype()) : trained[next++]);
  return list;
}

}  // namespace tidemark::optim
