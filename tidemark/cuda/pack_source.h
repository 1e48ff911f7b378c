// The copies of operands that a product needs beforehand (ProductForm::Packed), as kernels.
#pragma once
#include "tidemark/cuda/kernel_text.h"
#include "tidemark/cuda/product_form.h"

namespace tidemark::cuda {

KernelText write_pack(const Call& product, const ProductForm::Packed& packed);

}  // namespace tidemark::cuda
