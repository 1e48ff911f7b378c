#include "tidemark/cuda/blas.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/cuda/shared_library.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

constexpr std::uint32_t wide_alignment = 16;  // bytes; of one access of the widest kernels

Result<BlasFunctions, std::string> open_blas() {
  const std::string names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  const std::vector<std::string> folders = toolkit_folders();
  const Result<SharedLibrary, std::string> library = SharedLibrary::open(names, folders);
  if (!library) return library.error() + ": it comes with NVIDIA's CUDA toolkit";
  BlasFunctions functions;
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.value().find(symbol));
    if (!function && missing.empty()) missing = symbol;
  };
#define TM_FIND(name, symbol) find(functions.name, #symbol);
  TM_BLAS_FUNCTIONS(TM_FIND)
#undef TM_FIND
  if (!missing.empty()) return library.value().name() + " has no " + missing;
  return functions;
}

const BlasFunctions& opened_blas() {
  const Result<BlasFunctions, std::string>& opened = blas_functions();
  if (opened) return opened.value();
  throw DeviceError(ErrorCode::no_kernel,
                    {.what = fmt::format("products cannot be computed on CUDA: {}", opened.error()),
                     .expected = "cuBLASLt 12 or newer, of NVIDIA's CUDA toolkit",
                     .help = "install the toolkit, or set CUDA_PATH to its folder"});
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace

const Result<BlasFunctions, std::string>& blas_functions() {
  static const auto* const opened = new Result<BlasFunctions, std::string>(open_blas());
  return *opened;
}

Blas::Blas(const Context& context) : functions_(opened_blas()) {
  context.use();
  check(functions_.create(&handle_), "it was started");
}

Blas::~Blas() { functions_.destroy(handle_); }

void Blas::check(cublasStatus_t status, std::string_view doing) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(ErrorCode::device_failure, {.what = fmt::format("cuBLASLt failed when {}: {}", doing,
                                                                    functions_.status_text(status))});
}

Product::Product(const Blas& blas, const ProductForm& form) : blas_(blas), form_(form) {
  const BlasFunctions& f = blas.functions();
  const bool wide = form.dtype == DType::f64;
  blas.check(
      f.desc_create(&desc_, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, wide ? CUDA_R_64F : CUDA_R_32F),
      "a product was described");
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    blas.check(f.desc_set(desc_, which, &operation, sizeof(operation)), "a product was described");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, form.left.transposed);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, form.right.transposed);
  if (form.adds_row) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    blas.check(f.desc_set(desc_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)),
               "a product was described");
  }
  const auto layout = [&](cublasLtMatrixLayout_t& made, const ProductMatrix& matrix, DType dtype) {
    blas.check(f.layout_create(&made, data_type(dtype), static_cast<std::uint64_t>(matrix.rows),
                               static_cast<std::uint64_t>(matrix.columns), matrix.leading),
               "a matrix was described");
    const auto batch = static_cast<std::int32_t>(form.batch);
    blas.check(f.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
               "a matrix was described");
    blas.check(f.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batch_stride,
                            sizeof(matrix.batch_stride)),
               "a matrix was described");
  };
  layout(left_, form.left, form.dtype);
  layout(right_, form.right, form.dtype);
  layout(result_, form.result, form.result_dtype);
  aligned_ = choose(wide_alignment);
  any_ = choose(static_cast<std::uint32_t>(size_of(form.dtype)));
}

Product::~Product() {
  const BlasFunctions& f = blas_.functions();
  for (cublasLtMatrixLayout_t layout : {left_, right_, result_}) {
    if (layout) f.layout_destroy(layout);
  }
  if (desc_) f.desc_destroy(desc_);
}

cublasLtMatmulAlgo_t Product::choose(std::uint32_t alignment) const {
  const BlasFunctions& f = blas_.functions();
  cublasLtMatmulPreference_t preference = nullptr;
  blas_.check(f.preference_create(&preference), "a preference was described");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
    blas_.check(f.preference_set(preference, which, &value, sizeof(value)), "a preference was described");
  };
  const auto workspace = static_cast<std::uint64_t>(form_.workspace_bytes);
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(which, alignment);
  }
  // Not in place: there parts are added by whoever comes first.
  const std::uint32_t schemes =
      CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  const cublasStatus_t status =
      f.advise(blas_.handle(), desc_, left_, right_, result_, result_, preference, 1, &found, &count);
  f.preference_destroy(preference);
  blas_.check(status, fmt::format("a product of {} x {} x {} ({}) was chosen", form_.m, form_.k, form_.n,
                                  name_of(form_.dtype)));
  return found.algo;
}

void Product::put(CUstream stream, CUdeviceptr lhs, CUdeviceptr rhs, CUdeviceptr sum, CUdeviceptr out,
                  CUdeviceptr workspace) const {
  const bool adds = sum != 0 && !form_.adds_row;
  if (form_.adds_row) {
    blas_.check(blas_.functions().desc_set(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &sum, sizeof(sum)),
                "a row was added");
  }
  const float one = 1, beta = adds ? 1 : 0;
  const double wide_one = 1, wide_beta = beta;
  const bool wide = form_.dtype == DType::f64;
  const std::int64_t size = size_of(form_.dtype), result_size = size_of(form_.result_dtype);
  const auto at = [](CUdeviceptr base, std::int64_t bytes) { return base + static_cast<CUdeviceptr>(bytes); };
  for (const ProductForm::Offsets& part : form_.parts) {
    const CUdeviceptr left = at(rhs, part.rhs * size), right = at(lhs, part.lhs * size),
                      result = at(out, part.out * result_size);
    const CUdeviceptr added = adds ? at(sum, part.out * result_size) : result;
    const CUdeviceptr row = form_.adds_row ? sum : 0;
    const bool aligned = (left | right | result | added | row) % wide_alignment == 0;
    const auto pointer = [](CUdeviceptr p) { return reinterpret_cast<void*>(p); };
    blas_.check(blas_.functions().multiply(
                    blas_.handle(), desc_, wide ? static_cast<const void*>(&wide_one) : &one, pointer(left),
                    left_, pointer(right), right_, wide ? static_cast<const void*>(&wide_beta) : &beta,
                    pointer(added), result_, pointer(result), result_, aligned ? &aligned_ : &any_,
                    pointer(workspace), static_cast<std::size_t>(form_.workspace_bytes), stream),
                "a product was begun");
  }
}

}  // namespace tidemark::cuda

#endif
