#include "tidemark/cuda/head_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/cuda/element_code.h"
#include "tidemark/ops/normalization/linear_cross_entropy.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

// Large enough that the sums of dw, which are read and written once a chunk, are a small part of the time.
constexpr std::int64_t chunk_bytes = std::int64_t{256} << 20;
constexpr std::int64_t row_multiple = 128;  // of the products' tiles
constexpr std::int64_t most_head_workspace = std::int64_t{32} << 20;
constexpr int head_threads = 512;

std::string head_struct(const Call& call, const HeadForm& form, std::string_view name) {
  const auto attrs = call.attrs_as<LinearCrossEntropyAttrs>();
  return fmt::format(
      "#include \"tidemark/cuda/device/head.h\"\n\nnamespace tidemark::cuda {{\n\nstruct {0}_numbers {{\n"
      "  using Pointers = GroupPointers<2, 2>;\n  using Element = {1};\n  using Wide = {2};\n"
      "  using Label = {3};\n  static constexpr int team = {4}, threads = {4}, classes = {5};\n"
      "  static constexpr long long leading = {6}, examples = {7}, ignored = {8};\n"
      "  static constexpr bool columns = false, ignores = {9}, gradient = {10};\n}};\n\n",
      name, storage_type(form.dtype), storage_type(form.wide), storage_type(call.in[2].dtype), head_threads,
      form.classes, form.leading, form.examples, attrs.ignore_index, attrs.ignore,
      form.x_gradient || form.w_gradient);
}

KernelText head_kernel(const Call& call, std::string_view name, std::string_view body, std::int64_t blocks) {
  KernelText kernel{.operands = 2, .results = 2};
  kernel.source = head_struct(call, head_form(call), name) +
                  define_kernel(fmt::to_string(head_threads), name, fmt::format("{}_numbers::Pointers", name),
                                fmt::format("{}<{}_numbers>(at);", body, name)) +
                  "\n}  // namespace tidemark::cuda\n";
  if (blocks > 0) {
    kernel.launches.push_back(
        {.kernel = std::string(name), .blocks = blocks, .threads = head_threads, .meets = true});
  }
  return kernel;
}

}  // namespace

bool is_head(const Call& call) { return call.op == &op::linear_cross_entropy; }

HeadForm head_form(const Call& call) {
  const auto attrs = call.attrs_as<LinearCrossEntropyAttrs>();
  HeadForm form;
  form.dtype = call.in[0].dtype;
  form.wide = call.in[3].dtype;
  form.width = call.in[0].shape.back();
  form.examples = call.in[2].count();
  form.columns = attrs.columns;
  form.classes = call.in[1].shape[attrs.columns ? 1 : 0];
  form.x_gradient = attrs.x_gradient;
  form.w_gradient = attrs.w_gradient;
  const std::int64_t size = size_of(form.dtype);
  form.leading = align_up(std::max<std::int64_t>(form.classes, 1), 128 / size);
  if (form.examples == 0) return form;
  const std::int64_t most = std::max(row_multiple, chunk_bytes / (form.leading * size));
  const std::int64_t chunks = (form.examples + most - 1) / most;
  form.rows = std::min(form.examples, align_up((form.examples + chunks - 1) / chunks, row_multiple));
  form.logits_bytes = align_up(form.rows * form.leading * size, 256);
  form.workspace_bytes = std::min(most_head_workspace, form.logits_bytes);
  return form;
}

HeadProducts head_products(const Call& call, std::int64_t rows, std::int64_t classes) {
  const HeadForm form = head_form(call);
  const bool columns = form.columns;
  // Strides of w along classes and along its width.
  const std::int64_t by_class = columns ? 1 : form.width, by_width = columns ? form.classes : 1;
  HeadProducts products;
  products.logits = matrix_product({.dtype = form.dtype,
                                    .result_dtype = form.dtype,
                                    .m = rows,
                                    .n = classes,
                                    .k = form.width,
                                    .lhs_row = form.width,
                                    .lhs_depth = 1,
                                    .rhs_depth = by_width,
                                    .rhs_column = by_class,
                                    .leading = form.leading});
  products.dx = matrix_product({.dtype = form.dtype,
                                .result_dtype = form.wide,
                                .m = rows,
                                .n = form.width,
                                .k = classes,
                                .lhs_row = form.leading,
                                .lhs_depth = 1,
                                .rhs_depth = by_class,
                                .rhs_column = by_width,
                                .leading = form.width});
  // As w lies: classes by width, or the other way.
  if (columns) {
    products.dw = matrix_product({.dtype = form.dtype,
                                  .result_dtype = form.wide,
                                  .m = form.width,
                                  .n = classes,
                                  .k = rows,
                                  .lhs_row = 1,
                                  .lhs_depth = form.width,
                                  .rhs_depth = form.leading,
                                  .rhs_column = 1,
                                  .leading = form.classes});
  } else {
    products.dw = matrix_product({.dtype = form.dtype,
                                  .result_dtype = form.wide,
                                  .m = classes,
                                  .n = form.width,
                                  .k = rows,
                                  .lhs_row = 1,
                                  .lhs_depth = form.leading,
                                  .rhs_depth = form.width,
                                  .rhs_column = 1,
                                  .leading = form.width});
  }
  for (ProductForm* product : {&products.logits, &products.dx, &products.dw})
    product->workspace_bytes = form.workspace_bytes;
  return products;
}

std::vector<HeadPart> head_parts(const HeadForm& form) {
  const std::int64_t whole = form.classes / 8 * 8;
  std::vector<HeadPart> parts;
  if (whole > 0) parts.push_back({.first = 0, .count = whole});
  if (whole < form.classes) parts.push_back({.first = whole, .count = form.classes - whole});
  return parts;
}

KernelText write_head_rows(const Call& call, std::int64_t rows, std::string_view name) {
  return head_kernel(call, name, "head_rows", rows);
}

KernelText write_head_total(const Call& call, std::string_view name) {
  return head_kernel(call, name, "head_total", 1);
}

}  // namespace tidemark::cuda
