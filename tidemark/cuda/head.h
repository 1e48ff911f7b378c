// linear_cross_entropy made ready on a GPU (head_form.h).
#pragma once
#include <optional>

#include "tidemark/cuda/blas.h"
#include "tidemark/cuda/head_form.h"
#include "tidemark/cuda/kernel_set.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class Head {
 public:
  Head(const Call& call, const Blas& blas, KernelSet& kernels, PlanAlgorithms& algorithms);

  // `at`: x, w, labels, weights; total, loss and the gradients that are asked for.
  void put(const Stream& stream, std::span<const CUdeviceptr> at, CUdeviceptr scratch,
           CUdeviceptr failed) const;

 private:
  // For chunks of one size.
  struct Chunk {
    Chunk(const Call& call, const HeadForm& form, const Blas& blas, KernelSet& kernels,
          PlanAlgorithms& algorithms, std::int64_t rows);
    std::int64_t rows;
    std::size_t kernel;
    struct Part {
      HeadPart classes;
      std::unique_ptr<Product> logits, dx, dw;  // null: not asked for
    };
    std::vector<Part> parts;
  };

  const HeadForm form_;
  const KernelSet& kernels_;
  const std::int64_t label_bytes_;
  const std::size_t total_;
  std::optional<Chunk> whole_, last_;
};

}  // namespace tidemark::cuda

#endif
