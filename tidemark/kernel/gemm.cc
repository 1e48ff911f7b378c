#include "tidemark/kernel/gemm.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/kernel/gemm_micro.h"
#include "tidemark/kernel/gemm_thin.h"
#include "tidemark/kernel/gemm_vector.h"

namespace tidemark::gemm {
namespace {

std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

// Panels of a phase, in bytes: A's within the second-level cache or little more, B's within the third's.
constexpr std::int64_t a_limit = 1280 << 10, b_limit = 2560 << 10, stage_limit = 2048 << 10;
// A block's panels of A stay in the second-level cache while those of B pass by.
constexpr std::int64_t block_rows = 64, block_cols = 256;
constexpr std::int64_t packed_at_once = 64;        // rows or columns per packing task
constexpr std::int64_t least_work = 1 << 18;       // multiply-adds per task: some 8 µs
constexpr std::int64_t wanted_blocks = 16;         // per phase, so that no thread waits long for the last
constexpr std::int64_t small_work = 96 * 96 * 96;  // multiply-adds of a product that packing does not pay for

// How a product is cut: by its sizes alone.
struct Cut {
  std::int64_t depth = 0;           // of a block of k
  std::int64_t rows = 0, cols = 0;  // of a chunk of C
  std::int64_t together = 1;        // products of the batch in one phase
  std::int64_t a_elements = 0, b_elements = 0, stage_elements = 0;
};

Cut cut(const Sizes& s, std::int64_t element, bool staged) {
  Cut c;
  // Scratch stays small next to what a product reads and writes: half the panels where those are but a few
  // MiB.
  const std::int64_t moved = s.batch * (s.m * s.k + s.k * s.n + s.m * s.n) * element;
  const std::int64_t a_most = std::clamp(moved / 8, a_limit / 2, a_limit);
  const std::int64_t b_most = std::clamp(moved / 4, b_limit / 2, b_limit);
  c.depth = std::max<std::int64_t>(depth_block(s.k), 1);
  const auto chunk = [&](std::int64_t size, std::int64_t width, std::int64_t limit) {
    const std::int64_t most = std::max(limit / (c.depth * element) / width * width, width);
    return std::min(round_up(size, width), round_up(ceil_div(size, ceil_div(size, most)), width));
  };
  c.rows = chunk(s.m, widest.a, a_most), c.cols = chunk(s.n, widest.b, b_most);
  if (staged) {
    c.cols = std::min(c.cols, round_up(1024, widest.b));
    c.rows = std::min(c.rows, std::max(stage_limit / (c.cols * element) / widest.a * widest.a, widest.a));
  }
  c.a_elements = c.rows * c.depth, c.b_elements = c.cols * c.depth;
  if (c.rows >= s.m && c.cols >= s.n) {
    c.together = std::min(a_most / (c.a_elements * element), b_most / (c.b_elements * element));
    if (staged) c.together = std::min(c.together, stage_limit / (c.rows * c.cols * element));
    c.together = std::clamp<std::int64_t>(c.together, 1, std::max<std::int64_t>(s.batch, 1));
  }
  if (staged) c.stage_elements = c.rows * c.cols;
  return c;
}

// One phase: a chunk of C of some products of the batch, and a block of k.
struct Phase {
  std::int64_t batch = 0, batches = 0;
  std::int64_t row = 0, rows = 0, col = 0, cols = 0, k0 = 0, depth = 0;
  bool first = false, last = false;  // of the blocks of k
  bool pack_b = true;
};

template <class T>
class Blocked {
 public:
  Blocked(ThreadPool& pool, const Product<T>& product, std::byte* scratch)
      : pool_(pool),
        p_(product),
        micro_(product.kernels ? *product.kernels : micro<T>()),
        cut_(cut(product.sizes, sizeof(T), product.c == nullptr)) {
    a_ = reinterpret_cast<T*>(scratch);
    b_ = a_ + cut_.together * cut_.a_elements;
    stage_ = b_ + cut_.together * cut_.b_elements;
  }

  void run() {
    const Sizes& s = p_.sizes;
    Phase phase;
    const auto over_k = [&](const auto& body) {
      for (std::int64_t k0 = 0; k0 < s.k || k0 == 0; k0 += cut_.depth) {
        phase.k0 = k0, phase.depth = std::min(cut_.depth, s.k - k0);
        phase.first = k0 == 0, phase.last = k0 + cut_.depth >= s.k;
        body();
      }
    };
    const auto over_rows = [&](const auto& body) {
      for (phase.row = 0; phase.row < s.m; phase.row += cut_.rows) {
        phase.rows = std::min(cut_.rows, s.m - phase.row);
        body();
      }
    };
    for (phase.batch = 0; phase.batch < s.batch; phase.batch += cut_.together) {
      phase.batches = std::min(cut_.together, s.batch - phase.batch);
      for (phase.col = 0; phase.col < s.n; phase.col += cut_.cols) {
        phase.cols = std::min(cut_.cols, s.n - phase.col);
        if (p_.c) {
          over_k([&] {
            over_rows([&] {
              phase.pack_b = phase.row == 0;
              compute(phase);
            });
          });
        } else {  // a staged chunk must see all of k before the next one takes its place
          over_rows([&] {
            over_k([&] {
              phase.pack_b = phase.row == 0 || s.k > cut_.depth;
              compute(phase);
            });
          });
        }
      }
    }
  }

 private:
  void compute(const Phase& phase) {
    pack(phase);
    const std::int64_t wide = micro_.widths.b, high = micro_.widths.a;
    std::int64_t rows = block_rows, cols = round_up(block_cols, wide);
    std::int64_t down = 0, across = 0;
    const auto count = [&] {
      down = ceil_div(phase.rows, rows), across = ceil_div(phase.cols, cols);
      return phase.batches * down * across;
    };
    while (count() < wanted_blocks && rows * cols * phase.depth > least_work) {
      if (cols > 4 * wide) {
        cols = round_up(cols / 2, wide);
      } else if (rows > 2 * high) {
        rows = round_up(rows / 2, high);
      } else {
        break;
      }
    }
    const std::int64_t per_result = down * across;
    const std::int64_t group = std::max<std::int64_t>(
        1, least_work / std::max<std::int64_t>(
                            std::min(rows, phase.rows) * std::min(cols, phase.cols) * phase.depth, 1));
    parallel_for(pool_, phase.batches * per_result, group, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t index = begin; index < end; ++index) {
        const std::int64_t within = index % per_result;
        const std::int64_t row = within / across * rows, col = within % across * cols;
        make_block(phase, index / per_result, row, std::min(rows, phase.rows - row), col,
                   std::min(cols, phase.cols - col));
      }
    });
  }

  void pack(const Phase& phase) {
    const std::int64_t a_grain = round_up(packed_at_once, micro_.widths.a);
    const std::int64_t b_grain = round_up(packed_at_once, micro_.widths.b);
    const std::int64_t a_parts = ceil_div(phase.rows, a_grain);
    const std::int64_t b_parts = phase.pack_b ? ceil_div(phase.cols, b_grain) : 0;
    // Pieces too small for a thread of their own go together.
    const std::int64_t parts = phase.batches * (a_parts + b_parts);
    const std::int64_t piece =
        std::min(packed_at_once, std::max(phase.rows, phase.cols)) * std::max<std::int64_t>(phase.depth, 1);
    parallel_for(pool_, parts, std::max<std::int64_t>(1, (1 << 14) / piece),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t index = begin; index < end; ++index) {
                     if (const std::int64_t of_a = phase.batches * a_parts; index < of_a) {
                       pack(p_.a, phase, index / a_parts, index % a_parts * a_grain, a_grain, phase.row,
                            phase.rows, micro_.widths.a, a_ + index / a_parts * cut_.a_elements);
                     } else {
                       const std::int64_t rest = index - of_a;
                       pack(p_.b, phase, rest / b_parts, rest % b_parts * b_grain, b_grain, phase.col,
                            phase.cols, micro_.widths.b, b_ + rest / b_parts * cut_.b_elements);
                     }
                   }
                 });
  }
  void pack(const Source<T>& source, const Phase& phase, std::int64_t batch, std::int64_t at,
            std::int64_t grain, std::int64_t begin, std::int64_t count, std::int64_t width, T* panels) {
    source.pack(source.self,
                {.batch = phase.batch + batch,
                 .first = begin + at,
                 .count = std::min(grain, count - at),
                 .k0 = phase.k0,
                 .depth = phase.depth,
                 .width = width},
                panels + at * phase.depth);
  }

  void make_block(const Phase& phase, std::int64_t batch, std::int64_t row, std::int64_t rows,
                  std::int64_t col, std::int64_t cols) {
    T* c = stage_ + batch * cut_.stage_elements + row * cut_.cols + col;
    std::int64_t ld = cut_.cols;
    if (p_.c) {
      c = p_.c + p_.c_batch.offset(phase.batch + batch) + (phase.row + row) * p_.ld + phase.col + col;
      ld = p_.ld;
    }
    micro_.packed(rows, cols, phase.depth, p_.alpha, a_ + batch * cut_.a_elements + row * phase.depth,
                  b_ + batch * cut_.b_elements + col * phase.depth, p_.add || !phase.first, c, ld);
    if (phase.last && p_.epilogue.finish) {
      p_.epilogue.finish(p_.epilogue.self, {.batch = phase.batch + batch,
                                            .row = phase.row + row,
                                            .rows = rows,
                                            .col = phase.col + col,
                                            .cols = cols,
                                            .data = c,
                                            .ld = ld});
    }
  }

  ThreadPool& pool_;
  const Product<T>& p_;
  const Micro<T>& micro_;
  Cut cut_;
  T *a_, *b_, *stage_;
};

template <class T>
Matrix<const T> matrix_of(const Strided& from, std::int64_t batch) {
  return {reinterpret_cast<const T*>(from.data) + from.batch.offset(batch), from.outer.inner_stride(),
          from.depth.inner_stride()};
}

// One row or one column: runs of results, as many as a task should read.
constexpr std::int64_t vector_work = 1 << 17;
// Rows that are not memory of T, or lie apart, are packed first: a panel of width 1 is a dense row.
constexpr std::int64_t gathered = 16;

// The results [first, first + count) of w x, where w and x are the operands in whichever order makes x the
// vector.
template <class T>
void rows_by_vector(const Product<T>& p, std::int64_t batch, std::int64_t first, std::int64_t count, T* c,
                    std::int64_t c_step) {
  const Source<T>&w = p.sizes.n == 1 ? p.a : p.b, &x = p.sizes.n == 1 ? p.b : p.a;
  alignas(buffer_alignment) T sums[vector_run], factors[deepest], dense[gathered * deepest];
  const std::int64_t k = p.sizes.k, block = std::max<std::int64_t>(depth_block(k), 1);
  bool add = p.add;
  for (std::int64_t l = 0; l < k || l == 0; l += block, add = true) {
    const std::int64_t depth = std::min(block, k - l);
    const T* right = factors;
    if (x.plain && x.plain->depth.inner_stride() == 1) {
      right = matrix_of<T>(*x.plain, batch).at(0, l).data;
    } else {
      x.pack(x.self, {.batch = batch, .first = 0, .count = 1, .k0 = l, .depth = depth, .width = 1}, factors);
    }
    const std::int64_t most = w.plain ? vector_run : gathered;
    for (std::int64_t i = 0; i < count; i += most) {
      const std::int64_t run = std::min(most, count - i);
      Matrix<const T> left{dense, depth, 1};
      if (w.plain) {
        left = matrix_of<T>(*w.plain, batch).at(first + i, l);
      } else {
        w.pack(w.self,
               {.batch = batch, .first = first + i, .count = run, .k0 = l, .depth = depth, .width = 1},
               dense);
      }
      matrix_vector(run, depth, left, right, sums);
      for (std::int64_t j = 0; j < run; ++j) {
        const T sum = p.alpha != T(1) ? p.alpha * sums[j] : sums[j];
        T& out = c[(i + j) * c_step];
        out = add ? out + sum : sum;
      }
    }
  }
}

template <class T>
void run_vector(ThreadPool& pool, const Product<T>& p) {
  const Sizes& s = p.sizes;
  const bool column = s.n == 1;
  const std::int64_t count = column ? s.m : s.n;
  const Source<T>& w = column ? p.a : p.b;
  // Runs along contiguous results are long, so that their rows are read in long runs as well.
  const bool along = w.plain && w.plain->outer.inner_stride() == 1;
  const std::int64_t least = along ? vector_run / 2 : 16;
  const std::int64_t rows = round_up(std::max(vector_work / std::max<std::int64_t>(s.k, 1), least), 16);
  const std::int64_t parts = ceil_div(count, rows);
  const std::int64_t group =
      std::max<std::int64_t>(1, vector_work / (std::min(rows, count) * (s.k + 16) + 256));
  parallel_for(pool, s.batch * parts, group, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const std::int64_t batch = index / parts, first = index % parts * rows,
                         run = std::min(rows, count - first);
      const std::int64_t c_step = column ? p.ld : 1;
      T staged[vector_run];
      for (std::int64_t i = 0; i < run; i += vector_run) {
        const std::int64_t some = std::min(vector_run, run - i);
        T* c = p.c ? p.c + p.c_batch.offset(batch) + (first + i) * c_step : staged;
        rows_by_vector<T>(p, batch, first + i, some, c, p.c ? c_step : 1);
        if (p.epilogue.finish) {
          p.epilogue.finish(p.epilogue.self, {.batch = batch,
                                              .row = column ? first + i : 0,
                                              .rows = column ? some : 1,
                                              .col = column ? 0 : first + i,
                                              .cols = column ? 1 : some,
                                              .data = c,
                                              .ld = p.c ? p.ld : 1});
        }
      }
    }
  });
}

// Small products: whole results, or runs of rows of one, straight from memory.
template <class T>
void run_in_place(ThreadPool& pool, const Product<T>& p) {
  const Sizes& s = p.sizes;
  // Below, starting a product and storing its result count for more than the multiply-adds.
  const std::int64_t work = s.m * s.n * (s.k + 16) + 2048;
  const std::int64_t parts = std::clamp<std::int64_t>(work / least_work, 1, ceil_div(s.m, widest.a));
  const std::int64_t rows = round_up(ceil_div(s.m, parts), widest.a), per_result = ceil_div(s.m, rows);
  const std::int64_t group = std::max<std::int64_t>(1, least_work / (work / per_result + 1));
  parallel_for(pool, s.batch * per_result, group, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const std::int64_t batch = index / per_result, row = index % per_result * rows;
      const std::int64_t count = std::min(rows, s.m - row);
      const Matrix<const T> a = matrix_of<T>(*p.a.plain, batch), b = matrix_of<T>(*p.b.plain, batch);
      T* c = p.c + p.c_batch.offset(batch) + row * p.ld;
      multiply<T>(count, s.n, s.k, p.alpha, a.at(row, 0), {b.data, b.col, b.row}, p.add, c, p.ld);
      if (p.epilogue.finish) {
        p.epilogue.finish(
            p.epilogue.self,
            {.batch = batch, .row = row, .rows = count, .col = 0, .cols = s.n, .data = c, .ld = p.ld});
      }
    }
  });
}

bool is_small(const Sizes& s) { return s.m * s.n * s.k <= small_work; }

}  // namespace

template <class T>
std::int64_t scratch_bytes(const Sizes& sizes, bool staged, bool plain) {
  if (sizes.batch <= 0 || sizes.m <= 1 || sizes.n <= 1) return 0;
  if (plain && !staged && is_small(sizes)) return 0;
  if (plain && is_thin(sizes)) return thin_scratch_bytes<T>(sizes);
  const Cut c = cut(sizes, sizeof(T), staged);
  return c.together * (c.a_elements + c.b_elements + c.stage_elements) * static_cast<std::int64_t>(sizeof(T));
}

template <class T>
void run(ThreadPool& pool, const Product<T>& product, std::byte* scratch) {
  const Sizes& s = product.sizes;
  if (s.batch <= 0 || s.m <= 0 || s.n <= 0) return;
  TM_CHECK(product.c != nullptr || !product.add);
  if (s.m == 1 || s.n == 1) return run_vector(pool, product);
  const bool plain = product.a.plain && product.b.plain;
  if (plain && product.c && is_small(s)) return run_in_place(pool, product);
  if (plain && is_thin(s)) return run_thin(pool, product, scratch);
  Blocked<T>(pool, product, scratch).run();
}

template <class T>
Widths widths() {
  return micro<T>().widths;
}

template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b,
              bool add, T* c, std::int64_t ld) {
  const Micro<T>& kernels = micro<T>();
  const std::int64_t block = std::max<std::int64_t>(depth_block(k), 1);
  for (std::int64_t l = 0; l < k || l == 0; l += block, add = true) {
    kernels.strided(m, n, std::min(block, k - l), alpha, a.at(0, l), b.at(l, 0), add, c, ld);
  }
}

template <class T>
void multiply_packed(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, const T* a_panels,
                     const T* b_panels, bool add, T* c, std::int64_t ld) {
  micro<T>().packed(m, n, depth, alpha, a_panels, b_panels, add, c, ld);
}

#define TM_GEMM_FOR(T)                                                                                     \
  template std::int64_t scratch_bytes<T>(const Sizes&, bool, bool);                                        \
  template void run<T>(ThreadPool&, const Product<T>&, std::byte*);                                        \
  template Widths widths<T>();                                                                             \
  template void multiply<T>(std::int64_t, std::int64_t, std::int64_t, T, Matrix<const T>, Matrix<const T>, \
                            bool, T*, std::int64_t);                                                       \
  template void multiply_packed<T>(std::int64_t, std::int64_t, std::int64_t, T, const T*, const T*, bool,  \
                                   T*, std::int64_t);
TM_GEMM_FOR(float)
TM_GEMM_FOR(double)
#undef TM_GEMM_FOR

}  // namespace tidemark::gemm
