#include "tidemark/cuda/head.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

Head::Chunk::Chunk(const Call& call, const HeadForm& form, const Blas& blas, KernelSet& kernels,
                   PlanAlgorithms& algorithms, std::int64_t rows_of_it)
    : rows(rows_of_it), kernel(kernels.add(write_head_rows(call, rows_of_it))) {
  for (const HeadPart& classes : head_parts(form)) {
    const HeadProducts products = head_products(call, rows, classes.count);
    Part& part = parts.emplace_back();
    part.classes = classes;
    part.logits = std::make_unique<Product>(blas, products.logits, algorithms);
    if (form.x_gradient) part.dx = std::make_unique<Product>(blas, products.dx, algorithms);
    if (form.w_gradient) part.dw = std::make_unique<Product>(blas, products.dw, algorithms);
  }
}

Head::Head(const Call& call, const Blas& blas, KernelSet& kernels, PlanAlgorithms& algorithms)
    : form_(head_form(call)),
      kernels_(kernels),
      label_bytes_(size_of(call.in[2].dtype)),
      total_(kernels.add(write_head_total(call))) {
  if (form_.examples == 0 || form_.classes == 0 || form_.width == 0) return;
  whole_.emplace(call, form_, blas, kernels, algorithms, form_.rows);
  const std::int64_t rest = form_.examples % form_.rows;
  if (rest > 0) last_.emplace(call, form_, blas, kernels, algorithms, rest);
}

void Head::put(const Stream& stream, std::span<const CUdeviceptr> at, CUdeviceptr scratch,
               CUdeviceptr failed) const {
  const CUdeviceptr x = at[0], w = at[1], labels = at[2], weights = at[3], total = at[4], loss = at[5];
  const CUdeviceptr dx = form_.x_gradient ? at[6] : 0;
  const CUdeviceptr dw = form_.w_gradient ? at[form_.x_gradient ? 7 : 6] : 0;
  const CUdeviceptr workspace = scratch + static_cast<CUdeviceptr>(form_.logits_bytes);
  const std::int64_t size = size_of(form_.dtype), wide = size_of(form_.wide);
  for (std::int64_t first = 0; first < form_.examples; first += form_.rows) {
    const Chunk& chunk = form_.examples - first < form_.rows ? *last_ : *whole_;
    const auto behind = [&](CUdeviceptr base, std::int64_t bytes) {
      return base + static_cast<CUdeviceptr>(first * bytes);
    };
    const CUdeviceptr rows = behind(x, form_.width * size), row_gradients = behind(dx, form_.width * wide);
    // Where a part of the classes lies in a row of logits, in w and in dw.
    const std::int64_t class_step = form_.columns ? 1 : form_.width;
    const auto part_of = [](CUdeviceptr base, const HeadPart& part, std::int64_t bytes) {
      return base + static_cast<CUdeviceptr>(part.first * bytes);
    };
    for (const Chunk::Part& part : chunk.parts) {
      part.logits->put(stream.get(), rows, part_of(w, part.classes, class_step * size), 0,
                       part_of(scratch, part.classes, size), workspace);
    }
    const CUdeviceptr pointers[] = {
        behind(labels, label_bytes_), behind(weights, wide), scratch, behind(loss, wide), 0, failed};
    kernels_.put(chunk.kernel, pointers, stream);
    for (const Chunk::Part& part : chunk.parts) {
      const CUdeviceptr slopes = part_of(scratch, part.classes, size);
      if (part.dx) {
        part.dx->put(stream.get(), slopes, part_of(w, part.classes, class_step * size),
                     part.classes.first > 0 ? row_gradients : 0, row_gradients, workspace);
      }
      if (!part.dw) continue;
      const CUdeviceptr sums = part_of(dw, part.classes, class_step * wide);
      part.dw->put(stream.get(), form_.columns ? rows : slopes, form_.columns ? slopes : rows,
                   first > 0 ? sums : 0, sums, workspace);
    }
  }
  const CUdeviceptr pointers[] = {labels, weights, total, loss, 0, failed};
  kernels_.put(total_, pointers, stream);
}

}  // namespace tidemark::cuda

#endif
