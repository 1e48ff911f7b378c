// NVIDIA GPUs as the planner sees them: data, without a driver, so that plans for a GPU are made and verified
// anywhere.
#pragma once
#include "tidemark/ir/target.h"

namespace tidemark::cuda {

const Target& cuda_target();
// The same with products of f32 in TF32, on tensor cores: operands are rounded to 11 significant bits, sums
// are f32. Another target, so that a plan says which arithmetic it is for.
const Target& cuda_tf32_target();
// The same with large products of 16-bit floats from fp8 codes (opt/fp8_products.h), for GPUs that multiply
// them (has_fp8 of cuda/devices.h); and with products of f32 in TF32 or not.
const Target& cuda_fp8_target(bool tf32 = false);
bool uses_tf32(const Target& target);

// How a call runs there.
enum class Route : std::uint8_t {
  generated,    // a kernel of fusion groups (group_source.h), alone or with others
  call,         // a kernel of its own (call_source.h)
  library,      // a product by cuBLASLt (blas.h)
  product,      // a product by a kernel of ours (product_source.h)
  convolution,  // by cuDNN (dnn.h), or by a kernel of ours (call_source.h)
  head,         // the loss of a language model, in chunks (head.h)
  control,      // the host runs its regions
  host,         // on the CPU, with copies there and back
};
Route route_of(const Call& call);
std::string_view name_of(Route route);

}  // namespace tidemark::cuda
