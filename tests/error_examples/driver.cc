// A library that stands in for NVIDIA's driver: it finds one GPU, which is busy. With it the examples of
// docs/errors.md show what a failing device says, on any machine. What is not here fails (driver_rest.cc).
#include <cuda.h>

#include <cstring>

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int number) {
  *device = number;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int room, CUdevice) {
  std::strncpy(name, "NVIDIA H200", static_cast<std::size_t>(room));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{141} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 9;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** text) {
  *text = "CUDA_ERROR_DEVICE_UNAVAILABLE";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "CUDA-capable device(s) is/are busy or unavailable";
  return CUDA_SUCCESS;
}

}  // extern "C"
