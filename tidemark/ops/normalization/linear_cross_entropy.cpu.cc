#include "tidemark/ops/normalization/linear_cross_entropy.h"

#include <algorithm>
#include <type_traits>

#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/normalization/labels.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalization/linear_cross_entropy.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

#ifndef TIDEMARK_OPS_LINEAR_CROSS_ENTROPY_CHUNKS_
#define TIDEMARK_OPS_LINEAR_CROSS_ENTROPY_CHUNKS_
namespace tidemark {
namespace {

// The sizes of a call, and how its examples are cut into chunks: by the sizes alone, since sums over examples
// go chunk by chunk and their bits must not depend on the machine.
struct Chunks {
  std::int64_t examples = 0, width = 0, classes = 0;
  std::int64_t rows = 0;  // of a chunk; the last may have fewer

  // A chunk's logits take a 24th of all, so that with the products' own scratch they stay below a 20th; but
  // enough rows that reading w for them costs little beside the arithmetic, which 256 do, and as many as fit
  // into a few MiB anyway.
  static Chunks of(const Shape& x, const Shape& w, bool columns, std::int64_t element) {
    constexpr std::int64_t small = std::int64_t{4} << 20, most = 256, unit = 16;
    Chunks c;
    c.width = x.back();
    c.examples = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) c.examples *= x[i];
    c.classes = w[columns ? 1 : 0];
    const std::int64_t by_share = std::min(most, c.examples / 24);
    const std::int64_t by_size = small / std::max<std::int64_t>(c.classes * element, 1);
    const std::int64_t rows = align_up(std::max<std::int64_t>({by_share, by_size, 1}), unit);
    c.rows = std::min(rows, std::max<std::int64_t>(c.examples, 1));
    return c;
  }
  std::int64_t last_rows() const { return examples == 0 ? 0 : examples - (examples - 1) / rows * rows; }

  gemm::Sizes logits(std::int64_t m) const { return {m, classes, width, 1}; }
  gemm::Sizes x_gradient(std::int64_t m) const { return {m, width, classes, 1}; }
  gemm::Sizes w_gradient(std::int64_t k, bool columns) const {
    return columns ? gemm::Sizes{width, classes, k, 1} : gemm::Sizes{classes, width, k, 1};
  }
};

// What lies in scratch, in bytes from its beginning.
struct ChunkScratch {
  std::int64_t logits = 0, scaled_x = 0, scale = 0, product = 0, bytes = 0;

  template <class W>
  static ChunkScratch of(const Chunks& chunks, const LinearCrossEntropyAttrs& attrs, bool plain) {
    ChunkScratch s;
    const auto claim = [&](std::int64_t elements) {
      const std::int64_t at = s.bytes;
      s.bytes += align_up(elements * static_cast<std::int64_t>(sizeof(W)), buffer_alignment);
      return at;
    };
    s.logits = claim(chunks.rows * chunks.classes);
    s.scaled_x = claim(attrs.w_gradient ? chunks.rows * chunks.width : 0);
    s.scale = claim(chunks.rows);
    s.product = s.bytes;
    std::int64_t most = 0;
    for (const std::int64_t rows : {chunks.rows, chunks.last_rows()}) {
      most = std::max(most, gemm::scratch_bytes<W>(chunks.logits(rows), false, plain));
      if (attrs.x_gradient) {
        most = std::max(most, gemm::scratch_bytes<W>(chunks.x_gradient(rows), false, plain));
      }
      if (attrs.w_gradient) {
        most = std::max(most, gemm::scratch_bytes<W>(chunks.w_gradient(rows, attrs.columns), false, true));
      }
    }
    s.bytes += most;
    return s;
  }
};

}  // namespace
}  // namespace tidemark
#endif

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One example: logits become e^(logits - top) in place, less their sum at the label. Times weight / sum, that
// is the gradient of the weighted loss; who multiplies by it comes later, on fewer numbers.
template <class W>
struct Row {
  W loss, sum;
};
template <class W>
Row<W> open_row(W* x, std::size_t n, std::int64_t label, bool keep) {
  const rows::Tag<W> d;
  const W picked = x[label];
  const W top =
      rows::max(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR { return rows::load(d, x + i, count); });
  const auto shift = hn::Set(d, top);
  const W sum = rows::sum(d, n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const auto e = rows::exp_of_negative(d, hn::Sub(rows::load(d, x + i, count), shift));
    if (keep) rows::store(d, x + i, count, e);
    return e;
  });
  if (keep) x[label] -= sum;
  return {top + std::log(sum) - picked, sum};
}

// A strided matrix as a source of panels: rows of A or columns of B are `outer`.
gemm::Strided panels_of(const std::byte* data, DType dtype, std::int64_t outer, std::int64_t outer_stride,
                        std::int64_t depth, std::int64_t depth_stride) {
  return {
      .data = data, .dtype = dtype, .outer = {{outer}, {outer_stride}}, .depth = {{depth}, {depth_stride}}};
}

// T: of x and w.
template <class T>
class Run {
  using W = compute_t<T>;

 public:
  explicit Run(const KernelArgs& args)
      : args_(args),
        attrs_(args.attrs<LinearCrossEntropyAttrs>()),
        chunks_(Chunks::of(args.in[0].shape, args.in[1].shape, attrs_.columns, sizeof(W))),
        labels_(args.in[2], attrs_),
        weights_(args.in[3].as<W>()),
        loss_(args.out[1].as<W>()) {
    const ChunkScratch at = ChunkScratch::of<W>(chunks_, attrs_, std::is_same_v<T, W>);
    logits_ = reinterpret_cast<W*>(args.scratch + at.logits);
    scaled_x_ = reinterpret_cast<W*>(args.scratch + at.scaled_x);
    scale_ = reinterpret_cast<W*>(args.scratch + at.scale);
    product_ = args.scratch + at.product;
    const int class_axis = attrs_.columns ? 1 : 0;
    class_stride_ = args.in[1].strides[class_axis];
    width_stride_ = args.in[1].strides[1 - class_axis];
  }

  void operator()() {
    for (std::int64_t first = 0; first < chunks_.examples; first += chunks_.rows) {
      const std::int64_t rows = std::min(chunks_.rows, chunks_.examples - first);
      make_logits(first, rows);
      open_rows(first, rows);
      if (attrs_.x_gradient) make_x_gradient(first, rows);
      if (attrs_.w_gradient) add_w_gradient(first, rows);
    }
    if (chunks_.examples == 0 && attrs_.w_gradient) {
      const TensorRef& gradient = args_.out.back();
      std::fill_n(gradient.as<W>(), gradient.count(), W(0));
    }
    double total = 0;
    for (std::int64_t i = 0; i < chunks_.examples; ++i) {
      total += static_cast<double>(weights_[i]) * static_cast<double>(loss_[i]);
    }
    *args_.out[0].as<W>() = static_cast<W>(total);
  }

 private:
  bool opened() const { return attrs_.x_gradient || attrs_.w_gradient; }
  const T* x_at(std::int64_t first) const { return args_.in[0].as<T>() + first * chunks_.width; }
  void multiply(const gemm::Sizes& sizes, const gemm::Strided& a, const gemm::Strided& b, W* c, bool add) {
    gemm::run(*args_.pool,
              gemm::Product<W>{.sizes = sizes,
                               .a = gemm::source_of<W>(a),
                               .b = gemm::source_of<W>(b),
                               .c = c,
                               .ld = sizes.n,
                               .add = add},
              product_);
  }

  void make_logits(std::int64_t first, std::int64_t rows) {
    const DType dtype = args_.in[0].dtype;
    const auto a = panels_of(bytes(x_at(first)), dtype, rows, chunks_.width, chunks_.width, 1);
    const auto b =
        panels_of(args_.in[1].data, dtype, chunks_.classes, class_stride_, chunks_.width, width_stride_);
    multiply(chunks_.logits(rows), a, b, logits_, false);
  }

  void open_rows(std::int64_t first, std::int64_t rows) {
    const std::int64_t classes = chunks_.classes;
    parallel_for(*args_.pool, rows, row_grain(classes), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t label = labels_.at(first + r);
        W* x = logits_ + r * classes;
        if (label < 0) {
          if (opened()) std::fill_n(x, classes, W(0));
          loss_[first + r] = scale_[r] = 0;
          continue;
        }
        const Row<W> row = open_row(x, static_cast<std::size_t>(classes), label, opened());
        loss_[first + r] = row.loss;
        scale_[r] = weights_[first + r] / row.sum;
      }
    });
  }

  // to[r] = scale[r] · from[r], row by row.
  template <class From>
  void scale_rows(const From* from, W* to, std::int64_t rows) {
    const std::int64_t width = chunks_.width;
    parallel_for(*args_.pool, rows, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
      const rows::Tag<W> d;
      for (std::int64_t r = begin; r < end; ++r) {
        const auto scale = hn::Set(d, scale_[r]);
        rows::map(d, static_cast<std::size_t>(width), to + r * width,
                  [&](std::size_t i, std::size_t count)
                      HWY_ATTR { return hn::Mul(rows::load(d, from + r * width + i, count), scale); });
      }
    });
  }

  void make_x_gradient(std::int64_t first, std::int64_t rows) {
    W* const out = args_.out[2].as<W>() + first * chunks_.width;
    const auto a = panels_of(bytes(logits_), dtype_of<W>, rows, chunks_.classes, chunks_.classes, 1);
    const auto b = panels_of(args_.in[1].data, args_.in[1].dtype, chunks_.width, width_stride_,
                             chunks_.classes, class_stride_);
    multiply(chunks_.x_gradient(rows), a, b, out, false);
    scale_rows(out, out, rows);
  }

  void add_w_gradient(std::int64_t first, std::int64_t rows) {
    scale_rows(x_at(first), scaled_x_, rows);
    const auto x = panels_of(bytes(scaled_x_), dtype_of<W>, chunks_.width, 1, rows, chunks_.width);
    const auto g = panels_of(bytes(logits_), dtype_of<W>, chunks_.classes, 1, rows, chunks_.classes);
    W* const out = args_.out.back().as<W>();
    multiply(chunks_.w_gradient(rows, attrs_.columns), attrs_.columns ? x : g, attrs_.columns ? g : x, out,
             first > 0);
  }

  static const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }

  const KernelArgs& args_;
  const LinearCrossEntropyAttrs& attrs_;
  const Chunks chunks_;
  const Labels labels_;
  const W* weights_;
  W *loss_, *logits_, *scaled_x_, *scale_;
  std::byte* product_;
  std::int64_t class_stride_, width_stride_;
};

void run_linear_cross_entropy(const KernelArgs& args) {
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    Run<T> run(args);
    run();
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

HWY_EXPORT(run_linear_cross_entropy);

Chunks chunks_of(const Call& call) {
  return Chunks::of(call.in[0].shape, call.in[1].shape, call.attrs_as<LinearCrossEntropyAttrs>().columns,
                    size_of(call.in[3].dtype));
}

void run(const KernelArgs& args) {
  const auto& attrs = args.attrs<LinearCrossEntropyAttrs>();
  const Labels labels(args.in[2], attrs);
  labels.require_below(args.in[1].shape[attrs.columns ? 1 : 0], "linear_cross_entropy", args.where);
  HWY_DYNAMIC_DISPATCH(run_linear_cross_entropy)(args);
}

// Products, and for each logit what cross_entropy and its gradient take less the second exponential. Every
// chunk reads w for the logits and for x's gradient, and reads and writes w's gradient.
Cost cost(const Call& call) {
  const auto attrs = call.attrs_as<LinearCrossEntropyAttrs>();
  const Chunks chunks = chunks_of(call);
  const double gradients = (attrs.x_gradient ? 1 : 0) + (attrs.w_gradient ? 1 : 0);
  const double logits = static_cast<double>(chunks.examples) * static_cast<double>(chunks.classes);
  const double passes = static_cast<double>((chunks.examples + chunks.rows - 1) / chunks.rows);
  const double w_bytes = static_cast<double>(call.in[1].bytes());
  const double reads = 1 + (attrs.x_gradient ? 1 : 0) + (attrs.w_gradient ? 2 : 0);
  return {.flops = logits * (2 * static_cast<double>(chunks.width) * (1 + gradients) + 30),
          .bytes = bytes_moved(call) + (passes - 1) * reads * w_bytes};
}

std::int64_t scratch(const Call& call) {
  const auto attrs = call.attrs_as<LinearCrossEntropyAttrs>();
  const Chunks chunks = chunks_of(call);
  const bool plain = size_of(call.in[0].dtype) == size_of(call.in[3].dtype);
  return call.in[0].dtype == DType::f64 ? ChunkScratch::of<double>(chunks, attrs, plain).bytes
                                        : ChunkScratch::of<float>(chunks, attrs, plain).bytes;
}

bool strided(const Call&, int operand) { return operand == 1; }

}  // namespace

const CpuKernel cpu::linear_cross_entropy =
    cpu_kernel<LinearCrossEntropyAttrs>(run, {.cost = cost, .scratch = scratch, .strided = strided});

}  // namespace tidemark
#endif  // HWY_ONCE
