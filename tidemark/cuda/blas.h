// cuBLASLt, NVIDIA's library of matrix products, opened when it is first asked for. A product's algorithm is
// chosen once for its form: what timing has found (product_choices.h), else the library's own first advice.
// No scheme of sums that depends on who comes first is allowed: the same form gives the same bits in every
// run and at every budget.
#pragma once
#include <string>
#include <vector>

#include "tidemark/base/result.h"
#include "tidemark/cuda/context.h"
#include "tidemark/cuda/plan_algorithms.h"
#include "tidemark/cuda/product_choices.h"
#include "tidemark/cuda/product_form.h"

#ifdef TIDEMARK_HAS_CUDA
#include <cublasLt.h>

// Name here, symbol of the library.
#define TM_BLAS_FUNCTIONS(F)                              \
  F(create, cublasLtCreate)                               \
  F(destroy, cublasLtDestroy)                             \
  F(status_text, cublasLtGetStatusString)                 \
  F(desc_create, cublasLtMatmulDescCreate)                \
  F(desc_set, cublasLtMatmulDescSetAttribute)             \
  F(desc_destroy, cublasLtMatmulDescDestroy)              \
  F(layout_create, cublasLtMatrixLayoutCreate)            \
  F(layout_set, cublasLtMatrixLayoutSetAttribute)         \
  F(layout_destroy, cublasLtMatrixLayoutDestroy)          \
  F(preference_create, cublasLtMatmulPreferenceCreate)    \
  F(preference_set, cublasLtMatmulPreferenceSetAttribute) \
  F(preference_destroy, cublasLtMatmulPreferenceDestroy)  \
  F(advise, cublasLtMatmulAlgoGetHeuristic)               \
  F(check_algorithm, cublasLtMatmulAlgoCheck)             \
  F(version, cublasLtGetVersion)                          \
  F(multiply, cublasLtMatmul)

namespace tidemark::cuda {

struct BlasFunctions {
#define TM_MEMBER(name, symbol) decltype(&::symbol) name = nullptr;
  TM_BLAS_FUNCTIONS(TM_MEMBER)
#undef TM_MEMBER
};

const Result<BlasFunctions, std::string>& blas_functions();

// The library, made ready for a context.
class Blas {
 public:
  explicit Blas(const Context& context);  // throws DeviceError no_kernel where there is no library
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  const BlasFunctions& functions() const { return functions_; }
  cublasLtHandle_t handle() const { return handle_; }
  void check(cublasStatus_t status, std::string_view doing) const;
  const Context& context() const { return context_; }
  const ProductChoices& choices() const { return choices_; }

 private:
  const Context& context_;
  const BlasFunctions& functions_;
  const ProductChoices choices_;
  cublasLtHandle_t handle_ = nullptr;
};

// Of operands in codes: what they are multiplied by, an f32 each.
struct ProductScales {
  CUdeviceptr lhs = 0, rhs = 0;
};

// A product of one form, ready to be put into a stream.
class Product {
 public:
  // By the algorithms that are recorded, where some are, else by what is chosen here, which is noted. Throws
  // DeviceError where the library has no way to compute it, Error no_kernel where it cannot do as recorded.
  Product(const Blas& blas, const ProductForm& form, PlanAlgorithms& algorithms);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // out = lhs × rhs, or sum + lhs × rhs; `sum` may be `out`, and is 0 where there is none. Of a form that
  // adds a row, it is that row.
  void put(CUstream stream, CUdeviceptr lhs, CUdeviceptr rhs, CUdeviceptr sum, CUdeviceptr out,
           CUdeviceptr workspace, const ProductScales& scales = {}) const;

  // One product as the library sees it, at the addresses of matrices, by this algorithm.
  struct Matrices {
    CUdeviceptr left = 0, right = 0, added = 0, result = 0, workspace = 0;
    CUdeviceptr row = 0;                          // of a form that adds one
    CUdeviceptr left_scale = 0, right_scale = 0;  // of codes
  };
  cublasStatus_t begin(CUstream stream, const Matrices& at, bool adds,
                       const cublasLtMatmulAlgo_t& algorithm) const;

 private:
  // Of the library, the best first, for addresses that are multiples of so many bytes; one at least.
  std::vector<cublasLtMatmulAlgo_t> advised(std::uint32_t alignment, int most) const;
  cublasLtMatmulAlgo_t chosen() const;  // for addresses that allow wide accesses
  // As recorded under this name, else by `choose`.
  template <class Choose>
  cublasLtMatmulAlgo_t settled(const std::string& name, PlanAlgorithms& algorithms,
                               const Choose& choose) const;
  bool can_run(const cublasLtMatmulAlgo_t& algorithm) const;

  const Blas& blas_;
  const ProductForm form_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, result_ = nullptr;
  cublasLtMatmulAlgo_t aligned_ = {}, any_ = {};
};

}  // namespace tidemark::cuda

#endif
