#include "tidemark/cuda/thin_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bytes.h"

namespace tidemark::cuda {
namespace {

// Of device/thin_product.h.
constexpr std::int64_t tile = 32, chunk = 16, warps = 8, stages = 3;
constexpr int thin_threads = static_cast<int>(32 * warps);
constexpr std::int64_t shared_bytes = warps * stages * 2 * tile * chunk * 4;

// With more tiles than these, two for each multiprocessor of an H200, the library's larger ones fill a GPU.
constexpr std::int64_t most_tiles = 256;
// So many blocks give each multiprocessor one. By the shape alone: GPUs of other sizes get the same sums.
constexpr std::int64_t wanted_blocks = 128;
// Below, launching takes longest, and the library needs no kernel to be compiled; above, its larger tiles win
// although they are few.
constexpr std::int64_t least_depth = 128;
constexpr double least_products = 1 << 21, most_products = 1 << 28;

}  // namespace

std::int64_t ThinProduct::tiles() const { return (m + tile - 1) / tile * ((n + tile - 1) / tile); }

std::optional<ThinProduct> thin_product(const Call& call) {
  const std::optional<ProductForm> form = product_form(call);
  if (!form || form->dtype != DType::f32 || form->batch * std::ssize(form->parts) != 1) return std::nullopt;
  if (!form->packed.empty() || form->copies_sum || form->k < least_depth) return std::nullopt;
  const double products =
      static_cast<double>(form->m) * static_cast<double>(form->n) * static_cast<double>(form->k);
  if (products < least_products || products > most_products) return std::nullopt;
  // The library's left operand is our right one, in columns.
  ThinProduct made{.m = form->m,
                   .n = form->n,
                   .k = form->k,
                   .lhs_deep = !form->right.transposed,
                   .rhs_deep = form->left.transposed,
                   .lhs_step = form->right.leading,
                   .rhs_step = form->left.leading,
                   .added = call.in.size() == 3,
                   .added_row = form->adds_row};
  if (made.tiles() > most_tiles) return std::nullopt;
  // Every warp of every block has a chunk at least.
  const std::int64_t chunks = (made.k + chunk - 1) / chunk;
  const std::int64_t shares = std::clamp<std::int64_t>(wanted_blocks / made.tiles(), 1, chunks / warps);
  made.share_chunks = align_up((chunks + shares - 1) / shares, warps);
  made.shares = (chunks + made.share_chunks - 1) / made.share_chunks;
  return made;
}

KernelText write_thin_product(const ThinProduct& product, std::string_view name) {
  KernelText kernel{
      .scratch_bytes = product.scratch_bytes(), .operands = product.added ? 3 : 2, .results = 1};
  kernel.source = fmt::format(
      "#include \"tidemark/cuda/device/thin_product.h\"\n\nnamespace tidemark::cuda {{\n\n"
      "struct {0}_numbers {{\n  using Pointers = GroupPointers<{1}, 1>;\n"
      "  static constexpr int m = {2}, n = {3}, k = {4}, shares = {5}, share_chunks = {6};\n"
      "  static constexpr bool lhs_deep = {7}, rhs_deep = {8}, added = {9}, added_row = {10};\n"
      "  static constexpr long long lhs_step = {11}, rhs_step = {12};\n}};\n\n",
      name, kernel.operands, product.m, product.n, product.k, product.shares, product.share_chunks,
      product.lhs_deep, product.rhs_deep, product.added, product.added_row, product.lhs_step,
      product.rhs_step);
  const auto add = [&](std::string_view suffix, std::string_view body, std::int64_t blocks, bool meets,
                       std::int64_t shared) {
    KernelLaunch launch{.kernel = fmt::format("{}{}", name, suffix),
                        .blocks = blocks,
                        .threads = thin_threads,
                        .meets = meets,
                        .shared_bytes = shared};
    kernel.source += define_kernel(fmt::format("{}, 2", thin_threads), launch.kernel,
                                   fmt::format("{}_numbers::Pointers", name),
                                   fmt::format("{}<{}_numbers>(at);", body, name));
    kernel.launches.push_back(std::move(launch));
  };
  add("", "multiply_thin", product.tiles() * product.shares, true, shared_bytes);
  if (product.shares > 1) {
    const std::int64_t packs = product.m * ((product.n + 3) / 4);
    add("_total", "add_thin_shares", (packs + thin_threads - 1) / thin_threads, false, 0);
  }
  kernel.source += "\n}  // namespace tidemark::cuda\n";
  return kernel;
}

}  // namespace tidemark::cuda
