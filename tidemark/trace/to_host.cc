#include "tidemark/trace/to_host.h"

#include "tidemark/trace/storage.h"

namespace tidemark {

void detail::HostTensors::on_tensor(Tensor& tensor) {
  if (!tensor.is_data() || tensor.device() == DeviceId()) return;
  const Reading reading = tensor.read(where_);
  const std::int64_t bytes = tensor.type().bytes();
  tensor = at_line(where_, [&] {
    AlignedBytes memory = allocate_aligned(bytes);
    reading.copy_to(memory.get());
    return Tensor::from_storage(tensor.type(), std::make_shared<Storage>(std::move(memory), bytes));
  });
}

}  // namespace tidemark
