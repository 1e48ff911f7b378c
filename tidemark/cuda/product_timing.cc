#include "tidemark/cuda/product_timing.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/cuda/trial.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

class ProductTrial {
 public:
  ProductTrial(const Context& context, const Product& product, const ProductForm& form)
      : product_(product),
        left_(context, bytes(form.left, form, form.dtype)),
        right_(context, bytes(form.right, form, form.dtype)),
        result_(context, bytes(form.result, form, form.result_dtype)),
        workspace_(context, std::max<std::int64_t>(form.workspace_bytes, 256)),
        scale_(context, scale_bytes),
        stream_(context) {
    fill_with_numbers(stream_, scale_.at(), scale_bytes, DType::f32);
    fill_with_numbers(stream_, left_.at(), bytes(form.left, form, form.dtype), form.dtype);
    fill_with_numbers(stream_, right_.at(), bytes(form.right, form, form.dtype), form.dtype);
  }

  ~ProductTrial() { stream_.context().driver().stream_wait(stream_.get()); }
  ProductTrial(const ProductTrial&) = delete;
  ProductTrial& operator=(const ProductTrial&) = delete;

  std::size_t fastest_of(std::span<const cublasLtMatmulAlgo_t> algorithms) {
    const Product::Matrices at{.left = left_.at(),
                               .right = right_.at(),
                               .added = result_.at(),
                               .result = result_.at(),
                               .workspace = workspace_.at(),
                               .row = left_.at(),
                               .left_scale = scale_.at(),
                               .right_scale = scale_.at()};
    return fastest_in(stream_, algorithms.size(), [&](std::size_t a) {
      return product_.begin(stream_.get(), at, false, algorithms[a]) == CUBLAS_STATUS_SUCCESS;
    });
  }

 private:
  static std::int64_t bytes(const ProductMatrix& matrix, const ProductForm& form, DType dtype) {
    return extent(matrix, form.batch) * size_of(dtype);
  }

  const Product& product_;
  static constexpr std::int64_t scale_bytes = 256;
  const TrialMemory left_, right_, result_, workspace_, scale_;
  const Stream stream_;  // goes first: memory is given back once nothing runs in it
};

}  // namespace

std::size_t fastest_algorithm(const Context& context, const Product& product, const ProductForm& form,
                              std::span<const cublasLtMatmulAlgo_t> algorithms) {
  try {
    return ProductTrial(context, product, form).fastest_of(algorithms);
  } catch (const DeviceError& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return 0;
  }
}

}  // namespace tidemark::cuda

#endif
