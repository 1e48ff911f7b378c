// Which of several algorithms computes a product fastest: each is run on memory of its own. Only where the
// user asks for it (TIDEMARK_CUDA_TIMING), since it takes memory beside any plan for a moment.
#pragma once
#include <span>

#include "tidemark/cuda/blas.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

// Its place in the list; the first where the GPU has no memory left for the operands.
std::size_t fastest_algorithm(const Context& context, const Product& product, const ProductForm& form,
                              std::span<const cublasLtMatmulAlgo_t> algorithms);

}  // namespace tidemark::cuda

#endif
