// What a kernel sees: operands and results as strided windows on memory that the plan already placed,
// attributes unpacked beforehand, scratch of the size the op's facts claimed, and the pool. A kernel
// allocates nothing.
#pragma once
#include <cstddef>
#include <span>

#include "tidemark/base/bytes.h"  // buffer_alignment
#include "tidemark/base/dtype.h"
#include "tidemark/base/parallel.h"
#include "tidemark/base/shape.h"
#include "tidemark/base/source.h"

namespace tidemark {

struct TensorRef {
  std::byte* data = nullptr;  // of the first element; with negative strides others lie before it
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements

  std::int64_t count() const { return element_count(shape); }
  bool dense() const { return is_dense(shape, strides); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// A region (the body of a loop, a branch) made ready to run: reads `inputs[i]`, writes `outputs[i]`, each
// dense. Its own memory is set aside beforehand. An output that is made in an input's memory
// (RegionFacts::over) may be asked for there; no other output may lie on an input. A donated input is lost,
// wherever outputs are asked for.
struct RegionFunction {
  void (*call)(void* self, std::byte* const* inputs, std::byte* const* outputs) = nullptr;
  void* self = nullptr;
  void operator()(std::byte* const* inputs, std::byte* const* outputs) const { call(self, inputs, outputs); }
};

struct KernelArgs {
  std::span<const TensorRef> in;
  std::span<const TensorRef> out;  // dense
  const void* attributes = nullptr;
  std::byte* scratch = nullptr;  // as many bytes as the kernel's facts claim for this call
  ThreadPool* pool = nullptr;
  std::span<const RegionFunction> regions = {};  // as the node's; one at a time: they share their memory
  SourceLine where = {};  // for errors that only the data can show, such as an index out of range

  template <class T>
  const T& attrs() const {
    return *static_cast<const T*>(attributes);
  }
};

}  // namespace tidemark
