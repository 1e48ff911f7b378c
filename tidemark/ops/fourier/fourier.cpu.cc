#include <algorithm>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/fourier/fourier.h"
#include "tidemark/ops/fourier/transform.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/fourier/fourier.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/fourier/points-inl.h"
#include "tidemark/ops/fourier/stockham-inl.h"
#include "tidemark/ops/fourier/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t piece = 4096;  // numbers that a task moves, where it does nothing else

// One run of a kernel: the tensors' lines, scratch, and the steps that transforms are made of.
template <class T>
class Transforms {
  static constexpr std::int64_t lanes = TransformScratch<T>::lanes, number = 2 * lanes;

 public:
  Transforms(const TransformForm& form, const KernelArgs& args)
      : form_(form),
        by_(form.by),
        args_(args),
        source_(args.in[0], form.axis, form.kind != TransformKind::real_to_half),
        target_(args.out[0], form.axis, form.kind != TransformKind::half_to_real),
        count_(args.out[0].count() == 0 ? 0 : target_.count()),
        scratch_(form.by, form.packed, count_, args.scratch) {}

  void run() {
    if (count_ == 0) return;
    fill_tables();
    if (by_.chirp) by_.cut() ? fill_spectrum_cut() : fill_spectrum();
    by_.cut() ? run_cut() : run_side_by_side();
  }

 private:
  // ---- tables

  static void put(T* pair, std::complex<double> root) {
    pair[0] = static_cast<T>(root.real());
    pair[1] = static_cast<T>(root.imag());
  }
  template <class Root>
  void fill(std::int64_t count, const Root& root) const {
    parallel_for(*args_.pool, count, piece, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) root(k);
    });
  }
  void fill_tables() const {
    fill(by_.columns, [&](std::int64_t k) { put(scratch_.row_roots + 2 * k, form_.roots[k * by_.rows]); });
    if (by_.cut()) {
      fill(by_.rows,
           [&](std::int64_t k) { put(scratch_.column_roots + 2 * k, form_.roots[k * by_.columns]); });
      parallel_for(*args_.pool, by_.rows, std::max<std::int64_t>(1, piece / by_.columns),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t r = begin; r < end; ++r) {
                       T* re = scratch_.twiddles + r * by_.columns;
                       for (std::int64_t c = 0; c < by_.columns; ++c) {
                         const std::complex<double> root = form_.roots[r * c];
                         re[c] = static_cast<T>(root.real());
                         re[by_.size + c] = static_cast<T>(root.imag());
                       }
                     }
                   });
    }
    if (form_.packed) {
      fill(by_.points / 2 + 1,
           [&](std::int64_t k) { put(scratch_.real_roots + 2 * k, form_.real_roots[k]); });
    }
    if (by_.chirp) {
      fill(by_.points,
           [&](std::int64_t k) { put(scratch_.chirp + 2 * k, form_.chirp_roots[k * k % (2 * by_.points)]); });
    }
  }

  // ---- chirps: y_k = c_k Σⱼ (x_j c_j) c̄_{k-j} with c_k = e^(-πi k²/n), as a circular convolution

  // c̄ of |k|, times what the two transforms of the convolution grow by.
  void put_chirp(const Points<T>& z) const {
    const T share = static_cast<T>(1 / static_cast<double>(by_.size));
    for (std::int64_t k = 0; k < by_.size; ++k) {
      const std::int64_t distance = std::min(k, by_.size - k);
      if (distance < by_.points) {
        const T* c = scratch_.chirp + 2 * distance;
        z.put(k, c[0] * share, -c[1] * share);
      } else {
        z.put(k, T(0), T(0));
      }
    }
  }
  // Points times c_k; those from the last on are zero.
  void times_chirp(const Points<T>& z, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t k = begin; k < end; ++k) {
      if (k >= by_.points) {
        z.put(k, T(0), T(0));
        continue;
      }
      const Parts<T> value = z.get(k);
      const T* c = scratch_.chirp + 2 * k;
      z.put(k, value.re * c[0] - value.im * c[1], value.re * c[1] + value.im * c[0]);
    }
  }
  // Points times the chirp's spectrum, swapped: what follows goes back.
  void times_spectrum(const Points<T>& z, std::int64_t begin, std::int64_t end) const {
    const T *sr = scratch_.spectrum, *si = scratch_.spectrum + by_.size;
    for (std::int64_t k = begin; k < end; ++k) {
      const T re = z.re[k * z.step], im = z.im[k * z.step];
      z.re[k * z.step] = re * si[k] + im * sr[k];
      z.im[k * z.step] = re * sr[k] - im * si[k];
    }
  }

  // ---- many transforms side by side, one per lane

  Points<T> lane(T* buffer, std::int64_t at, bool swap) const {
    return points_at(buffer + at, buffer + lanes + at, number, swap);
  }
  T* rows_of(T* buffer, T* other, std::int64_t used) const {
    return stockham::transform(form_.row_stages, scratch_.row_roots, buffer, other, used);
  }
  void fill_spectrum() const {
    T* buffer = scratch_.working;
    std::fill_n(buffer, by_.size * number, T(0));
    put_chirp(lane(buffer, 0, false));
    const T* done = rows_of(buffer, buffer + by_.size * number, 1);
    for (std::int64_t k = 0; k < by_.size; ++k) {
      scratch_.spectrum[k] = done[k * number];
      scratch_.spectrum[by_.size + k] = done[k * number + lanes];
    }
  }
  // Where points are neighbours in memory, real part beside imaginary part, lines are turned as they are.
  void load_lanes(std::int64_t first, std::int64_t used, T* buffer) const {
    if (form_.pairs_in() && source_.neighbours(form_.packed)) {
      const T* lines[lanes];
      for (std::int64_t i = 0; i < used; ++i) lines[i] = source_[first + i].at;
      const std::int64_t flip = form_.swap ? 1 : 0;
      turn::transpose([&](std::int64_t i) HWY_ATTR { return lines[i]; }, used, 2 * by_.points,
                      [&](std::int64_t part) HWY_ATTR { return buffer + (part ^ flip) * lanes; }, T(1));
      return;
    }
    for (std::int64_t i = 0; i < used; ++i) {
      load_points(form_, source_[first + i], lane(buffer, i, form_.swap), scratch_.real_roots, 0,
                  loaded_points(form_));
    }
  }
  void store_lanes(std::int64_t first, std::int64_t used, T* done) const {
    const bool swap = form_.swap != by_.chirp;
    if (form_.pairs_out() && target_.neighbours(form_.packed)) {
      T* lines[lanes];
      for (std::int64_t i = 0; i < used; ++i) lines[i] = target_[first + i].at;
      const std::int64_t flip = swap ? 1 : 0;
      turn::transpose([&](std::int64_t part) HWY_ATTR { return done + (part ^ flip) * lanes; },
                      2 * by_.points, used, [&](std::int64_t i) HWY_ATTR { return lines[i]; },
                      static_cast<T>(form_.scale));
      return;
    }
    for (std::int64_t i = 0; i < used; ++i) {
      store_points(form_, lane(done, i, swap), target_[first + i], scratch_.real_roots, 0,
                   stored_points(form_));
    }
  }
  void run_side_by_side() const {
    const std::int64_t groups = (count_ + lanes - 1) / lanes;
    run_in_lanes(*args_.pool, groups, scratch_.tasks, [&](std::int64_t group, std::int64_t task) {
      T* buffer = scratch_.working + task * scratch_.task_elements;
      T* other = buffer + by_.size * number;
      const std::int64_t first = group * lanes, used = std::min(lanes, count_ - first);
      if (used < lanes) std::fill_n(buffer, by_.size * number, T(0));
      load_lanes(first, used, buffer);
      if (by_.chirp) {
        for (std::int64_t i = 0; i < used; ++i) times_chirp(lane(buffer, i, false), 0, by_.size);
      }
      T* done = rows_of(buffer, other, used);
      if (by_.chirp) {
        for (std::int64_t i = 0; i < used; ++i) times_spectrum(lane(done, i, false), 0, by_.size);
        done = rows_of(done, done == buffer ? other : buffer, used);
        for (std::int64_t i = 0; i < used; ++i) times_chirp(lane(done, i, true), 0, by_.points);
      }
      store_lanes(first, used, done);
    });
  }

  // ---- one transform as a matrix of rows and columns

  T* plane(std::int64_t slot) const { return scratch_.whole + slot * 4 * by_.size; }
  Points<T> whole(std::int64_t slot, bool swap) const {
    return points_at(plane(slot), plane(slot) + by_.size, 1, swap);
  }
  // Calls step(slot, begin, end) for pieces of [0, size) of every slot. A task takes the same piece of a few
  // slots: where neighbours in memory belong to different transforms, they meet in the cache.
  template <class Step>
  void in_pieces(std::int64_t slots, std::int64_t size, const Step& step) const {
    constexpr std::int64_t together = 8, length = piece / together;
    const std::int64_t pieces = (size + length - 1) / length;
    args_.pool->run((slots + together - 1) / together * pieces, [&](std::int64_t task) {
      const std::int64_t begin = task % pieces * length, first = task / pieces * together;
      for (std::int64_t slot = first; slot < std::min(first + together, slots); ++slot)
        step(slot, begin, std::min(begin + length, size));
    });
  }
  // The transforms of columns, times roots; then those of rows, which stand turned where they are read in
  // order.
  void transform_whole(std::int64_t slots) const {
    const std::int64_t column_groups = (by_.columns + lanes - 1) / lanes,
                       row_groups = (by_.rows + lanes - 1) / lanes;
    run_in_lanes(*args_.pool, slots * column_groups, scratch_.tasks,
                 [&](std::int64_t task, std::int64_t working) {
                   transform_columns(plane(task / column_groups), task % column_groups * lanes, working);
                 });
    run_in_lanes(*args_.pool, slots * row_groups, scratch_.tasks,
                 [&](std::int64_t task, std::int64_t working) {
                   transform_rows(plane(task / row_groups), task % row_groups * lanes, working);
                 });
  }
  void transform_columns(T* numbers, std::int64_t first, std::int64_t working) const {
    const std::int64_t used = std::min(lanes, by_.columns - first), size = by_.size;
    T* buffer = scratch_.working + working * scratch_.task_elements;
    for (std::int64_t r = 0; r < by_.rows; ++r) {
      const T* from = numbers + r * by_.columns + first;
      copy_padded(from, buffer + r * number, used);
      copy_padded(from + size, buffer + r * number + lanes, used);
    }
    T* done = stockham::transform(form_.column_stages, scratch_.column_roots, buffer,
                                  buffer + by_.rows * number, used);
    const hn::CappedTag<T, lanes> d;
    const auto width = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t r = 0; r < by_.rows; ++r) {
      const std::int64_t at = r * by_.columns + first;
      T *to = numbers + 2 * size + at, *z = done + r * number;
      const T* root = scratch_.twiddles + at;
      std::int64_t i = 0;
      for (; i + width <= used; i += width) {
        const stockham::Complex<T> w = {hn::LoadU(d, root + i), hn::LoadU(d, root + size + i)};
        const stockham::Complex<T> product = stockham::load(z + i) * w;
        hn::StoreU(product.re, d, to + i);
        hn::StoreU(product.im, d, to + size + i);
      }
      if (i == used) continue;
      HWY_ALIGN T padded[4][lanes] = {};
      std::copy_n(root + i, used - i, padded[0]);
      std::copy_n(root + size + i, used - i, padded[1]);
      const stockham::Complex<T> w = {hn::Load(d, padded[0]), hn::Load(d, padded[1])};
      const stockham::Complex<T> product = stockham::load(z + i) * w;
      hn::Store(product.re, d, padded[2]);
      hn::Store(product.im, d, padded[3]);
      std::copy_n(padded[2], used - i, to + i);
      std::copy_n(padded[3], used - i, to + size + i);
    }
  }
  void transform_rows(T* numbers, std::int64_t first, std::int64_t working) const {
    const std::int64_t used = std::min(lanes, by_.rows - first), size = by_.size;
    T* buffer = scratch_.working + working * scratch_.task_elements;
    if (used < lanes) std::fill_n(buffer, by_.columns * number, T(0));
    for (int part = 0; part < 2; ++part) {
      const T* from = numbers + (2 + part) * size + first * by_.columns;
      T* to = buffer + part * lanes;
      turn::transpose([&](std::int64_t i) HWY_ATTR { return from + i * by_.columns; }, used, by_.columns,
                      [&](std::int64_t c) HWY_ATTR { return to + c * number; }, T(1));
    }
    const T* done = rows_of(buffer, buffer + by_.columns * number, used);
    for (std::int64_t k = 0; k < by_.columns; ++k) {
      T* to = numbers + k * by_.rows + first;
      std::copy_n(done + k * number, used, to);
      std::copy_n(done + k * number + lanes, used, to + size);
    }
  }
  static void copy_padded(const T* from, T* to, std::int64_t used) {
    if (used == lanes) {
      std::copy_n(from, lanes, to);
    } else {
      std::copy_n(from, used, to);
      std::fill_n(to + used, lanes - used, T(0));
    }
  }
  void fill_spectrum_cut() const {
    put_chirp(whole(0, false));
    transform_whole(1);
    std::copy_n(plane(0), 2 * by_.size, scratch_.spectrum);
  }
  void run_cut() const {
    for (std::int64_t first = 0; first < count_; first += scratch_.at_once) {
      const std::int64_t slots = std::min(scratch_.at_once, count_ - first);
      in_pieces(slots, loaded_points(form_), [&](std::int64_t slot, std::int64_t begin, std::int64_t end) {
        load_points(form_, source_[first + slot], whole(slot, form_.swap), scratch_.real_roots, begin, end);
      });
      if (by_.chirp) {
        in_pieces(slots, by_.size, [&](std::int64_t slot, std::int64_t begin, std::int64_t end) {
          times_chirp(whole(slot, false), begin, end);
        });
        transform_whole(slots);
        in_pieces(slots, by_.size, [&](std::int64_t slot, std::int64_t begin, std::int64_t end) {
          times_spectrum(whole(slot, false), begin, end);
        });
      }
      transform_whole(slots);
      if (by_.chirp) {
        in_pieces(slots, by_.points, [&](std::int64_t slot, std::int64_t begin, std::int64_t end) {
          times_chirp(whole(slot, true), begin, end);
        });
      }
      in_pieces(slots, stored_points(form_), [&](std::int64_t slot, std::int64_t begin, std::int64_t end) {
        store_points(form_, whole(slot, form_.swap != by_.chirp), target_[first + slot], scratch_.real_roots,
                     begin, end);
      });
    }
  }

  const TransformForm& form_;
  const TransformLength& by_;
  const KernelArgs& args_;
  const Lines<const T> source_;
  const Lines<T> target_;
  const std::int64_t count_;
  const TransformScratch<T> scratch_;
};

void run_transforms(const KernelArgs& args) {
  const auto& form = args.attrs<TransformForm>();
  if (args.in[0].dtype == DType::f64) {
    Transforms<double>(form, args).run();
  } else {
    Transforms<float>(form, args).run();
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

// The transform of a call and how many there are.
struct Transformed {
  TransformKind kind;
  std::int64_t length, count;
};
Transformed transformed(const Call& call) {
  if (call.op == &op::fft) {
    const std::int64_t length = call.in[0].shape[static_cast<int>(call.attrs_as<FftAttrs>().axis)];
    return {TransformKind::complex, length, call.in[0].count() / 2 / length};
  }
  const bool forward = call.op == &op::rfft;
  const std::int64_t length = call.attrs_as<RealFftAttrs>().length;
  return {forward ? TransformKind::real_to_half : TransformKind::half_to_real, length,
          (forward ? call.in[0] : call.out[0]).count() / length};
}

std::int64_t scratch(const Call& call) {
  const Transformed of = transformed(call);
  if (of.count == 0) return 0;
  const TransformLength by(complex_points(of.kind, of.length));
  const bool packed = by.points != of.length;
  return call.in[0].dtype == DType::f64 ? TransformScratch<double>(by, packed, of.count, nullptr).bytes
                                        : TransformScratch<float>(by, packed, of.count, nullptr).bytes;
}

// About 5 operations per number and stage of radix 2, and as much as two stages to bring numbers in and out.
Cost cost(const Call& call) {
  const Transformed of = transformed(call);
  const TransformLength by(complex_points(of.kind, of.length));
  const double size = static_cast<double>(by.size);
  const double each = 5 * size * (repeatable::log2(size) + 2) * (by.chirp ? 2 : 1);
  return {.flops = each * static_cast<double>(of.count), .bytes = bytes_moved(call), .work = WorkKind::rows};
}

TM_DISPATCHED(run, run_transforms)

constexpr ExecutionFacts facts = {.cost = cost, .scratch = scratch, .strided = takes_any_strides};

}  // namespace

const CpuKernel cpu::fft = formed_kernel<fft_form>(run, facts);
const CpuKernel cpu::rfft = formed_kernel<rfft_form>(run, facts);
const CpuKernel cpu::irfft = formed_kernel<irfft_form>(run, facts);

}  // namespace tidemark
#endif  // HWY_ONCE
