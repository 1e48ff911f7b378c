// An array as another library would have it: memory, and a DLPack struct for each time it is lent. It counts
// what comes back; a struct is freed by its deleter, so that giving one back twice, or using it later, shows
// under AddressSanitizer.
#pragma once
#include <atomic>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "tidemark/base/dtype.h"
#include "tidemark/trace/dlpack_abi.h"

namespace tidemark::testing {

class ForeignArray {
 public:
  // Over memory of the caller's, dense. Tests may change what it says of itself, before it is lent.
  template <class T>
  ForeignArray(T* data, std::vector<std::int64_t> sizes) : shape(std::move(sizes)) {
    constexpr DLDataTypeCode code = std::is_same_v<T, BFloat16>                         ? kDLBfloat
                                    : std::is_same_v<T, bool>                           ? kDLBool
                                    : std::is_floating_point_v<T> || is_16_bit_float<T> ? kDLFloat
                                    : std::is_signed_v<T>                               ? kDLInt
                                                                                        : kDLUInt;
    tensor = {.data = data,
              .device = {kDLCPU, 0},
              .ndim = static_cast<std::int32_t>(shape.size()),
              .dtype = {code, 8 * sizeof(T), 1},
              .shape = shape.data(),
              .strides = nullptr,
              .byte_offset = 0};
  }
  template <class T>
  explicit ForeignArray(std::vector<T>& values)
      : ForeignArray(values.data(), {static_cast<std::int64_t>(values.size())}) {}
  ForeignArray(const ForeignArray&) = delete;
  ForeignArray& operator=(const ForeignArray&) = delete;

  void set_strides(std::vector<std::int64_t> given) {
    strides = std::move(given);
    tensor.strides = strides.data();
  }

  template <class Managed>
  Managed* lend() {
    auto* managed = new Managed{};
    managed->dl_tensor = tensor;
    managed->manager_ctx = this;
    managed->deleter = [](Managed* self) {
      ++static_cast<ForeignArray*>(self->manager_ctx)->returned;
      delete self;
    };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      managed->version = version;
      managed->flags = flags;
    }
    return managed;
  }

  std::vector<std::int64_t> shape, strides;
  DLTensor tensor;
  DLPackVersion version = {1, 0};
  std::uint64_t flags = 0;
  std::atomic<int> returned = 0;  // how often a deleter has run
};

}  // namespace tidemark::testing
