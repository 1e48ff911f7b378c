#include "tidemark/trace/array_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tidemark/base/bounded.h"
#include "tidemark/ir/limits.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/axes.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using Parts = std::span<const Var>;

// The sizes around an axis, as three dimensions: what comes before, the axis, what comes after.
struct AroundAxis {
  AroundAxis(const Shape& shape, int axis) : size(shape[axis]) {
    for (int i = 0; i < axis; ++i) before *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) after *= shape[i];
  }
  std::int64_t before = 1, size, after = 1;
};

void require_times(const Operand& x, std::int64_t times, const char* name) {
  if (times >= 0) return;
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("{}: {} times", name, times), .expected = "0 or more", .where = x.where()});
}

Shape lengthened(Shape shape, int axis, std::int64_t times) {
  shape[axis] = bounded_product(shape[axis], times);
  return shape;
}

Var tiled(const Var& x, int axis, std::int64_t times) {
  if (times == 1) return x;
  const AroundAxis d(x.shape(), axis);
  const Var raised = reshape(x, {d.before, 1, d.size * d.after});
  return reshape(broadcast(raised, {d.before, times, d.size * d.after}), lengthened(x.shape(), axis, times));
}

Var interleaved(const Var& x, int axis, std::int64_t times) {
  const AroundAxis d(x.shape(), axis);
  const Var raised = reshape(x, {d.before * d.size, 1, d.after});
  return reshape(broadcast(raised, {d.before * d.size, times, d.after}), lengthened(x.shape(), axis, times));
}

Var led_by_ones(const Var& x, int rank) {
  Shape shape = x.shape();
  while (shape.rank() < rank) shape.insert(0, 1);
  return reshape(x, shape);
}

void require_rank(const Operand& x, int rank, const char* name) {
  if (x.tensor().rank() == rank) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("{}: an operand of shape {}", name, to_string(x.tensor().shape())),
        .expected = rank == 1 ? "one dimension" : fmt::format("{} dimensions", rank),
        .where = x.where()});
}

void require_matrices(const Operand& x, const char* name) {
  if (x.tensor().rank() >= 2) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("{} of a tensor of shape {}", name, to_string(x.tensor().shape())),
        .expected = "at least two dimensions",
        .where = x.where()});
}

// In rows laid end to end, a diagonal is every (columns + 1)-th element.
Var diagonal_of(const Var& x, std::int64_t offset) {
  Shape flat = x.shape();
  const int rank = flat.rank();
  const std::int64_t rows = flat[rank - 2], columns = flat[rank - 1];
  const std::int64_t bounded = std::clamp(offset, -rows, columns);
  const std::int64_t down = std::max<std::int64_t>(-bounded, 0), right = std::max<std::int64_t>(bounded, 0);
  const std::int64_t count = std::min(rows - down, columns - right);
  flat.erase(rank - 1);
  flat[rank - 2] = rows * columns;
  const std::int64_t start = count == 0 ? 0 : down * columns + right;
  const std::int64_t limit = count == 0 ? 0 : start + (count - 1) * (columns + 1) + 1;
  return slice_axis(reshape(x, flat), rank - 2, start, limit, columns + 1);
}

// The same the other way: as many zeros between the elements as a row has.
Var diagonal_matrix(const Var& x, std::int64_t offset) {
  const std::int64_t n = x.shape()[0], size = n + std::abs(offset);
  if (n == 0) return zeros(x.builder(), {x.dtype(), {size, size}});
  const std::int64_t start = offset < 0 ? -offset * size : offset;
  const std::int64_t end = start + (n - 1) * (size + 1) + 1;
  const Var flat = pad(x, constant_like(x, 0), {start}, {size * size - end}, {size});
  return reshape(flat, {size, size});
}

}  // namespace

Tensor roll(const Operand& x, std::int64_t shift, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x}, [&](Builder&, Parts v) {
    const std::int64_t n = v[0].shape()[at];
    const std::int64_t moved = n == 0 ? 0 : ((shift % n) + n) % n;
    if (moved == 0) return v[0];
    const Var last = slice_axis(v[0], at, n - moved, n), first = slice_axis(v[0], at, 0, n - moved);
    const Var both[] = {last, first};
    return concat(both, at);
  });
}

Tensor tile(const Operand& x, const Dims& times) {
  for (std::int64_t count : times) require_times(x, count, "tile");
  return build({x}, [&](Builder&, Parts v) {
    Var y = led_by_ones(v[0], times.rank());
    const int rank = y.shape().rank();
    for (int i = 0; i < times.rank(); ++i) y = tiled(y, rank - times.rank() + i, times[i]);
    return y;
  });
}

Tensor repeat_interleave(const Operand& x, std::int64_t times, int axis) {
  const int at = absolute_axis(x, axis);
  require_times(x, times, "repeat_interleave");
  return build({x}, [&](Builder&, Parts v) { return interleaved(v[0], at, times); });
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, SourceLine where) {
  std::vector<Operand> operands;
  Shape shape;
  for (const Tensor& vector : vectors) {
    operands.emplace_back(vector, where);
    require_rank(operands.back(), 1, "meshgrid");
    shape.push_back(vector.shape()[0]);
  }
  return build_all(operands, where, [&](Builder&, Parts v) {
    std::vector<Var> grids;
    for (int i = 0; i < shape.rank(); ++i) {
      Shape one = Shape::filled(shape.rank(), 1);
      one[i] = shape[i];
      grids.push_back(broadcast(reshape(v[static_cast<std::size_t>(i)], one), shape));
    }
    return grids;
  });
}

Tensor diagonal(const Operand& x, std::int64_t offset) {
  require_matrices(x, "diagonal");
  return build({x}, [&](Builder&, Parts v) { return diagonal_of(v[0], offset); });
}
Tensor trace(const Operand& x, std::int64_t offset) {
  require_matrices(x, "trace");
  return build({x}, [&](Builder&, Parts v) {
    const Var elements = diagonal_of(v[0], offset);
    return reduce_sum(elements, {elements.shape().rank() - 1});
  });
}
Tensor diag(const Operand& x, std::int64_t offset) {
  const int rank = x.tensor().rank();
  if (rank != 1 && rank != 2) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("diag of a tensor of shape {}", to_string(x.tensor().shape())),
          .expected = "a vector or a matrix",
          .where = x.where(),
          .help = "diagonal takes batches of matrices"});
  }
  if (rank == 1) {
    constexpr std::int64_t far = std::int64_t{1} << 60;  // beyond every limit, and safe to add to
    const std::int64_t size = x.tensor().count() + std::abs(std::clamp(offset, -far, far));
    require_within_limits({x.tensor().dtype(), {size, size}}, "", x.where());
  }
  return build({x}, [&](Builder&, Parts v) {
    return rank == 2 ? diagonal_of(v[0], offset) : diagonal_matrix(v[0], offset);
  });
}

Tensor outer(const Operand& x, const Operand& y) {
  require_rank(x, 1, "outer");
  require_rank(y, 1, "outer");
  return build({x, y}, [](Builder&, Parts v) { return mul(expand_dims(v[0], 1), v[1]); });
}

Tensor kron(const Operand& x, const Operand& y) {
  const int rank = std::max(x.tensor().rank(), y.tensor().rank());
  if (2 * rank > max_rank) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("kron of tensors of shapes {} and {}", to_string(x.tensor().shape()),
                              to_string(y.tensor().shape())),
          .expected = fmt::format("at most {} dimensions", max_rank / 2),
          .where = x.where()});
  }
  return build({x, y}, [&](Builder&, Parts v) {
    const Var a = led_by_ones(v[0], rank), b = led_by_ones(v[1], rank);
    Shape left, right, result;
    for (int i = 0; i < rank; ++i) {
      left.push_back(a.shape()[i]), left.push_back(1);
      right.push_back(1), right.push_back(b.shape()[i]);
      result.push_back(bounded_product(a.shape()[i], b.shape()[i]));
    }
    const Var apart = reshape(a, left);
    return reshape(mul(apart, reshape(b, right)), result);
  });
}

Tensor masked_fill(const Operand& x, const Operand& mask, const Operand& value) {
  return build({x, mask, value}, [](Builder&, Parts v) { return select(v[1], v[2], v[0]); });
}

Tensor index_add(const Operand& x, int axis, const Operand& indices, const Operand& updates) {
  const int at = absolute_axis(x, axis);
  require_rank(indices, 1, "index_add");
  return build({x, indices, updates}, [&](Builder&, Parts v) {
    Shape shape = v[0].shape();
    shape[at] = v[1].shape()[0];
    return add(v[0], take_add(broadcast(v[2], shape), v[1], at, v[0].shape()[at]));
  });
}

}  // namespace tidemark
