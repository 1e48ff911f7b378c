#include "tidemark/ops/attention.h"
#include "tidemark/kernel/blas.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/attention.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t max_block = 64;
constexpr std::int64_t max_tile = AttentionForm::max_width;  // elements: block() rows of `width`

// A task's working set lies on its stack: at most 7 tiles of 8192 elements.
template <class W>
struct Tile {
  alignas(64) W data[max_tile];
};
template <class W>
struct Square {
  alignas(64) W data[max_block * max_block];
};

std::int64_t offset(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t) {
  return b * x.strides[0] + h * x.strides[1] + t * x.strides[2];
}

// Rows [t, t + n) of head (b, h), widened, times `scale`.
template <class T>
void pack(const TensorRef& x, std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t n, double scale,
          Tile<compute_t<T>>& tile) {
  using W = compute_t<T>;
  const rows::Tag<T> d;
  const std::int64_t width = x.shape[3], step = x.strides[3];
  const auto factor = hn::Set(d, static_cast<W>(scale));
  for (std::int64_t r = 0; r < n; ++r) {
    const T* from = x.as<T>() + offset(x, b, h, t + r);
    W* to = tile.data + r * width;
    if (step != 1) {
      for (std::int64_t i = 0; i < width; ++i) to[i] = static_cast<W>(from[i * step]);
    }
    rows::map(d, static_cast<std::size_t>(width), to, [&](std::size_t i, std::size_t count) HWY_ATTR {
      return hn::Mul(step == 1 ? rows::load(d, from + i, count) : rows::load(d, to + i, count), factor);
    });
  }
}

// Writes n rows of a dense result, each times scale(row).
template <class T, class F>
void unpack(const Tile<compute_t<T>>& tile, const TensorRef& y, std::int64_t b, std::int64_t h,
            std::int64_t t, std::int64_t n, const F& scale) {
  const rows::Tag<T> d;
  const std::int64_t width = y.shape[3];
  for (std::int64_t r = 0; r < n; ++r) {
    const auto factor = hn::Set(d, static_cast<compute_t<T>>(scale(r)));
    const auto* from = tile.data + r * width;
    rows::map(d, static_cast<std::size_t>(width), y.as<T>() + offset(y, b, h, t + r),
              [&](std::size_t i, std::size_t count)
                  HWY_ATTR { return hn::Mul(rows::load(d, from + i, count), factor); });
  }
}

// c (m×n) = a (m×k) bᵀ, for row-major tiles; and c += a b, c += aᵀ b.
template <class W>
void times_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const W* a, const W* b, W* c) {
  blas::gemm_serial<W>(m, n, k, W{1}, {a, k, 1}, {b, 1, k}, W{0}, {c, n, 1});
}
template <class W>
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const W* a, const W* b, W* c) {
  blas::gemm_serial<W>(m, n, k, W{1}, {a, k, 1}, {b, n, 1}, W{1}, {c, n, 1});
}
template <class W>
void add_transposed_product(std::int64_t m, std::int64_t n, std::int64_t k, const W* a, const W* b, W* c) {
  blas::gemm_serial<W>(m, n, k, W{1}, {a, 1, m}, {b, n, 1}, W{1}, {c, n, 1});
}

// One block of scores: queries [i, i + m) and keys [j, j + n) of query head h.
struct Block {
  std::int64_t b, h, i, j, m, n;
};

// Puts -inf where the query may not look.
template <class W>
void hide(const AttentionForm& form, const TensorRef* mask, const Block& at, W* scores) {
  constexpr W hidden = -std::numeric_limits<W>::infinity();
  for (std::int64_t r = 0; r < at.m; ++r) {
    W* row = scores + r * at.n;
    for (std::int64_t c = std::max<std::int64_t>(form.visible(at.i + r) - at.j, 0); c < at.n; ++c)
      row[c] = hidden;
    if (!mask) continue;
    const std::int64_t place[] = {at.b, at.h, at.i + r, at.j};
    const int rank = mask->shape.rank();
    const bool* p = mask->as<bool>();
    for (int k = 1; k <= rank; ++k) {
      if (mask->shape[rank - k] != 1) p += place[4 - k] * mask->strides[rank - k];
    }
    const std::int64_t step = rank > 0 && mask->shape[rank - 1] != 1 ? mask->strides[rank - 1] : 0;
    for (std::int64_t c = 0; c < at.n; ++c) {
      if (!p[c * step]) row[c] = hidden;
    }
  }
}

// row = e^(row - shift), in place; returns the sum. A shift of -inf means that nothing is visible: all zeros.
template <class W>
W exponentiate(W* row, std::int64_t n, W shift) {
  const rows::Tag<W> d;
  if (shift == -std::numeric_limits<W>::infinity()) {
    std::fill_n(row, n, W{0});
    return 0;
  }
  const auto s = hn::Set(d, shift);
  rows::map(d, static_cast<std::size_t>(n), row, [&](std::size_t i, std::size_t count) HWY_ATTR {
    return rows::exp_of_negative(d, hn::Sub(rows::load(d, row + i, count), s));
  });
  return rows::sum(d, static_cast<std::size_t>(n),
                   [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, row + i, count); });
}

// Queries [i, i + m) of head (b, h) against all keys, keeping a running maximum and sum per query.
template <class T>
void forward_block(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t h,
                   std::int64_t i, std::int64_t m) {
  using W = compute_t<T>;
  const rows::Tag<T> d;
  const TensorRef* mask = args.in.size() > 3 ? &args.in[3] : nullptr;
  const std::int64_t kv = h / form.group(), width = form.width;
  Tile<W> q, kv_tile, y;
  Square<W> scores;
  W top[max_block], total[max_block];
  std::fill_n(top, m, -std::numeric_limits<W>::infinity());
  std::fill_n(total, m, W{0});
  std::fill_n(y.data, m * width, W{0});
  pack<T>(args.in[0], b, h, i, m, form.scale, q);
  for (std::int64_t j = 0; j < form.visible(i + m - 1); j += form.block()) {
    const std::int64_t n = std::min(form.block(), form.keys - j);
    pack<T>(args.in[1], b, kv, j, n, 1, kv_tile);
    times_transposed(m, n, width, q.data, kv_tile.data, scores.data);
    hide(form, mask, {b, h, i, j, m, n}, scores.data);
    for (std::int64_t r = 0; r < m; ++r) {
      W* row = scores.data + r * n;
      const W before = top[r];
      const W here =
          rows::max(d, static_cast<std::size_t>(n),
                    [&](std::size_t c, std::size_t count) HWY_ATTR { return rows::load(d, row + c, count); });
      top[r] = here > before || here != here ? here : before;
      const W sum = exponentiate(row, n, top[r]);
      const W fade = before == top[r] ? W{1} : std::exp(before - top[r]);  // 0 for the first block
      total[r] = total[r] * fade + sum;
      if (fade != W{1}) {
        for (std::int64_t c = 0; c < width; ++c) y.data[r * width + c] *= fade;
      }
    }
    pack<T>(args.in[2], b, kv, j, n, 1, kv_tile);
    add_product(m, width, n, scores.data, kv_tile.data, y.data);
  }
  unpack<T>(y, args.out[0], b, h, i, m, [&](std::int64_t r) { return total[r] == 0 ? W{0} : 1 / total[r]; });
  W* logsumexp = args.out[1].as<W>() + (b * form.heads + h) * form.queries + i;
  for (std::int64_t r = 0; r < m; ++r) logsumexp[r] = top[r] + std::log(total[r]);
}

// p = e^(q kᵀ - logsumexp) and ds = p (g vᵀ - delta) for one block, from packed tiles.
template <class W>
void block_slopes(const AttentionForm& form, const KernelArgs& args, const Block& at, const W* q, const W* k,
                  const W* v, const W* g, W* p, W* ds) {
  const rows::Tag<W> d;
  const TensorRef* mask = args.in.size() > 6 ? &args.in[6] : nullptr;
  const std::int64_t first = (at.b * form.heads + at.h) * form.queries + at.i;
  const W *logsumexp = args.in[3].as<W>() + first, *delta = args.in[4].as<W>() + first;
  times_transposed(at.m, at.n, form.width, q, k, p);
  hide(form, mask, at, p);
  times_transposed(at.m, at.n, form.width, g, v, ds);
  for (std::int64_t r = 0; r < at.m; ++r) {
    W *p_row = p + r * at.n, *ds_row = ds + r * at.n;
    exponentiate(p_row, at.n, logsumexp[r]);
    const auto shift = hn::Set(d, delta[r]);
    rows::map(d, static_cast<std::size_t>(at.n), ds_row, [&](std::size_t i, std::size_t count) HWY_ATTR {
      return hn::Mul(rows::load(d, p_row + i, count), hn::Sub(rows::load(d, ds_row + i, count), shift));
    });
  }
}

template <class T>
void query_gradient_block(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t h,
                          std::int64_t i, std::int64_t m) {
  using W = compute_t<T>;
  const std::int64_t kv = h / form.group(), width = form.width;
  Tile<W> q, g, k, v, dq;
  Square<W> p, ds;
  pack<T>(args.in[0], b, h, i, m, form.scale, q);
  pack<T>(args.in[5], b, h, i, m, 1, g);
  std::fill_n(dq.data, m * width, W{0});
  for (std::int64_t j = 0; j < form.visible(i + m - 1); j += form.block()) {
    const std::int64_t n = std::min(form.block(), form.keys - j);
    pack<T>(args.in[1], b, kv, j, n, 1, k);
    pack<T>(args.in[2], b, kv, j, n, 1, v);
    block_slopes<W>(form, args, {b, h, i, j, m, n}, q.data, k.data, v.data, g.data, p.data, ds.data);
    add_product(m, width, n, ds.data, k.data, dq.data);
  }
  unpack<T>(dq, args.out[0], b, h, i, m, [&](std::int64_t) { return form.scale; });
}

// Keys [j, j + n) of key head (b, kv), over the query heads that share it.
template <class T>
void key_gradient_block(const AttentionForm& form, const KernelArgs& args, std::int64_t b, std::int64_t kv,
                        std::int64_t j, std::int64_t n) {
  using W = compute_t<T>;
  const std::int64_t width = form.width;
  Tile<W> q, g, k, v, dk, dv;
  Square<W> p, ds;
  pack<T>(args.in[1], b, kv, j, n, 1, k);
  pack<T>(args.in[2], b, kv, j, n, 1, v);
  std::fill_n(dk.data, n * width, W{0});
  std::fill_n(dv.data, n * width, W{0});
  for (std::int64_t h = kv * form.group(); h < (kv + 1) * form.group(); ++h) {
    for (std::int64_t i = 0; i < form.queries; i += form.block()) {
      const std::int64_t m = std::min(form.block(), form.queries - i);
      if (form.visible(i + m - 1) <= j) continue;  // no query of the block sees these keys
      pack<T>(args.in[0], b, h, i, m, form.scale, q);
      pack<T>(args.in[5], b, h, i, m, 1, g);
      block_slopes<W>(form, args, {b, h, i, j, m, n}, q.data, k.data, v.data, g.data, p.data, ds.data);
      add_transposed_product(n, width, m, p.data, g.data, dv.data);
      add_transposed_product(n, width, m, ds.data, q.data, dk.data);
    }
  }
  unpack<T>(dk, args.out[1], b, kv, j, n, [](std::int64_t) { return 1; });
  unpack<T>(dv, args.out[2], b, kv, j, n, [](std::int64_t) { return 1; });
}

// Calls f(b, h, first row, rows) for every block of `length` rows of every head, one task each.
template <class F>
void for_each_block(const KernelArgs& args, const AttentionForm& form, std::int64_t heads,
                    std::int64_t length, const F& f) {
  const std::int64_t blocks = (length + form.block() - 1) / form.block();
  args.pool->run(form.batch * heads * blocks, [&](std::int64_t task) {
    const std::int64_t first = task % blocks * form.block(), head = task / blocks;
    f(head / heads, head % heads, first, std::min(form.block(), length - first));
  });
}

void run_attention(const KernelArgs& args) {
  const auto& form = args.attrs<AttentionForm>();
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    for_each_block(args, form, form.heads, form.queries,
                   [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t m) {
                     forward_block<T>(form, args, b, h, i, m);
                   });
  });
}

void run_attention_grad(const KernelArgs& args) {
  const auto& form = args.attrs<AttentionForm>();
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    for_each_block(args, form, form.heads, form.queries,
                   [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t m) {
                     query_gradient_block<T>(form, args, b, h, i, m);
                   });
    for_each_block(args, form, form.kv_heads, form.keys,
                   [&](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t n) {
                     key_gradient_block<T>(form, args, b, h, j, n);
                   });
  });
}

void run_attention_delta(const KernelArgs& args) {
  const std::int64_t width = args.in[0].shape[3];
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const rows::Tag<T> d;
    const T *y = args.in[0].as<T>(), *g = args.in[1].as<T>();
    auto* out = args.out[0].as<compute_t<T>>();
    parallel_for(*args.pool, args.out[0].count(), row_grain(width),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   for (std::int64_t r = begin; r < end; ++r) {
                     out[r] = rows::sum(d, static_cast<std::size_t>(width),
                                        [&](std::size_t i, std::size_t count) HWY_ATTR {
                                          return hn::Mul(rows::load(d, y + r * width + i, count),
                                                         rows::load(d, g + r * width + i, count));
                                        });
                   }
                 });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
HWY_EXPORT(run_attention);
HWY_EXPORT(run_attention_grad);
HWY_EXPORT(run_attention_delta);

namespace {
constexpr CpuKernel with_form(void (*run)(const KernelArgs&)) {
  return {run, [](const Call& call) -> std::shared_ptr<const void> {
            return std::make_shared<const AttentionForm>(attention_form(call));
          }};
}
}  // namespace

const CpuKernel cpu::attention = with_form([](const KernelArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_attention)
  (args);
});
const CpuKernel cpu::attention_grad = with_form([](const KernelArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_attention_grad)
  (args);
});
const CpuKernel cpu::attention_delta = cpu_kernel<NoAttrs>([](const KernelArgs& args) {
  HWY_DYNAMIC_DISPATCH(run_attention_delta)
  (args);
});
}  // namespace tidemark
#endif  // HWY_ONCE
