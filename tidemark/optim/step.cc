#include "tidemark/optim/step.h"

#include "tidemark/trace/trace.h"

namespace tidemark::optim {

void NameGradients::on_tensor(Tensor& tensor) {
  Trace* trace = current_trace();
  if (trace == nullptr || tensor.trace() != trace->serial()) return;
  Value& value = trace->graph()[tensor.value()];
  // What has a name or comes from outside is something else too.
  if (value.producer.valid() && value.name.empty()) value.name = path();
}

}  // namespace tidemark::optim
