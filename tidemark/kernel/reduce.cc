#include "tidemark/kernel/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/kernel/fused_tiles.h"
#include "tidemark/kernel/reduce_block.h"
#include "tidemark/kernel/reduce_order.h"

namespace tidemark {
namespace {

constexpr std::int64_t strip_width = 512;  // results computed side by side: half a page per row
constexpr std::int64_t task_elements = std::int64_t{1} << 15;

// n elements `step` apart as compute values: where they are if possible, else in `buffer`.
template <class T, class C>
const C* load(const T* from, std::int64_t step, std::int64_t n, C* buffer) {
  if (step == 1) {
    if constexpr (std::is_same_v<T, C>) return from;
    if constexpr (is_16_bit_float<T>) {
      widen_row(from, buffer, n);
      return buffer;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) buffer[i] = static_cast<C>(from[i * step]);
  return buffer;
}

// Where elements come from: a tensor in memory, or the tiles of a fused program, which makes every element as
// the reduction asks for it. Offsets are in elements; a task has a source of its own.
template <class T>
class InMemory {
 public:
  using Origin = TensorRef;
  static constexpr bool addressable = true;
  explicit InMemory(const TensorRef& from) : data_(from.as<T>()) {}
  const T* at(std::int64_t offset) const { return data_ + offset; }
  const T* row(std::int64_t offset, std::int64_t) const { return at(offset); }

 private:
  const T* data_;
};
template <class T>
class Made {
 public:
  struct Origin {
    const FusedProgram* program;
    const KernelArgs* args;
  };
  static constexpr bool addressable = false;
  explicit Made(const Origin& origin) : tiles_(*origin.program, *origin.args) {}
  const T* row(std::int64_t offset, std::int64_t n) {
    return reinterpret_cast<const T*>(tiles_.make(offset, n, reinterpret_cast<std::byte*>(buffer_)));
  }

 private:
  FusedTiles tiles_;
  alignas(64) T buffer_[fold_block];
};

template <class T, class Source>
class Reducer {
  using C = fold_compute_t<T>;
  using A = fold_total_t<T>;

 public:
  // `from`: shape and strides of what the source has.
  Reducer(Reduction reduction, const TensorRef& from, const Dims& axes, const TensorRef& to,
          const typename Source::Origin& origin)
      : reduction_(reduction), order_(from.shape, axes), origin_(origin), to_(to.as<T>()) {
    int last = from.shape.rank() - 1;  // the innermost dimension of the results
    while (last >= 0 && (order_.reduced[last] || from.shape[last] == 1)) --last;
    for (int i = 0; i < from.shape.rank(); ++i) {
      if (order_.reduced[i]) (i < order_.first_inner ? outer_ : inner_).push(from.shape[i], from.strides[i]);
    }
    const bool side_by_side = last >= 0 && from.strides[last] == 1 && from.shape[last] >= 8 &&
                              !(inner_.rank == 1 && inner_.step[0] == 1);
    for (int i = 0; i < from.shape.rank(); ++i) {
      if (!order_.reduced[i] && !(side_by_side && i == last)) kept_.push(from.shape[i], from.strides[i]);
    }
    columns_ = side_by_side ? from.shape[last] : 1;
    strips_per_row_ = (columns_ + strip_width - 1) / strip_width;
    strips_ = kept_.count * strips_per_row_;
  }

  void run(std::byte* scratch, ThreadPool& pool) const {
    if (order_.results == 0) return;
    if (order_.may_share_chunks() && strips_ < 64) {
      share_chunks(scratch, pool);
    } else {
      const std::int64_t work =
          std::max<std::int64_t>(1, order_.outer * order_.inner * std::min(columns_, strip_width));
      const std::int64_t grain = std::max<std::int64_t>(1, task_elements / work);
      parallel_for(pool, strips_, grain, [&](std::int64_t begin, std::int64_t end) {
        Source source(origin_);
        for (std::int64_t s = begin; s < end; ++s) {
          if (columns_ == 1) {
            whole_strip<1>(source, strip(s));
          } else {
            whole_strip<strip_width>(source, strip(s));
          }
        }
      });
    }
  }

 private:
  // Results [first, first + width): elements of one column of work.
  struct Strip {
    std::int64_t from;  // offset of its first element
    std::int64_t first, width;
  };
  enum class Transform : std::uint8_t {
    plain,
    square,
    exponential
  };  // what a pass does to an element before folding it
  struct Pass {
    Fold fold;
    Transform transform = Transform::plain;
  };

  Strip strip(std::int64_t s) const {
    const std::int64_t row = s / strips_per_row_, column = s % strips_per_row_ * strip_width;
    return {kept_.offset(row) + column, row * columns_ + column, std::min(strip_width, columns_ - column)};
  }

  int passes() const { return reduction_ == Reduction::logsumexp || reduction_ == Reduction::var ? 2 : 1; }
  Pass pass(int number) const {
    switch (reduction_) {
      case Reduction::max:
        return {Fold::max};
      case Reduction::min:
        return {Fold::min};
      case Reduction::prod:
        return {Fold::prod};
      case Reduction::logsumexp:
        return number == 0 ? Pass{Fold::max} : Pass{Fold::sum, Transform::exponential};
      case Reduction::var:
        return number == 0 ? Pass{Fold::sum} : Pass{Fold::sum, Transform::square};
      case Reduction::sum:
      case Reduction::mean:
        break;
    }
    return {Fold::sum};
  }

  // What the second pass subtracts from every element, from the total of the first.
  C shift_from(A total) const {
    if (reduction_ == Reduction::var)
      return static_cast<C>(total / static_cast<A>(order_.outer * order_.inner));
    return std::abs(static_cast<double>(total)) <= std::numeric_limits<double>::max() ? static_cast<C>(total)
                                                                                      : C(0);
  }

  T finish(A first, A total) const {
    const auto count = static_cast<double>(order_.outer * order_.inner);
    double value = static_cast<double>(total);
    if constexpr (std::is_integral_v<C>) {
      return element_of_total<T>(total);
    } else {
      if (reduction_ == Reduction::mean || reduction_ == Reduction::var) value /= count;
      if (reduction_ == Reduction::logsumexp) {
        const bool finite = std::abs(first) <= std::numeric_limits<double>::max();
        value = finite ? first + std::log(total) : static_cast<double>(first);
      }
      return element_of_total<T>(value);
    }
  }

  static void apply(Transform transform, C* x, std::int64_t n) {
    if constexpr (!std::is_integral_v<C>) {
      if (transform == Transform::exponential) return exp_row(x, n);
    }
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * x[i];
  }

  // Folds one block, elements [k, k + n) of the inner walk of each result, into totals.
  void block_of_one(Source& source, std::int64_t base, std::int64_t k, std::int64_t n, Pass pass, C shift,
                    A& total) const {
    alignas(64) C buffer[fold_block];
    const C* x = buffer;
    if constexpr (!Source::addressable) {
      x = load(source.row(base + k, n), 1, n, buffer);
    } else if (inner_.rank <= 1) {
      const std::int64_t step = inner_.rank == 0 ? 1 : inner_.step[0];
      x = load(source.at(base + k * step), step, n, buffer);
    } else {
      for (std::int64_t i = 0; i < n; ++i)
        buffer[i] = static_cast<C>(*source.at(base + inner_.offset(k + i)));
    }
    if (pass.transform != Transform::plain) {
      for (std::int64_t i = 0; i < n; ++i) buffer[i] = x[i] - shift;
      apply(pass.transform, buffer, n);
      x = buffer;
    }
    total = fold_two(pass.fold, total, static_cast<A>(fold_run(pass.fold, x, n)));
  }

  void block_of_many(Source& source, std::int64_t base, std::int64_t width, std::int64_t k, std::int64_t n,
                     Pass pass, const C* shift, A* totals) const {
    alignas(64) C lanes[fold_lanes * strip_width], buffer[strip_width];
    std::fill_n(lanes, fold_lanes * strip_width, fold_identity<C>(pass.fold));
    const bool even = inner_.rank == 1;
    for (std::int64_t i = 0; i < n; ++i) {
      const T* row = source.row(base + (even ? (k + i) * inner_.step[0] : inner_.offset(k + i)), width);
      if (Source::addressable && even) {  // rows may be pages apart, where the hardware does not look ahead
        for (std::int64_t c = 0; c < width; c += 64 / std::int64_t{sizeof(T)}) {
          __builtin_prefetch(row + 8 * inner_.step[0] + c, 0, 2);
        }
      }
      const C* x = load(row, 1, width, buffer);
      if (pass.transform != Transform::plain) {
        for (std::int64_t c = 0; c < width; ++c) buffer[c] = x[c] - shift[c];
        apply(pass.transform, buffer, width);
        x = buffer;
      }
      fold_row(pass.fold, lanes + i % fold_lanes * strip_width, x, width);
    }
    for (std::int64_t half = fold_lanes / 2; half > 0; half /= 2) {
      for (std::int64_t l = 0; l < half; ++l) {
        fold_row(pass.fold, lanes + l * strip_width, lanes + (l + half) * strip_width, width);
      }
    }
    for (std::int64_t c = 0; c < width; ++c)
      totals[c] = fold_two(pass.fold, totals[c], static_cast<A>(lanes[c]));
  }

  // The values of one chunk for every result of the strip.
  void chunk(Source& source, const Strip& strip, std::int64_t number, Pass pass, const C* shift,
             A* totals) const {
    std::fill_n(totals, strip.width, fold_identity<A>(pass.fold));
    const std::int64_t outer_begin = number / order_.inner_chunks * order_.outer_per_chunk;
    const std::int64_t outer_end = std::min(order_.outer, outer_begin + order_.outer_per_chunk);
    const std::int64_t inner_begin = number % order_.inner_chunks * order_.chunk_elements;
    const std::int64_t inner_end = std::min(order_.inner, inner_begin + order_.chunk_elements);
    for (std::int64_t o = outer_begin; o < outer_end; ++o) {
      const std::int64_t base = strip.from + outer_.offset(o);
      for (std::int64_t k = inner_begin; k < inner_end; k += fold_block) {
        const std::int64_t n = std::min(fold_block, inner_end - k);
        if (columns_ == 1) {
          block_of_one(source, base, k, n, pass, shift[0], totals[0]);
        } else {
          block_of_many(source, base, strip.width, k, n, pass, shift, totals);
        }
      }
    }
  }

  template <std::int64_t most>
  void whole_strip(Source& source, const Strip& strip) const {
    C shift[most] = {};
    A first[most] = {}, totals[most], part[most];
    for (int p = 0; p < passes(); ++p) {
      std::fill_n(totals, strip.width, fold_identity<A>(pass(p).fold));
      for (std::int64_t c = 0; c < order_.chunks; ++c) {
        chunk(source, strip, c, pass(p), shift, part);
        for (std::int64_t i = 0; i < strip.width; ++i) totals[i] = fold_two(pass(p).fold, totals[i], part[i]);
      }
      if (p + 1 < passes()) {
        for (std::int64_t i = 0; i < strip.width; ++i) first[i] = totals[i], shift[i] = shift_from(totals[i]);
      }
    }
    for (std::int64_t i = 0; i < strip.width; ++i) to_[strip.first + i] = finish(first[i], totals[i]);
  }

  // scratch: totals of the first pass (results), then the chunks' parts (chunks × results).
  void share_chunks(std::byte* scratch, ThreadPool& pool) const {
    A* first = reinterpret_cast<A*>(scratch);
    A* parts = first + order_.results;
    for (int p = 0; p < passes(); ++p) {
      pool.run(strips_ * order_.chunks, [&](std::int64_t task) {
        const Strip s = strip(task / order_.chunks);
        const std::int64_t c = task % order_.chunks;
        C shift[strip_width] = {};
        if (p > 0) {
          for (std::int64_t i = 0; i < s.width; ++i) shift[i] = shift_from(first[s.first + i]);
        }
        Source source(origin_);
        chunk(source, s, c, pass(p), shift, parts + c * order_.results + s.first);
      });
      for (std::int64_t r = 0; r < order_.results; ++r) {
        A total = fold_identity<A>(pass(p).fold);
        for (std::int64_t c = 0; c < order_.chunks; ++c) {
          total = fold_two(pass(p).fold, total, parts[c * order_.results + r]);
        }
        if (p + 1 == passes()) {
          to_[r] = finish(first[r], total);
        } else {
          first[r] = total;
        }
      }
    }
  }

  Reduction reduction_;
  ReduceOrder order_;
  typename Source::Origin origin_;
  T* to_;
  JoinedDimensions kept_, outer_, inner_;  // kept_ leaves out the columns of a strip
  std::int64_t columns_ = 1, strips_per_row_ = 1, strips_ = 1;
};

}  // namespace

std::int64_t reduce_scratch(const Shape& shape, const Dims& axes) {
  const ReduceOrder order(shape, axes);
  return order.may_share_chunks() ? (order.chunks + 1) * order.results * 8 : 0;
}

namespace {

// body<T>() for the type that holds elements of `dtype`.
template <class Body>
void with_elements(DType dtype, const Body& body) {
  if (dtype == DType::boolean) return body.template operator()<std::uint8_t>();  // 0 and 1
  dispatch(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) body.template operator()<T>();
  });
}

}  // namespace

void reduce(Reduction reduction, const TensorRef& from, const Dims& axes, const TensorRef& to,
            std::byte* scratch, ThreadPool& pool) {
  with_elements(from.dtype, [&]<class T>() {
    Reducer<T, InMemory<T>>(reduction, from, axes, to, from).run(scratch, pool);
  });
}

void reduce_made(Reduction reduction, const Shape& shape, const Dims& axes, const TensorRef& to,
                 const FusedProgram& program, const KernelArgs& args) {
  const TensorRef from{.dtype = to.dtype, .shape = shape, .strides = dense_strides(shape)};
  with_elements(to.dtype, [&]<class T>() {
    Reducer<T, Made<T>>(reduction, from, axes, to, {&program, &args}).run(args.scratch, *args.pool);
  });
}

bool reduces_in_runs(const Shape& shape, const Dims& axes) {
  constexpr std::int64_t long_run = 32;
  if (element_count(shape) == 0) return false;
  const ReduceOrder order(shape, axes);
  int last = shape.rank() - 1;
  while (last >= 0 && shape[last] == 1) --last;
  if (last < 0) return false;
  return order.reduced[last] ? order.inner >= long_run : shape[last] >= long_run;
}

}  // namespace tidemark
