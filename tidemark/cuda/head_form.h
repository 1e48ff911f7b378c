// linear_cross_entropy on a GPU: examples in chunks, whose logits live in scratch. For each chunk a product
// makes the logits, a kernel their losses and, in place, their gradient, and two products hand that on to x
// and w. Plain data: no library is needed to plan for it.
#pragma once
#include "tidemark/cuda/kernel_text.h"
#include "tidemark/cuda/product_form.h"

namespace tidemark::cuda {

struct HeadForm {
  DType dtype = DType::f32, wide = DType::f32;  // of x and w; of weights, losses and gradients
  std::int64_t examples = 0, classes = 0, width = 0;
  bool columns = false;  // w is (width, classes)
  bool x_gradient = false, w_gradient = false;
  std::int64_t rows = 0;     // of a chunk; the last may have fewer
  std::int64_t leading = 0;  // elements from one row of logits to the next
  std::int64_t logits_bytes = 0, workspace_bytes = 0;

  std::int64_t scratch_bytes() const { return logits_bytes + workspace_bytes; }
  std::int64_t chunks() const { return rows == 0 ? 0 : (examples + rows - 1) / rows; }
};

bool is_head(const Call& call);
HeadForm head_form(const Call& call);

// The products of a chunk of so many rows with so many of the classes. dw is added to what there is from the
// second chunk on, dx from the second part of the classes on.
struct HeadProducts {
  ProductForm logits, dx, dw;
};
HeadProducts head_products(const Call& call, std::int64_t rows, std::int64_t classes);

// Classes [first, first + count) are multiplied at a time: as many as make whole accesses of 16 bytes, which
// products are several times faster with, then the rest.
struct HeadPart {
  std::int64_t first = 0, count = 0;
};
std::vector<HeadPart> head_parts(const HeadForm& form);

// Two kernels, for one chunk of so many rows and for the end. Operands are labels and weights; results are
// logits, or the total, and the losses.
KernelText write_head_rows(const Call& call, std::int64_t rows, std::string_view name = "tidemark_head");
KernelText write_head_total(const Call& call, std::string_view name = "tidemark_head_total");

}  // namespace tidemark::cuda
