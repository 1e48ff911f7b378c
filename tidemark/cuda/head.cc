#include "tidemark/cuda/head.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

Head::Chunk::Chunk(const Call& call, const HeadForm& form, const Blas& blas, KernelSet& kernels,
                   std::int64_t rows_of_it)
    : rows(rows_of_it),
      kernel(kernels.add(write_head_rows(call, rows_of_it))),
      logits(blas, head_products(call, rows_of_it).logits) {
  const HeadProducts products = head_products(call, rows);
  if (form.x_gradient) dx.emplace(blas, products.dx);
  if (form.w_gradient) dw.emplace(blas, products.dw);
}

Head::Head(const Call& call, const Blas& blas, KernelSet& kernels)
    : form_(head_form(call)),
      kernels_(kernels),
      label_bytes_(size_of(call.in[2].dtype)),
      total_(kernels.add(write_head_total(call))) {
  if (form_.examples == 0 || form_.classes == 0 || form_.width == 0) return;
  whole_.emplace(call, form_, blas, kernels, form_.rows);
  const std::int64_t rest = form_.examples % form_.rows;
  if (rest > 0) last_.emplace(call, form_, blas, kernels, rest);
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
    chunk.logits.put(stream.get(), behind(x, form_.width * size), w, 0, scratch, workspace);
    const CUdeviceptr pointers[] = {
        behind(labels, label_bytes_), behind(weights, wide), scratch, behind(loss, wide), 0, failed};
    kernels_.put(chunk.kernel, pointers, stream);
    if (chunk.dx) chunk.dx->put(stream.get(), scratch, w, 0, behind(dx, form_.width * wide), workspace);
    if (!chunk.dw) continue;
    const CUdeviceptr rows = behind(x, form_.width * size);
    chunk.dw->put(stream.get(), form_.columns ? rows : scratch, form_.columns ? scratch : rows,
                  first > 0 ? dw : 0, dw, workspace);
  }
  const CUdeviceptr pointers[] = {labels, weights, total, loss, 0, failed};
  kernels_.put(total_, pointers, stream);
}

}  // namespace tidemark::cuda

#endif
