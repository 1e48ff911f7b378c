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

// How the kernels of loops and branches, which run on the host for every device, reach operands that are not
// in the host's memory. What they put in order happens in that order, with what their regions do in between.
struct FarMemory {
  void* self = nullptr;
  void (*copy)(void* self, std::byte* to, const std::byte* from, std::int64_t bytes) = nullptr;  // far to far
  void (*clear)(void* self, std::byte* to, std::int64_t bytes) = nullptr;
  void (*swap)(void* self, std::byte* a, std::byte* b, std::int64_t bytes) = nullptr;
  // Between the host and there, once all before it has ended.
  void (*fetch)(void* self, std::byte* to, const std::byte* from, std::int64_t bytes) = nullptr;
  void (*put)(void* self, std::byte* to, const std::byte* from, std::int64_t bytes) = nullptr;
  std::byte* notes = nullptr;  // of the host, as large as the scratch: for what only the host reads there
};

struct KernelArgs {
  std::span<const TensorRef> in;
  std::span<const TensorRef> out;  // dense
  const void* attributes = nullptr;
  std::byte* scratch = nullptr;  // as many bytes as the kernel's facts claim for this call
  ThreadPool* pool = nullptr;
  std::span<const RegionFunction> regions = {};  // as the node's; one at a time: they share their memory
  SourceLine where = {};           // for errors that only the data can show, such as an index out of range
  const FarMemory* far = nullptr;  // of kernels with regions alone; null: all memory is the host's

  template <class T>
  const T& attrs() const {
    return *static_cast<const T*>(attributes);
  }
};

}  // namespace tidemark
