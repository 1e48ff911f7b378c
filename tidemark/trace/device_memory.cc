#include "tidemark/trace/device_memory.h"

namespace tidemark {

DeviceMemory::~DeviceMemory() = default;

}  // namespace tidemark
