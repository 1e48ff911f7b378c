#include "tidemark/cuda/product_source.h"

#include <fmt/format.h>

#include "tidemark/cuda/element_code.h"
#include "tidemark/cuda/thin_product.h"
#include "tidemark/ops/contraction/contract_layout.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t tile_side = 16;  // product_tile of device/product.h

std::string_view sum_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::i32:
      return "unsigned int";  // whole numbers wrap around
    case DType::i64:
      return "unsigned long long";
    case DType::u8:
      return "unsigned int";
    default:
      return "float";
  }
}

std::string offset_function(std::string_view name, const gemm::Axes& axes) {
  std::string text = fmt::format("  static Index {}(Index i) {{\n    Index at = 0;\n", name);
  for (int d = axes.size.rank() - 1; d > 0; --d) {
    text += fmt::format("    at += i % {} * static_cast<Index>({});\n    i /= {};\n", axes.size[d],
                        axes.stride[d], axes.size[d]);
  }
  if (!axes.size.empty()) text += fmt::format("    at += i * static_cast<Index>({});\n", axes.stride[0]);
  return text + "    return at;\n  }\n";
}

}  // namespace

bool has_product_kernel(const Call& call) {
  return call.op == &op::contract && call.in[0].dtype != DType::boolean;
}

bool product_takes_strides(const Call& call) { return thin_product(call).has_value(); }

std::int64_t product_scratch(const Call& call) {
  const std::optional<ThinProduct> thin = thin_product(call);
  return thin ? thin->scratch_bytes() : 0;
}

KernelText write_product(const Call& call, std::string_view name) {
  if (const std::optional<ThinProduct> thin = thin_product(call)) return write_thin_product(*thin, name);
  const DType dtype = call.in[0].dtype;
  const bool added = call.in.size() == 3;
  const ContractLayout layout =
      contract_layout(call.attrs_as<ContractAttrs>(), dtype, call.in[0].shape, operand_strides(call, 0),
                      call.in[1].shape, operand_strides(call, 1), added);
  const gemm::Sizes& sizes = layout.sizes;
  KernelText kernel{.operands = added ? 3 : 2, .results = 1};
  kernel.source = fmt::format(
      "#include \"tidemark/cuda/device/product.h\"\n\nnamespace tidemark::cuda {{\n\nstruct {0}_product {{\n"
      "  using Pointers = GroupPointers<{1}, 1>;\n  using Index = long long;\n  using Element = {2};\n"
      "  using Sum = {3};\n  static constexpr bool added = {4};\n"
      "  static constexpr Index m = {5}, n = {6}, k = {7};\n",
      name, kernel.operands, storage_type(dtype), sum_type(dtype), added, sizes.m, sizes.n, sizes.k);
  kernel.source += offset_function("lhs_row", layout.m) + offset_function("lhs_depth", layout.k_lhs) +
                   offset_function("rhs_column", layout.n) + offset_function("rhs_depth", layout.k_rhs) +
                   offset_function("lhs_batch", layout.batch_lhs) +
                   offset_function("rhs_batch", layout.batch_rhs);
  kernel.source +=
      "};\n\n" +
      define_kernel(fmt::to_string(tile_side * tile_side), name, fmt::format("{}_product::Pointers", name),
                    fmt::format("multiply_tile<{}_product>(at);", name)) +
      "\n}  // namespace tidemark::cuda\n";
  const std::int64_t blocks =
      sizes.batch * ((sizes.m + tile_side - 1) / tile_side) * ((sizes.n + tile_side - 1) / tile_side);
  if (blocks > 0)
    kernel.launches.push_back({.kernel = std::string(name),
                               .blocks = blocks,
                               .threads = static_cast<int>(tile_side * tile_side),
                               .meets = true});
  return kernel;
}

}  // namespace tidemark::cuda
