#include "tidemark/ops/normalization/linear_cross_entropy.h"

#include <algorithm>
#include <type_traits>

#include "tidemark/ops/normalization/labels.h"
#include "tidemark/ops/normalization/linear_cross_entropy_chunks.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/normalization/linear_cross_entropy.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

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
    x_panels_ = reinterpret_cast<W*>(args.scratch + at.x_panels);
    w_tile_ = reinterpret_cast<W*>(args.scratch + at.w_tile);
    sum_ = reinterpret_cast<W*>(args.scratch + at.sum);
    packed_ = reinterpret_cast<W*>(args.scratch + at.packed);
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
  static void pack(const gemm::Strided& from, const gemm::Part& part, W* panels) {
    const gemm::Source<W> source = gemm::source_of<W>(from);
    source.pack(source.self, part, panels);
  }
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
    if (!chunks_.tiled()) {
      multiply(chunks_.x_gradient(rows), a, b, out, false);
      return scale_rows(out, out, rows);
    }
    const std::int64_t count = rows * chunks_.width;
    parallel_for(*args_.pool, Chunks::lanes, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t lane = begin; lane < end; ++lane) add_tiles(a, b, lane, rows, sum_ + lane * count);
    });
    parallel_for(*args_.pool, rows, row_grain(chunks_.width * Chunks::lanes),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) add_lanes(r, count, out + r * chunks_.width);
                 });
  }

  // A lane's part of x's gradient: the products of its tiles, one after the other.
  void add_tiles(const gemm::Strided& logits, const gemm::Strided& w, std::int64_t lane, std::int64_t rows,
                 W* sum) {
    const gemm::Widths widths = gemm::widths<W>();
    W* const left = packed_ + lane * ChunkScratch::packed_of(chunks_);
    W* const right = left + ChunkScratch::logits_tile_of(chunks_);
    const std::int64_t tiles = chunks_.tiles(), begin = lane * tiles / Chunks::lanes;
    for (std::int64_t t = begin; t < (lane + 1) * tiles / Chunks::lanes; ++t) {
      const std::int64_t k0 = t * Chunks::tile, depth = std::min(Chunks::tile, chunks_.classes - k0);
      pack(logits, {.count = rows, .k0 = k0, .depth = depth, .width = widths.a}, left);
      for (std::int64_t j = 0; j < chunks_.width; j += Chunks::strip) {
        const std::int64_t columns = std::min(Chunks::strip, chunks_.width - j);
        pack(w, {.first = j, .count = columns, .k0 = k0, .depth = depth, .width = widths.b}, right);
        gemm::multiply_packed<W>(rows, columns, depth, 1, left, right, t > begin, sum + j, chunks_.width);
      }
    }
  }
  void add_lanes(std::int64_t row, std::int64_t lane_elements, W* out) {
    const rows::Tag<W> d;
    const auto scale = hn::Set(d, scale_[row]);
    const W* const from = sum_ + row * chunks_.width;
    rows::map(d, static_cast<std::size_t>(chunks_.width), out,
              [&](std::size_t i, std::size_t count) HWY_ATTR {
                auto sum = rows::load(d, from + i, count);
                for (std::int64_t lane = 1; lane < Chunks::lanes; ++lane) {
                  sum = hn::Add(sum, rows::load(d, from + lane * lane_elements + i, count));
                }
                return hn::Mul(sum, scale);
              });
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
  W *loss_, *logits_, *scaled_x_, *scale_, *x_panels_, *w_tile_, *sum_, *packed_;
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
