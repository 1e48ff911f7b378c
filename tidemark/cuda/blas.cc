#include "tidemark/cuda/blas.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "tidemark/base/error.h"
#include "tidemark/cuda/kernel_cache.h"
#include "tidemark/cuda/product_timing.h"
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

cudaDataType_t data_type(Fp8Format format) {
  return format == Fp8Format::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

}  // namespace

const Result<BlasFunctions, std::string>& blas_functions() {
  static const auto* const opened = new Result<BlasFunctions, std::string>(open_blas());
  return *opened;
}

Blas::Blas(const Context& context)
    : context_(context),
      functions_(opened_blas()),
      choices_(KernelCache::default_folder(),
               fmt::format("{}, {} multiprocessors, {}, cuBLASLt {}", context.facts().name,
                           context.facts().multiprocessors, name_of(context.facts().architecture),
                           functions_.version())) {
  context.use();
  check(functions_.create(&handle_), "it was started");
}

Blas::~Blas() { functions_.destroy(handle_); }

void Blas::check(cublasStatus_t status, std::string_view doing) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(ErrorCode::device_failure, {.what = fmt::format("cuBLASLt failed when {}: {}", doing,
                                                                    functions_.status_text(status))});
}

Product::Product(const Blas& blas, const ProductForm& form, PlanAlgorithms& algorithms)
    : blas_(blas), form_(form) {
  const BlasFunctions& f = blas.functions();
  const bool wide = form.dtype == DType::f64;
  const cublasComputeType_t compute = wide        ? CUBLAS_COMPUTE_64F
                                      : form.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                  : CUBLAS_COMPUTE_32F;
  blas.check(f.desc_create(&desc_, compute, wide ? CUDA_R_64F : CUDA_R_32F), "a product was described");
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
  if (form.fp8) {
    // The library's advice asks whether there are scales; where they are, each call says.
    const CUdeviceptr somewhere = 256;
    for (const auto which : {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER})
      blas.check(f.desc_set(desc_, which, &somewhere, sizeof(somewhere)), "a product was described");
  }
  const auto layout = [&](cublasLtMatrixLayout_t& made, const ProductMatrix& matrix, cudaDataType_t type) {
    blas.check(f.layout_create(&made, type, static_cast<std::uint64_t>(matrix.rows),
                               static_cast<std::uint64_t>(matrix.columns), matrix.leading),
               "a matrix was described");
    const auto batch = static_cast<std::int32_t>(form.batch);
    blas.check(f.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
               "a matrix was described");
    blas.check(f.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batch_stride,
                            sizeof(matrix.batch_stride)),
               "a matrix was described");
  };
  layout(left_, form.left, form.fp8 ? data_type(form.fp8->rhs) : data_type(form.dtype));
  layout(right_, form.right, form.fp8 ? data_type(form.fp8->lhs) : data_type(form.dtype));
  layout(result_, form.result, data_type(form.result_dtype));
  const std::string key = key_of(form);
  aligned_ = settled(key, algorithms, [&] { return chosen(); });
  if (form.fp8) return;  // they are read in packs alone
  any_ = settled(key + ", at any address", algorithms,
                 [&] { return advised(static_cast<std::uint32_t>(size_of(form.dtype)), 1).front(); });
}

template <class Choose>
cublasLtMatmulAlgo_t Product::settled(const std::string& name, PlanAlgorithms& algorithms,
                                      const Choose& choose) const {
  cublasLtMatmulAlgo_t algorithm = {};
  if (const std::optional<std::string> text = algorithms.recorded(name)) {
    const std::optional<ProductAlgorithm> recorded = product_algorithm_of(*text);
    if (recorded) algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(*recorded);
    if (!recorded || !can_run(algorithm)) algorithms.refuse(name, "this cuBLASLt");
  } else {
    algorithm = choose();
  }
  algorithms.note(name, to_text(std::bit_cast<ProductAlgorithm>(algorithm)));
  return algorithm;
}

Product::~Product() {
  const BlasFunctions& f = blas_.functions();
  for (cublasLtMatrixLayout_t layout : {left_, right_, result_}) {
    if (layout) f.layout_destroy(layout);
  }
  if (desc_) f.desc_destroy(desc_);
}

std::vector<cublasLtMatmulAlgo_t> Product::advised(std::uint32_t alignment, int most) const {
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
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  const cublasStatus_t status = f.advise(blas_.handle(), desc_, left_, right_, result_, result_, preference,
                                         most, found.data(), &count);
  f.preference_destroy(preference);
  blas_.check(status, fmt::format("a product of {} x {} x {} ({}) was chosen", form_.m, form_.k, form_.n,
                                  name_of(form_.dtype)));
  std::vector<cublasLtMatmulAlgo_t> list;
  for (const cublasLtMatmulHeuristicResult_t& one : std::span(found).first(static_cast<std::size_t>(count)))
    if (one.state == CUBLAS_STATUS_SUCCESS) list.push_back(one.algo);
  if (list.empty()) blas_.check(CUBLAS_STATUS_NOT_SUPPORTED, "a product was chosen");
  return list;
}

bool Product::can_run(const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result = {};
  return blas_.functions().check_algorithm(blas_.handle(), desc_, left_, right_, result_, result_, &algorithm,
                                           &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<std::size_t>(form_.workspace_bytes);
}

cublasLtMatmulAlgo_t Product::chosen() const {
  static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(ProductAlgorithm));
  const ProductChoices& choices = blas_.choices();
  const std::string key = key_of(form_);
  if (const std::optional<ProductAlgorithm> kept = choices.find(key)) {
    const auto algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(*kept);
    if (can_run(algorithm)) return algorithm;
  } else if (ProductChoices::timing_is_asked_for()) {
    constexpr int tried = 16;
    const std::vector<cublasLtMatmulAlgo_t> list = advised(wide_alignment, tried);
    const cublasLtMatmulAlgo_t& best = list[fastest_algorithm(blas_.context(), *this, form_, list)];
    const auto counts = choices.keep(key, std::bit_cast<ProductAlgorithm>(best));
    if (counts && can_run(std::bit_cast<cublasLtMatmulAlgo_t>(*counts)))
      return std::bit_cast<cublasLtMatmulAlgo_t>(*counts);
  }
  return advised(wide_alignment, 1).front();
}

cublasStatus_t Product::begin(CUstream stream, const Matrices& at, bool adds,
                              const cublasLtMatmulAlgo_t& algorithm) const {
  const auto point_at = [&](cublasLtMatmulDescAttributes_t which, CUdeviceptr place) {
    return blas_.functions().desc_set(desc_, which, &place, sizeof(place));
  };
  cublasStatus_t set = CUBLAS_STATUS_SUCCESS;
  if (form_.adds_row) set = point_at(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.row);
  if (form_.fp8 && set == CUBLAS_STATUS_SUCCESS)
    set = point_at(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, at.left_scale);
  if (form_.fp8 && set == CUBLAS_STATUS_SUCCESS)
    set = point_at(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, at.right_scale);
  if (set != CUBLAS_STATUS_SUCCESS) return set;
  const float one = 1, beta = adds ? 1 : 0;
  const double wide_one = 1, wide_beta = beta;
  const bool wide = form_.dtype == DType::f64;
  const auto pointer = [](CUdeviceptr p) { return reinterpret_cast<void*>(p); };
  return blas_.functions().multiply(blas_.handle(), desc_, wide ? static_cast<const void*>(&wide_one) : &one,
                                    pointer(at.left), left_, pointer(at.right), right_,
                                    wide ? static_cast<const void*>(&wide_beta) : &beta, pointer(at.added),
                                    result_, pointer(at.result), result_, &algorithm, pointer(at.workspace),
                                    static_cast<std::size_t>(form_.workspace_bytes), stream);
}

void Product::put(CUstream stream, CUdeviceptr lhs, CUdeviceptr rhs, CUdeviceptr sum, CUdeviceptr out,
                  CUdeviceptr workspace, const ProductScales& scales) const {
  const bool adds = sum != 0 && !form_.adds_row;
  const std::int64_t size = size_of(form_.dtype), result_size = size_of(form_.result_dtype);
  const auto at = [](CUdeviceptr base, std::int64_t bytes) { return base + static_cast<CUdeviceptr>(bytes); };
  for (const ProductForm::Offsets& part : form_.parts) {
    Matrices matrices{.left = at(rhs, part.rhs * size),
                      .right = at(lhs, part.lhs * size),
                      .result = at(out, part.out * result_size),
                      .workspace = workspace,
                      .row = form_.adds_row ? sum : 0,
                      .left_scale = scales.rhs,
                      .right_scale = scales.lhs};
    matrices.added = adds ? at(sum, part.out * result_size) : matrices.result;
    const CUdeviceptr all = matrices.left | matrices.right | matrices.result | matrices.added | matrices.row;
    const bool aligned = all % wide_alignment == 0;
    if (form_.fp8 && !aligned) {
      throw DeviceError(ErrorCode::no_kernel,
                        {.what = "a product in fp8 of memory at such addresses has no kernel on CUDA",
                         .expected = "addresses that are multiples of 16 bytes",
                         .help = "copy the memory of the other library into a tensor"});
    }
    const cublasStatus_t status = begin(stream, matrices, adds, aligned ? aligned_ : any_);
    // The error may be that of a command before it: whoever looks for it needs to know where it was seen.
    if (status != CUBLAS_STATUS_SUCCESS) {
      blas_.check(status, fmt::format("a product of {} x {} x {} ({}, {} at once) was begun", form_.m,
                                      form_.k, form_.n, name_of(form_.dtype), form_.batch));
    }
  }
}

}  // namespace tidemark::cuda

#endif
