// A simulation with no tensor in it, differentiated by a checkpoint schedule: sound in two dimensions,
//   u_tt = c(x,y)^2 laplacian(u) + source,
// by leapfrog in time and fourth-order differences in space. Waves leave through a sponge (Cerjan et al.
// 1985) instead of bouncing off the border. Derivatives are those of the discrete scheme, exact to rounding:
// of half the squared difference between what receivers hear and what was observed, with respect to the field
// (c dt / h)^2 in every cell and to the initial state.
//
// A step reads three fields and writes one: 16 bytes a cell in f32. Its reverse reads five and writes two.
// Rows are contiguous and independent, so compilers vectorise them, and threads take strips of them; results
// do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <numbers>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/parallel.h"
#include "tidemark/schedule/stepper.h"

namespace wave {

using tidemark::schedule::Step;
using tidemark::schedule::Steps;

inline constexpr int halo = 2;            // cells of zero around a field: the reach of the differences
inline constexpr int row_alignment = 16;  // elements
inline constexpr int strip_rows = 32;     // of one task
inline constexpr int window_rows = 8;     // that one pass over the rows of a strip holds

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(tidemark::memory_alignment)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(tidemark::memory_alignment)); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

// Moves the front of `bytes` into or out of `count` elements.
template <class T>
void put(std::span<std::byte>& bytes, const T* from, std::size_t count) {
  std::memcpy(bytes.data(), from, count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
}
template <class T>
void take(std::span<const std::byte>& bytes, T* to, std::size_t count) {
  std::memcpy(to, bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
}

// Rows of cells in a frame of zeros. What follows a row is at once the left frame of the next.
template <class T>
class Field {
 public:
  Field() = default;
  Field(int rows, int columns, T value = T(0))
      : rows_(rows),
        columns_(columns),
        stride_((columns + halo + row_alignment - 1) / row_alignment * row_alignment),
        cells_(static_cast<std::size_t>(rows + 2 * halo) * static_cast<std::size_t>(stride_)) {
    if (value != T(0))
      for (int y = 0; y < rows; ++y) std::fill_n(row(y), columns, value);
  }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  std::ptrdiff_t stride() const { return stride_; }
  T* row(int y) { return cells_.data() + (y + halo) * std::ptrdiff_t(stride_); }
  const T* row(int y) const { return cells_.data() + (y + halo) * std::ptrdiff_t(stride_); }
  T& at(int y, int x) { return row(y)[x]; }
  T at(int y, int x) const { return row(y)[x]; }

  // As bytes: the cells without their frame.
  std::size_t size() const { return sizeof(T) * static_cast<std::size_t>(rows_) * width(); }
  void save(std::span<std::byte>& to) const {
    for (int y = 0; y < rows_; ++y) put(to, row(y), width());
  }
  void load(std::span<const std::byte>& from) {
    for (int y = 0; y < rows_; ++y) take(from, row(y), width());
  }
  friend bool operator==(const Field&, const Field&) = default;

 private:
  std::size_t width() const { return static_cast<std::size_t>(columns_); }
  int rows_ = 0, columns_ = 0, stride_ = 0;
  std::vector<T, AlignedAllocator<T>> cells_;
};

// Where the waves run: the square of the Courant number c dt / h in every cell (at most 3/8 for stability),
// and how much of the wave a step leaves in each row and column (1 but in the sponge).
template <class T>
struct Medium {
  Medium(int rows, int columns, int sponge)
      : courant2(rows, columns, T(0.1)),
        keep_row(taper(rows, sponge)),
        keep_column(taper(columns, sponge)),
        sponge_(sponge) {}

  Field<T> courant2;
  std::vector<T> keep_row, keep_column;

  // Cuts row y where it enters and leaves the sponge: f(in_sponge, begin, end) for each part.
  template <class F>
  void parts(int y, const F& f) const {
    const int columns = courant2.columns();
    if (y < sponge_ || y >= courant2.rows() - sponge_ || 2 * sponge_ >= columns) {
      f(std::true_type(), 0, columns);
    } else {
      f(std::true_type(), 0, sponge_);
      f(std::false_type(), sponge_, columns - sponge_);
      f(std::true_type(), columns - sponge_, columns);
    }
  }

 private:
  static std::vector<T> taper(int n, int sponge) {
    std::vector<T> keep(static_cast<std::size_t>(n), T(1));
    for (int i = 0; i < std::min(n, sponge); ++i) {
      const double depth = 0.4 * (sponge - i) / sponge;
      const T factor = static_cast<T>(std::exp(-depth * depth));
      keep[static_cast<std::size_t>(i)] *= factor;
      keep[static_cast<std::size_t>(n - 1 - i)] *= factor;
    }
    return keep;
  }

  int sponge_;
};

struct Cell {
  int y = 0, x = 0;
};

// One experiment: what goes in at the source at each step, and what the receivers hear after it (steps x
// receivers).
template <class T>
struct Shot {
  Cell source;
  std::vector<T> wavelet;
  std::vector<Cell> receivers;
  std::vector<T> observed;
};

// The Ricker wavelet of `frequency` cycles per step, at full swing 1.2 periods after the start.
template <class T>
std::vector<T> ricker(Step steps, double frequency) {
  std::vector<T> wavelet(static_cast<std::size_t>(steps));
  for (std::size_t i = 0; i < wavelet.size(); ++i) {
    const double a = std::numbers::pi * (frequency * static_cast<double>(i) - 1.2);
    wavelet[i] = static_cast<T>((1 - 2 * a * a) * std::exp(-a * a));
  }
  return wavelet;
}

// The wave now and one step before.
template <class T>
struct State {
  State(int rows, int columns) : now(rows, columns), before(rows, columns) {}
  std::size_t size() const { return now.size() + before.size(); }
  void save(std::span<std::byte> to) const { now.save(to), before.save(to); }
  void load(std::span<const std::byte> from) { now.load(from), before.load(from); }
  friend bool operator==(const State&, const State&) = default;

  Field<T> now, before;
};

// What the reverse of a step needs: the Laplacian of the wave before it, and what the receivers heard after
// it.
template <class T>
class Record {
 public:
  Record() = default;
  explicit Record(std::size_t count) : count_(count), values_(new T[count]) {}
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  std::size_t size() const { return count_ * sizeof(T); }
  void save(std::span<std::byte> to) const { put(to, values_.get(), count_); }
  void load(std::span<const std::byte> from) {
    if (from.size() != size()) *this = Record(from.size() / sizeof(T));
    take(from, values_.get(), count_);
  }

 private:
  std::size_t count_ = 0;
  std::unique_ptr<T[]> values_;
};

// Derivatives of the misfit with respect to the wave after a step (`now`), the wave two after (`later`: the
// wave before has the derivative -keep^2 later, which is never written down) and, summed over the steps
// reversed, courant2.
template <class T>
struct Adjoint {
  Adjoint(int rows, int columns) : now(rows, columns), later(rows, columns), courant2(rows, columns) {}
  std::size_t size() const { return now.size() + later.size() + courant2.size() + sizeof misfit; }
  void save(std::span<std::byte> to) const {
    now.save(to), later.save(to), courant2.save(to);
    put(to, &misfit, 1);
  }
  void load(std::span<const std::byte> from) {
    now.load(from), later.load(from), courant2.load(from);
    take(from, &misfit, 1);
  }
  friend bool operator==(const Adjoint&, const Adjoint&) = default;

  Field<T> now, later, courant2;
  double misfit = 0;
};

// h^2 times the Laplacian at u[0].
template <class T>
inline T laplacian(const T* u, std::ptrdiff_t stride) {
  const T near = (u[-1] + u[1]) + (u[-stride] + u[stride]);
  const T far = (u[-2] + u[2]) + (u[-2 * stride] + u[2 * stride]);
  return T(-5) * u[0] + (T(4.0 / 3) * near + T(-1.0 / 12) * far);
}

// Part of a row of the step. With `keep_laplacian`, that is written too; the wave has the same bits either
// way. Outside the sponge (not `tapered`) everything is kept.
template <bool tapered, bool keep_laplacian, class T>
inline void step_row(int n, T keep_row, const T* __restrict keep_column, const T* __restrict courant2,
                     const T* __restrict now, std::ptrdiff_t stride, T* __restrict before,
                     [[maybe_unused]] T* __restrict kept) {
  for (int x = 0; x < n; ++x) {
    const T curved = laplacian(now + x, stride);
    if constexpr (keep_laplacian) kept[x] = curved;
    const T keep = tapered ? keep_row * keep_column[x] : T(1);
    before[x] = keep * ((T(2) * now[x] - keep * before[x]) + courant2[x] * curved);
  }
}

// What the wave's curvature at a row contributes to the adjoint: courant2 keep now.
template <bool tapered, class T>
inline void source_row(int n, T keep_row, const T* __restrict keep_column, const T* __restrict courant2,
                       const T* __restrict now, T* __restrict to) {
  for (int x = 0; x < n; ++x) to[x] = courant2[x] * ((tapered ? keep_row * keep_column[x] : T(1)) * now[x]);
}

// Part of a row of the reverse; `curving` is this row of the above, between its neighbours.
template <bool tapered, class T>
inline void reverse_row(int n, T keep_row, const T* __restrict keep_column, const T* __restrict kept,
                        const T* __restrict curving, std::ptrdiff_t stride, const T* __restrict now,
                        T* __restrict later, T* __restrict gradient) {
  for (int x = 0; x < n; ++x) {
    const T curved = laplacian(curving + x, stride);
    const T keep = tapered ? keep_row * keep_column[x] : T(1);
    const T kept_now = keep * now[x];
    gradient[x] += kept_now * kept[x];
    later[x] = (T(2) * kept_now - (keep * keep) * later[x]) + curved;
  }
}

// Models schedule::Stepper. The medium and the shot must outlive it.
template <class T>
class Stepper {
 public:
  Stepper(const Medium<T>& medium, const Shot<T>& shot, tidemark::ThreadPool* pool = nullptr)
      : medium_(medium), shot_(shot), pool_(pool) {}

  void advance(State<T>& state, Steps range) {
    for (Step i = range.begin; i < range.end; ++i) step<false>(state, i, nullptr);
  }

  Record<T> record(State<T>& state, Step i) {
    Record<T> record(cells() + shot_.receivers.size());
    step<true>(state, i, record.data());
    hear(state, record.data() + cells());
    return record;
  }

  void reverse(const Record<T>& record, Adjoint<T>& adjoint, Step i) {
    compare(record.data() + cells(), adjoint, i);
    strips([&](int begin, int end) { reverse_strip(record.data(), adjoint, begin, end); });
    std::swap(adjoint.now, adjoint.later);
  }

  // What the receivers hear in this state.
  void hear(const State<T>& state, T* to) const {
    for (const Cell& at : shot_.receivers) *to++ = state.now.at(at.y, at.x);
  }

 private:
  std::size_t cells() const {
    return static_cast<std::size_t>(medium_.courant2.rows()) *
           static_cast<std::size_t>(medium_.courant2.columns());
  }

  template <class F>
  void strips(const F& f) {
    const int rows = medium_.courant2.rows();
    const auto strip = [&](std::int64_t begin, std::int64_t end) {
      f(static_cast<int>(begin), static_cast<int>(end));
    };
    if (pool_) {
      tidemark::parallel_for(*pool_, rows, strip_rows, strip);
    } else {
      strip(0, rows);
    }
  }

  template <bool keep_laplacian>
  void step(State<T>& state, Step i, T* kept) {
    const std::ptrdiff_t columns = medium_.courant2.columns();
    strips([&](int begin, int end) {
      for (int y = begin; y < end; ++y)
        medium_.parts(y, [&](auto tapered, int x, int x_end) {
          step_row<tapered(), keep_laplacian>(
              x_end - x, keep_row(y), keep_column(x), medium_.courant2.row(y) + x, state.now.row(y) + x,
              state.now.stride(), state.before.row(y) + x, keep_laplacian ? kept + y * columns + x : nullptr);
        });
    });
    std::swap(state.now, state.before);
    state.now.at(shot_.source.y, shot_.source.x) += shot_.wavelet[static_cast<std::size_t>(i)];
  }

  // Adds the misfit of what was heard after step i and its derivative.
  void compare(const T* heard, Adjoint<T>& adjoint, Step i) {
    const T* observed = shot_.observed.data() + static_cast<std::size_t>(i) * shot_.receivers.size();
    for (const Cell& at : shot_.receivers) {
      const T residual = *heard++ - *observed++;
      adjoint.misfit += 0.5 * static_cast<double>(residual) * static_cast<double>(residual);
      adjoint.now.at(at.y, at.x) += residual;
    }
  }

  void reverse_strip(const T* kept, Adjoint<T>& adjoint, int begin, int end) {
    const int columns = medium_.courant2.columns();
    // Rows of courant2 keep now, made a few at a time so that they stay in the nearest cache.
    thread_local Field<T> window;
    if (window.columns() != columns) window = Field<T>(window_rows, columns);
    const auto fill = [&](int from, int to, int top) {
      for (int y = from; y < to; ++y) {
        T* const row = window.row(y - top);
        if (y < 0 || y >= medium_.courant2.rows()) {
          std::fill_n(row, columns, T(0));
        } else {
          medium_.parts(y, [&](auto tapered, int x, int x_end) {
            source_row<tapered()>(x_end - x, keep_row(y), keep_column(x), medium_.courant2.row(y) + x,
                                  adjoint.now.row(y) + x, row + x);
          });
        }
      }
    };
    for (int top = begin; top < end; top += window_rows) {
      const int bottom = std::min(end, top + window_rows);
      if (top == begin) {
        fill(top - halo, top + halo, top);
      } else {
        for (int y = -halo; y < halo; ++y) std::copy_n(window.row(window_rows + y), columns, window.row(y));
      }
      fill(top + halo, bottom + halo, top);
      for (int y = top; y < bottom; ++y)
        medium_.parts(y, [&](auto tapered, int x, int x_end) {
          reverse_row<tapered()>(x_end - x, keep_row(y), keep_column(x),
                                 kept + std::ptrdiff_t(y) * columns + x, window.row(y - top) + x,
                                 window.stride(), adjoint.now.row(y) + x, adjoint.later.row(y) + x,
                                 adjoint.courant2.row(y) + x);
        });
    }
  }

  T keep_row(int y) const { return medium_.keep_row[static_cast<std::size_t>(y)]; }
  const T* keep_column(int x) const { return medium_.keep_column.data() + x; }

  const Medium<T>& medium_;
  const Shot<T>& shot_;
  tidemark::ThreadPool* pool_;
};

}  // namespace wave
