// The structs of DLPack, by which array libraries hand memory to each other
// (https://dmlc.github.io/dlpack/latest/), with the names and the layout that its documentation gives them.
// They are outside of any namespace, since they are C.
//
// A program that has DLPack's own header includes that one, before this one or instead of it: then nothing is
// defined here.
#pragma once
#include <cstddef>
#include <cstdint>

#ifndef DLPACK_DLPACK_H_  // the guard of DLPack's own header

extern "C" {

enum DLDeviceType : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
};

enum DLDataTypeCode {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
};

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;  // a DLDataTypeCode
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;      // in elements; null: dense, row by row
  std::uint64_t byte_offset;  // of the first element from `data`
};

// As it was before version 1.0: knows no version and cannot say that memory is not to be written.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);  // may be null
};

struct DLPackVersion {
  std::uint32_t major;  // another one: only the fields up to `flags` are where we think
  std::uint32_t minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);  // may be null
  std::uint64_t flags;
  DLTensor dl_tensor;
};
}

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1)  // nobody else has this memory

#endif

static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, shape) == 24 && sizeof(DLManagedTensor) == 64 &&
              offsetof(DLManagedTensor, manager_ctx) == 48);
