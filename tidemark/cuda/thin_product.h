// Products of f32 whose result is so small that the library's tiles leave most of a GPU idle, as those of a
// recurrent layer's step: by a kernel of ours (device/thin_product.h). Which products these are follows from
// their form alone, so that the bits are the same in every run.
#pragma once
#include <optional>

#include "tidemark/cuda/kernel_text.h"
#include "tidemark/cuda/product_form.h"

namespace tidemark::cuda {

struct ThinProduct {
  std::int64_t m = 0, n = 0, k = 0;
  // Do the elements of an operand lie side by side along k? And from one row (or column) to the next.
  bool lhs_deep = false, rhs_deep = false;
  std::int64_t lhs_step = 0, rhs_step = 0;
  bool added = false, added_row = false;  // a third operand, or one row of it for all
  // So many blocks share the depth of a tile, so many chunks of it each.
  std::int64_t shares = 1, share_chunks = 0;

  std::int64_t tiles() const;
  std::int64_t scratch_bytes() const { return shares == 1 ? 0 : shares * m * n * size_of(DType::f32); }
};

// None: the library computes it.
std::optional<ThinProduct> thin_product(const Call& call);

KernelText write_thin_product(const ThinProduct& product, std::string_view name = "tidemark_thin_product");

}  // namespace tidemark::cuda
