#include "tidemark/engine/to_device.h"

#include "tidemark/engine/device_allocation.h"
#include "tidemark/trace/storage.h"

namespace tidemark {

detail::DeviceTensors::DeviceTensors(std::shared_ptr<Device> device, SourceLine where)
    : device_(std::move(device)), where_(where) {
  if (!device_)
    fail(ErrorCode::bad_attribute, {.what = "to_device was given no device",
                                    .expected = "one, or to_host for tensors of the host",
                                    .where = where});
}

detail::DeviceTensors::~DeviceTensors() = default;

void detail::DeviceTensors::on_tensor(Tensor& tensor) {
  if (!tensor.is_data()) return;
  if (is_host(*device_)) {
    tensor = to_host(tensor, where_);
    return;
  }
  const Reading reading = tensor.read(where_);
  if (reading.lies_on(*device_)) return;
  tensor = at_line(where_, [&] {
    auto memory = std::make_shared<DeviceAllocation>(device_, tensor.type().bytes());
    memory->write(reading.data());
    return Tensor::from_storage(tensor.type(), std::make_shared<Storage>(std::move(memory)));
  });
}

}  // namespace tidemark
