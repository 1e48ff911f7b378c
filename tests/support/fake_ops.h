// Operations without kernels, for tests of the planner: every fact it reads is an attribute, so that a test
// says what it means. Values are u8 matrices (rows, columns), so that a size in bytes is their product.
#pragma once
#include <utility>
#include <vector>

#include "tidemark/ir/builder.h"
#include "tidemark/ir/target.h"

namespace tidemark::fake {

struct WorkAttrs {
  IntList rows, columns;     // one result each
  std::int64_t scratch = 0;  // bytes
  bool in_place = false;     // any result may overwrite any operand of its type
  bool strided = false;      // takes any strides
  bool pointwise = false;    // may join others in one kernel
  TM_FIELDS(WorkAttrs, rows, columns, scratch, in_place, strided, pointwise)
};
struct WindowAttrs {
  std::int64_t first = 0, last = 0;  // rows
  TM_FIELDS(WindowAttrs, first, last)
};
struct ShapeAttrs {
  std::int64_t rows = 0, columns = 0;
  TM_FIELDS(ShapeAttrs, rows, columns)
};

inline Type matrix(std::int64_t rows, std::int64_t columns) { return {DType::u8, Shape{rows, columns}}; }
inline Strides strides_of(const Call& call, int k) {
  const auto i = static_cast<std::size_t>(k);
  return call.in_strides.empty() ? dense_strides(call.in[i].shape) : call.in_strides[i];
}

namespace detail {
inline std::vector<Type> infer_work(const Call& call) {
  const auto attrs = call.attrs_as<WorkAttrs>();
  std::vector<Type> types;
  for (std::size_t i = 0; i < attrs.rows.size(); ++i)
    types.push_back(matrix(attrs.rows[i], attrs.columns[i]));
  return types;
}
inline bool work_in_place(const Call& call, int r, int k) {
  return call.attrs_as<WorkAttrs>().in_place && call.is_dense_operand(k) &&
         call.in[static_cast<std::size_t>(k)] == call.out[static_cast<std::size_t>(r)];
}
inline bool always(const Call&, int) { return true; }
}  // namespace detail

inline const Op work = {
    .name = "work",
    .kind = OpKind::opaque,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<WorkAttrs>,
    .infer = &detail::infer_work,
};

// As `work`, seen from outside: runs once, in order.
inline const Op effect = {
    .name = "effect",
    .kind = OpKind::opaque,
    .effect = {.domain = "io"},
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<WorkAttrs>,
    .infer = &detail::infer_work,
};

// As `work`, seen elsewhere: may run again, in the same order everywhere.
inline const Op exchange = {
    .name = "exchange",
    .kind = OpKind::opaque,
    .effect = {.domain = "wire", .on_replay = OnReplay::repeat},
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<WorkAttrs>,
    .infer = &detail::infer_work,
};

// Runs its region once: the operands are the region's inputs, the results its outputs.
inline const Op block = {
    .name = "block",
    .kind = OpKind::control,
    .dtypes = any_dtype,
    .results = -1,
    .infer = [](const Call& call) -> std::vector<Type> {
      std::vector<Type> types;
      for (ValueId v : call.regions[0].outputs()) types.push_back(call.regions[0].type(v));
      return types;
    },
};

inline const Op transpose = {
    .name = "transpose",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .infer = [](const Call& call) -> std::vector<Type> {
      return {matrix(call.in[0].shape[1], call.in[0].shape[0])};
    },
    .view = [](const Call& call, int) -> std::optional<ViewSpec> {
      const Strides s = strides_of(call, 0);
      return ViewSpec{.operand = 0, .offset = 0, .strides = {s[1], s[0]}};
    },
};

// Rows [first, last): a view wherever the operand is.
inline const Op window = {
    .name = "window",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<WindowAttrs>,
    .infer = [](const Call& call) -> std::vector<Type> {
      const auto attrs = call.attrs_as<WindowAttrs>();
      return {matrix(attrs.last - attrs.first, call.in[0].shape[1])};
    },
    .view = [](const Call& call, int) -> std::optional<ViewSpec> {
      const Strides s = strides_of(call, 0);
      return ViewSpec{.operand = 0, .offset = call.attrs_as<WindowAttrs>().first * s[0], .strides = s};
    },
};

// The same elements in another shape: a view of what is dense.
inline const Op reshape = {
    .name = "reshape",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<ShapeAttrs>,
    .infer = [](const Call& call) -> std::vector<Type> {
      const auto attrs = call.attrs_as<ShapeAttrs>();
      return {matrix(attrs.rows, attrs.columns)};
    },
    .view = [](const Call& call, int) -> std::optional<ViewSpec> {
      if (!call.is_dense_operand(0)) return std::nullopt;
      return ViewSpec{.operand = 0, .offset = 0, .strides = dense_strides(call.out[0].shape)};
    },
};

// Both halves of the rows, as two results.
inline const Op halves = {
    .name = "halves",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .results = 2,
    .infer = [](const Call& call) -> std::vector<Type> {
      const Shape& s = call.in[0].shape;
      return {matrix(s[0] / 2, s[1]), matrix(s[0] - s[0] / 2, s[1])};
    },
    .view = [](const Call& call, int r) -> std::optional<ViewSpec> {
      const Strides s = strides_of(call, 0);
      return ViewSpec{.operand = 0, .offset = r == 0 ? 0 : call.in[0].shape[0] / 2 * s[0], .strides = s};
    },
};

// How they run; null: the op is not of this page.
inline const ExecutionFacts* facts_of(const Op& op) {
  static constexpr ExecutionFacts works{
      .scratch = [](const Call& call) { return call.attrs_as<WorkAttrs>().scratch; },
      .in_place = &detail::work_in_place,
      .strided = [](const Call& call, int) { return call.attrs_as<WorkAttrs>().strided; },
      .fusion =
          [](const Call& call) {
            return call.attrs_as<WorkAttrs>().pointwise ? Fusion::pointwise : Fusion::none;
          },
  };
  static constexpr ExecutionFacts runs_a_block{.cost = [](const Call& call) -> Cost {
    return call.planned.empty() ? Cost{} : Cost{.flops = call.planned[0].flops, .work = WorkKind::opaque};
  }};
  static constexpr ExecutionFacts moves{.strided = &detail::always};
  if (&op == &work) return &works;
  if (&op == &block) return &runs_a_block;
  for (const Op* movement : {&transpose, &window, &reshape, &halves}) {
    if (&op == movement) return &moves;
  }
  return nullptr;
}

// A graph under construction, with the calls the tests make most.
struct Sketch {
  Graph graph;
  Builder build{graph};

  Sketch() = default;
  Sketch(const Sketch&) = delete;
  Sketch& operator=(const Sketch&) = delete;

  Var input(std::int64_t rows, std::int64_t columns, std::string name = {}, bool donated = false) {
    return {build, graph.add_input(matrix(rows, columns), std::move(name), donated)};
  }
  std::vector<Var> many(const std::vector<Var>& in, const WorkAttrs& attrs, const Op& op = work) {
    return build.call(op, in, pack(attrs));
  }
  Var node(const std::vector<Var>& in, std::int64_t rows, std::int64_t columns = 64,
           std::int64_t scratch = 0) {
    return many(in, {.rows = {rows}, .columns = {columns}, .scratch = scratch}).front();
  }
  // Of the first operand's type, able to overwrite any operand.
  Var over(const std::vector<Var>& in) {
    const Shape& s = in.front().shape();
    return many(in, {.rows = {s[0]}, .columns = {s[1]}, .in_place = true}).front();
  }
  // Takes any strides.
  Var reads(const std::vector<Var>& in, std::int64_t rows, std::int64_t columns = 64) {
    return many(in, {.rows = {rows}, .columns = {columns}, .strided = true}).front();
  }
  // Element by element, operands repeated along dimensions of size 1.
  Var pointwise(const std::vector<Var>& in) {
    std::int64_t rows = 1, columns = 1;
    for (const Var& x : in) rows = std::max(rows, x.shape()[0]), columns = std::max(columns, x.shape()[1]);
    return many(in,
                {.rows = {rows}, .columns = {columns}, .in_place = true, .strided = true, .pointwise = true})
        .front();
  }
  Var inside(const std::vector<Var>& in, Graph region) {
    std::vector<Graph> regions;
    regions.push_back(std::move(region));
    return build.call(block, in, {}, std::move(regions)).front();
  }
  Var transposed(const Var& x) { return build.call1(transpose, {x}); }
  Var rows(const Var& x, std::int64_t first, std::int64_t last) {
    return build.call1(window, {x}, pack(WindowAttrs{first, last}));
  }
  Var reshaped(const Var& x, std::int64_t r, std::int64_t c) {
    return build.call1(reshape, {x}, pack(ShapeAttrs{r, c}));
  }
  void output(const Var& x) { graph.add_output(x.id()); }
};

}  // namespace tidemark::fake
