// Products as generated kernels: those that cuBLASLt does not take (product_form.h), and those for which its
// tiles are too large (thin_product.h).
#pragma once
#include "tidemark/cuda/group_source.h"

namespace tidemark::cuda {

bool has_product_kernel(const Call& call);
bool product_takes_strides(const Call& call);
std::int64_t product_scratch(const Call& call);
KernelText write_product(const Call& call, std::string_view name = "tidemark_product");

}  // namespace tidemark::cuda
