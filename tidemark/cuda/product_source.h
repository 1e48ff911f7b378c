// Products that cuBLASLt does not take (product_form.h), as generated kernels.
#pragma once
#include "tidemark/cuda/group_source.h"

namespace tidemark::cuda {

bool has_product_kernel(const Call& call);
KernelText write_product(const Call& call, std::string_view name = "tidemark_product");

}  // namespace tidemark::cuda
