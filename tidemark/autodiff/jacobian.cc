#include "tidemark/autodiff/jacobian.h"

#include <algorithm>
#include <numeric>

#include "tidemark/autodiff/forward.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/autodiff/vmap/map_graph.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {
namespace {

std::int64_t element_total(std::span<const Type> types) {
  std::int64_t count = 0;
  for (const Type& type : types) count += type.count();
  return count;
}

// A direction for each element of each of them: those of one tensor, stacked, are zero in the others' rows. A
// single one is not stacked.
std::vector<Tensor> one_hot_directions(std::span<const Type> types, SourceLine where) {
  const std::int64_t rows = element_total(types);
  std::vector<Tensor> list;
  std::int64_t before = 0;
  for (const Type& type : types) {
    const std::int64_t own = type.count();
    const Tensor unit = eye(own, type.dtype, where);
    const Tensor padded = pad(Operand(unit, where), {before, 0}, {rows - before - own, 0});
    Shape shape = type.shape;
    if (rows != 1) shape.insert(0, rows);
    list.push_back(reshape(Operand(padded, where), shape));
    before += own;
  }
  return list;
}

// A linear function's values along all directions, which stand for its last inputs; the others are the same
// for all of them. `rows` in front of every output, unless there is one.
std::vector<Tensor> along_directions(const Graph& linear, std::vector<Tensor> shared,
                                     std::span<const Tensor> directions, std::int64_t rows,
                                     std::int64_t chunk, SourceLine where) {
  std::vector<int> axes(linear.inputs().size(), -1);
  std::fill(axes.end() - std::ssize(directions), axes.end(), 0);
  const auto with = [&](const auto& part) {
    std::vector<Tensor> inputs = shared;
    for (const Tensor& direction : directions) inputs.push_back(part(direction));
    return inputs;
  };
  if (rows == 1) return apply(linear, with([](const Tensor& only) { return only; }), where);
  if (chunk <= 0 || chunk >= rows)
    return apply(vmap_graph(linear, axes, rows), with([](const Tensor& all) { return all; }), where);

  // A loop over chunks, and what is left.
  const std::int64_t trips = rows / chunk, looped = trips * chunk;
  const auto slice_rows = [&](const Tensor& all, std::int64_t from, std::int64_t to) {
    Dims start = Dims::filled(all.shape().rank(), 0), limit = all.shape();
    start[0] = from, limit[0] = to;
    return slice(Operand(all, where), start, limit);
  };
  Graph program;
  Builder builder(program);
  builder.set_where(where);
  const Graph body = vmap_graph(linear, axes, chunk);
  // Of a loop, what it scans comes before what it captures.
  const std::vector<Type> types = input_types(body);
  const std::size_t scanned = directions.size(), captured = types.size() - scanned;
  std::vector<Var> operands;
  std::vector<Type> order_types;
  std::vector<std::size_t> order(types.size()), outputs(body.outputs().size());
  std::iota(outputs.begin(), outputs.end(), std::size_t{0});
  std::vector<Var> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    Type type = types[i];
    if (i >= captured) type.shape[0] = looped;
    inputs.push_back(builder.input(type));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::size_t from = i < scanned ? captured + i : i - scanned;
    order[from] = i;
    order_types.push_back(types[from]);
    operands.push_back(i < scanned ? reshape(inputs[from], stacked(trips, types[from]).shape) : inputs[from]);
  }
  std::vector<Graph> regions;
  regions.push_back(regrouped(body, order_types, order, outputs));
  const LoopAttrs attrs{.trips = trips, .scanned = static_cast<std::int64_t>(scanned)};
  for (const Var& found : builder.call(op::loop, operands, pack(attrs), std::move(regions))) {
    Shape shape = found.shape();
    shape[1] *= trips;
    shape.erase(0);
    program.add_output(reshape(found, shape).id());
  }
  std::vector<Tensor> found =
      apply(program, with([&](const Tensor& all) { return slice_rows(all, 0, looped); }), where);
  if (looped == rows) return found;
  const std::vector<Tensor> rest =
      apply(vmap_graph(linear, axes, rows - looped),
            with([&](const Tensor& all) { return slice_rows(all, looped, rows); }), where);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = concat({found[i], rest[i]}, 0, where);
  return found;
}

struct JacobianTypes {
  std::vector<Type> x, y;      // all
  std::vector<Type> moving_y;  // of floating-point results
};

Shape joined_shape(const Shape& first, const Shape& second) {
  Shape shape = first;
  for (std::int64_t size : second) shape.push_back(size);
  return shape;
}

void require_jacobian(const JacobianTypes& types, SourceLine where) {
  if (types.y.empty()) {
    fail(ErrorCode::structure_mismatch,
         {.what = "jacobian of a function that returns no tensor", .where = where});
  }
  for (const Type& x : types.x) {
    if (!is_float(x.dtype)) {
      fail(ErrorCode::not_differentiable,
           {.what = fmt::format("the derivative with respect to {} does not exist", to_string(x)),
            .expected = "floating-point tensors in the first argument",
            .where = where,
            .help = "pass integers and masks in another argument"});
    }
    for (const Type& y : types.y) {
      if (x.rank() + y.rank() <= max_rank) continue;
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("a jacobian of {} by {} has more than {} dimensions", to_string(y),
                                to_string(x), max_rank),
            .where = where,
            .help = "reshape the argument and the result to fewer dimensions"});
    }
  }
}

// Of each floating-point result, its derivatives by each argument: (elements of y, elements of x).
std::vector<std::vector<Tensor>> by_rows(const Graph& graph, std::span<const Tensor> inputs,
                                         const JacobianTypes& types, const std::vector<bool>& wrt,
                                         std::int64_t chunk, SourceLine where) {
  const Pulled pulled = apply_forward(graph, inputs, wrt, where);
  const std::int64_t rows = element_total(types.moving_y);
  const std::vector<Tensor> found =
      along_directions(pulled.split->backward, pulled.residuals, one_hot_directions(types.moving_y, where),
                       rows, chunk, where);
  std::vector<std::vector<Tensor>> matrices;
  std::int64_t before = 0;
  for (const Type& y : types.moving_y) {
    std::vector<Tensor> row;
    for (std::size_t i = 0; i < types.x.size(); ++i) {
      const std::int64_t width = types.x[i].count();
      const Tensor flat = reshape(Operand(found[i], where), {rows, width});
      row.push_back(slice(Operand(flat, where), {before, 0}, {before + y.count(), width}));
    }
    matrices.push_back(std::move(row));
    before += y.count();
  }
  return matrices;
}

std::vector<std::vector<Tensor>> by_columns(const Graph& graph, std::span<const Tensor> inputs,
                                            const JacobianTypes& types, std::span<const bool> wrt,
                                            std::int64_t chunk, SourceLine where) {
  const Graph both = jvp_graph(graph, wrt);
  std::vector<std::size_t> order(both.inputs().size()), tangents(types.moving_y.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::iota(tangents.begin(), tangents.end(), types.y.size());
  const Graph pushed = regrouped(both, input_types(both), order, tangents);
  const std::int64_t columns = element_total(types.x);
  const std::vector<Tensor> found = along_directions(
      pushed, {inputs.begin(), inputs.end()}, one_hot_directions(types.x, where), columns, chunk, where);
  std::vector<std::vector<Tensor>> matrices;
  for (std::size_t r = 0; r < types.moving_y.size(); ++r) {
    const std::int64_t height = types.moving_y[r].count();
    const Tensor flat = reshape(Operand(found[r], where), {columns, height});
    std::vector<Tensor> row;
    std::int64_t before = 0;
    for (const Type& x : types.x) {
      const Tensor lines = slice(Operand(flat, where), {before, 0}, {before + x.count(), height});
      row.push_back(transpose(Operand(lines, where)));
      before += x.count();
    }
    matrices.push_back(std::move(row));
  }
  return matrices;
}

}  // namespace

std::vector<Tensor> jacobian_of(const Graph& graph, std::span<const Tensor> inputs, std::size_t arguments,
                                const JacobianOptions& options, SourceLine where) {
  if (options.chunk < 0) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("jacobian in chunks of {}", options.chunk),
                                    .expected = "0 or more",
                                    .where = where});
  }
  JacobianTypes types;
  for (const Tensor& x : inputs.first(arguments)) types.x.push_back(x.type());
  for (ValueId v : graph.outputs()) {
    types.y.push_back(graph.type(v));
    if (is_float(types.y.back().dtype)) types.moving_y.push_back(types.y.back());
  }
  require_jacobian(types, where);
  const bool fewer_rows = element_total(types.moving_y) <= element_total(types.x);
  const bool reverse =
      options.mode == JacobianMode::automatic ? fewer_rows : options.mode == JacobianMode::reverse;
  std::vector<bool> wrt(inputs.size(), false);
  std::fill_n(wrt.begin(), arguments, true);
  const std::unique_ptr<bool[]> bits(new bool[wrt.size()]);
  std::ranges::copy(wrt, bits.get());
  const std::vector<std::vector<Tensor>> matrices =
      reverse ? by_rows(graph, inputs, types, wrt, options.chunk, where)
              : by_columns(graph, inputs, types, {bits.get(), wrt.size()}, options.chunk, where);
  std::vector<Tensor> result;
  std::size_t next = 0;
  for (const Type& y : types.y) {
    const bool moves = is_float(y.dtype);
    for (std::size_t i = 0; i < arguments; ++i) {
      const Type& x = types.x[i];
      const Shape shape = joined_shape(y.shape, x.shape);
      // Integers have no slope. Derivatives have the dtype of what they are by, as gradients have.
      result.push_back(moves
                           ? cast(Operand(reshape(Operand(matrices[next][i], where), shape), where), x.dtype)
                           : zeros(shape, x.dtype, where));
    }
    next += moves;
  }
  return result;
}

}  // namespace tidemark::detail
