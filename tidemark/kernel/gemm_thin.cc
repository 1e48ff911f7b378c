#include "tidemark/kernel/gemm_thin.h"

#include <algorithm>

#include "tidemark/kernel/gemm_micro.h"

namespace tidemark::gemm {
namespace {

constexpr std::int64_t times = 4;           // the large operand has at least so many times as many
constexpr std::int64_t least_along = 8;     // fewer rows make too few sums for blocks whose columns they are
constexpr std::int64_t longest = 16 << 10;  // depth: all panels of the small operand are made at once
constexpr std::int64_t least_thin_work = 1 << 19;  // multiply-adds per task
constexpr std::int64_t least_packed = 1 << 14;     // elements per task

}  // namespace

bool is_thin(const Sizes& s) {
  const std::int64_t few = std::min(s.m, s.n), many = std::max(s.m, s.n);
  return s.batch == 1 && few > 1 && few <= most_few && many >= times * few && s.k <= longest;
}

template <class T>
std::int64_t thin_scratch_bytes(const Sizes& s) {
  return panel_elements(std::min(s.m, s.n), s.k, widest.b) * static_cast<std::int64_t>(sizeof(T));
}

template <class T>
void run_thin(ThreadPool& pool, const Product<T>& p, std::byte* scratch) {
  const Sizes& s = p.sizes;
  const Micro<T>& kernels = micro<T>();
  const bool few_rows = s.m < s.n;
  const std::int64_t few = few_rows ? s.m : s.n, many = few_rows ? s.n : s.m;
  const Source<T>&x = few_rows ? p.a : p.b, &large = few_rows ? p.b : p.a;
  const Strided& lies = *large.plain;
  const Matrix<const T> w{reinterpret_cast<const T*>(lies.data) + lies.batch.offset(0),
                          lies.outer.inner_stride(), lies.depth.inner_stride()};
  const bool along = w.col == 1 && few > least_along;
  const auto thin = along ? kernels.thin_along : kernels.thin_across;

  const std::int64_t width = along ? kernels.widths.b : kernels.widths.a,
                     padded = ceil_div(few, width) * width;
  const std::int64_t block = std::max<std::int64_t>(depth_block(s.k), 1);
  T* const panels = reinterpret_cast<T*>(scratch);
  parallel_for(pool, ceil_div(s.k, block), std::max<std::int64_t>(1, least_packed / (few * block)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t k0 = begin * block; k0 < std::min(end * block, s.k); k0 += block) {
                   x.pack(x.self,
                          {.count = few, .k0 = k0, .depth = std::min(block, s.k - k0), .width = width},
                          panels + k0 * padded);
                 }
               });

  const std::int64_t strip = thin_blocks * kernels.widths.b;
  const std::int64_t strips =
      std::max<std::int64_t>(1, least_thin_work / std::max<std::int64_t>(1, few * strip * s.k));
  parallel_for(pool, ceil_div(many, strip), strips, [&](std::int64_t begin, std::int64_t end) {
    alignas(buffer_alignment) T stage[most_few * thin_blocks * widest.b];
    for (std::int64_t first = begin * strip; first < std::min(end * strip, many); first += strip) {
      const std::int64_t count = std::min(strip, many - first);
      const std::int64_t row = few_rows ? 0 : first, col = few_rows ? first : 0;
      T* const to = p.c ? p.c + p.c_batch.offset(0) + row * p.ld + col : stage;
      const std::int64_t ld = p.c ? p.ld : few_rows ? strip : few;
      const Matrix<T> c = few_rows ? Matrix<T>{to, 1, ld} : Matrix<T>{to, ld, 1};
      bool add = p.add;
      for (std::int64_t k0 = 0; k0 < s.k || k0 == 0; k0 += block, add = true) {
        thin(count, few, std::min(block, s.k - k0), p.alpha, w.at(first, k0), panels + k0 * padded, add, c);
      }
      if (p.epilogue.finish) {
        p.epilogue.finish(p.epilogue.self, {.batch = 0,
                                            .row = row,
                                            .rows = few_rows ? few : count,
                                            .col = col,
                                            .cols = few_rows ? count : few,
                                            .data = to,
                                            .ld = ld});
      }
    }
  });
}

#define TM_THIN_FOR(T)                                       \
  template std::int64_t thin_scratch_bytes<T>(const Sizes&); \
  template void run_thin<T>(ThreadPool&, const Product<T>&, std::byte*);
TM_THIN_FOR(float)
TM_THIN_FOR(double)
#undef TM_THIN_FOR

}  // namespace tidemark::gemm
