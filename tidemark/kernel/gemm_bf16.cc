// The blocks, threads and epilogues are gemm.cc's: to it, two bf16 steps of k are one step of four bytes.
#include "tidemark/kernel/gemm_bf16.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/kernel/gemm_bf16_neon.h"
#include "tidemark/kernel/gemm_micro.h"

namespace tidemark::gemm {
namespace {

// Steps of k in pairs, of which the instructions take two at once.
constexpr std::int64_t pairs_of(std::int64_t k) { return (k + 3) / 4 * 2; }

Sizes in_pairs(Sizes sizes) {
  sizes.k = pairs_of(sizes.k);
  return sizes;
}

}  // namespace

std::int64_t scratch_bytes_bf16(const Sizes& sizes, bool staged) {
  return scratch_bytes<float>(in_pairs(sizes), staged);
}

#if TM_BF16_NEON

namespace {

// An operand whose panels hold, for every four steps, pairs of rows: four values of the one, then of the
// other.
struct Pairs {
  const Strided* from;
  std::int64_t k;
};

struct Panel {
  std::uint16_t* to;
  std::int64_t width;
  std::uint16_t& at(std::int64_t row, std::int64_t step) const {
    return to[(step / 4 * width + row) * 4 + step % 4];
  }
};

// Consecutive positions of an axis that lie at one distance from each other, from `index` on.
std::int64_t run_length(const Axes& axes, std::int64_t index, std::int64_t most) {
  return axes.size.rank() <= 1 ? most : std::min(most, axes.size.back() - index % axes.size.back());
}
std::int64_t offset_of(const Axes& axes, std::int64_t index) {
  return axes.size.rank() <= 1 ? index * axes.inner_stride() : axes.offset(index);
}

// `wide` rows and `deep` steps, to row `row` and step `step` of the panel on.
void pack_block(const std::uint16_t* from, std::int64_t row_stride, std::int64_t step_stride,
                std::int64_t wide, std::int64_t deep, const Panel& panel, std::int64_t row,
                std::int64_t step) {
  std::int64_t rows = 0, steps = 0;  // that go by vectors
  if (step % 4 == 0 && row % 2 == 0) {
    steps = deep / 4 * 4;
    if (step_stride == 1) {
      rows = wide / 2 * 2;
      neon::interleave_rows(from, row_stride, rows, steps, &panel.at(row, step), panel.width);
    } else if (row_stride == 1) {
      rows = wide / 4 * 4;
      neon::interleave_steps(from, step_stride, rows, steps, &panel.at(row, step), panel.width);
    }
  }
  for (std::int64_t i = 0; i < wide; ++i) {
    for (std::int64_t l = i < rows ? steps : 0; l < deep; ++l) {
      panel.at(row + i, step + l) = from[i * row_stride + l * step_stride];
    }
  }
}

void pack_pairs(const void* self, const Part& part, float* panels) {
  const Pairs& pairs = *static_cast<const Pairs*>(self);
  const Strided& from = *pairs.from;
  const auto* data = reinterpret_cast<const std::uint16_t*>(from.data) + from.batch.offset(part.batch);
  const std::int64_t row_stride = from.outer.inner_stride(), step_stride = from.depth.inner_stride();
  const std::int64_t k0 = 2 * part.k0, steps = 2 * part.depth, depth = std::min(steps, pairs.k - k0);
  const auto panel_at = [&](std::int64_t i) {
    return Panel{reinterpret_cast<std::uint16_t*>(panels) + i * steps, part.width};
  };
  for (std::int64_t i = 0; i < part.count; i += part.width) {
    if (part.count - i < part.width || depth < steps) {
      std::fill_n(panel_at(i).to, part.width * steps, std::uint16_t{0});
    }
  }
  // Where steps lie apart, a few at a time, so that the lines which panels share are still in the cache for
  // the next panel.
  const std::int64_t most = step_stride == 1 ? depth : 128;
  for (std::int64_t l = 0; l < depth;) {
    const std::int64_t deep = run_length(from.depth, k0 + l, std::min(most, depth - l));
    for (std::int64_t i = 0; i < part.count;) {
      const std::int64_t row = i % part.width;
      const std::int64_t wide =
          run_length(from.outer, part.first + i, std::min(part.width - row, part.count - i));
      pack_block(data + offset_of(from.outer, part.first + i) + offset_of(from.depth, k0 + l), row_stride,
                 step_stride, wide, deep, panel_at(i - row), row, l);
      i += wide;
    }
    l += deep;
  }
}

void packed(std::int64_t m, std::int64_t n, std::int64_t depth, float alpha, const float* a, const float* b,
            bool add, float* c, std::int64_t ld) {
  const neon::Scale scale{alpha, add};
  for (std::int64_t j = 0; j < n; j += neon::columns) {
    for (std::int64_t i = 0; i < m; i += neon::rows) {
      neon::Sums sums;
      neon::multiply_panels(depth / 2, a + i * depth, b + j * depth, sums);
      neon::store(sums, scale, std::min(neon::rows, m - i), std::min(neon::columns, n - j), c + i * ld + j,
                  ld);
    }
  }
}

}  // namespace

bool multiplies_bf16() { return tidemark::neon::has_bf16(); }

void run_bf16(ThreadPool& pool, Product<float> product, const Strided& a, const Strided& b,
              std::byte* scratch) {
  TM_CHECK(a.dtype == DType::bf16 && b.dtype == DType::bf16 && multiplies_bf16());
  TM_CHECK(product.sizes.m > 1 && product.sizes.n > 1);
  static constexpr Micro<float> kernels{{neon::rows, neon::columns}, packed, nullptr};
  const Pairs left{&a, product.sizes.k}, right{&b, product.sizes.k};
  product.sizes = in_pairs(product.sizes);
  product.a = {pack_pairs, &left}, product.b = {pack_pairs, &right};
  product.kernels = &kernels;
  run(pool, product, scratch);
}

#else

bool multiplies_bf16() { return false; }

void run_bf16(ThreadPool&, Product<float>, const Strided&, const Strided&, std::byte*) {
  TM_CHECK(false && "this machine has no bf16 products");
}

#endif

}  // namespace tidemark::gemm
