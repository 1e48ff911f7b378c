#include "tidemark/opt/fp8_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "tidemark/ir/builder.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

constexpr std::int64_t multiple = 16;  // of sizes, for products of codes
const std::string format = "e4m3";

// An operand as a matrix: its first `rows` dimensions by the others, of which the summed ones come last, or
// first, and then it is transposed.
struct Matrix {
  std::int64_t rows = 0;
  bool transposed = false;
  std::int64_t free = 1, summed = 1;  // elements
};

std::optional<Matrix> matrix_of(const Shape& shape, const Dims& summed) {
  const int rank = shape.rank(), count = summed.rank();
  const auto is_run_from = [&](int first) {
    for (int i = 0; i < count; ++i) {
      if (summed[i] != first + i) return false;
    }
    return true;
  };
  Matrix matrix;
  if (is_run_from(rank - count)) {
    matrix.rows = rank - count;
  } else if (is_run_from(0)) {
    matrix.rows = count, matrix.transposed = true;
  } else {
    return std::nullopt;
  }
  for (int d = 0; d < rank; ++d) {
    ((d >= matrix.rows) != matrix.transposed ? matrix.summed : matrix.free) *= shape[d];
  }
  return matrix;
}

class Fp8Writer {
 public:
  Fp8Writer(const Graph& graph, const KnownOps& ops, const Target& target)
      : graph_(graph),
        ops_(ops),
        target_(target),
        rewriter_(graph, [&](const Graph& region) { return fp8_products(region, ops, target); }),
        builder_(rewriter_.target()) {}

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      const std::optional<std::array<Matrix, 2>> matrices = matrices_of(node);
      if (!matrices || !is_faster(node, *matrices)) {
        rewriter_.copy(NodeId(n));
        continue;
      }
      builder_.set_origin(node);
      write(node, *matrices);
    }
    return rewriter_.finish();
  }

 private:
  std::optional<std::array<Matrix, 2>> matrices_of(const Node& node) const {
    if (node.op != ops_.contract || !attribute<Dims>(node, "lhs_batch").empty()) return std::nullopt;
    const Type &lhs = graph_.type(node.operands[0]), &rhs = graph_.type(node.operands[1]);
    if (lhs.dtype != DType::bf16 && lhs.dtype != DType::f16) return std::nullopt;
    const auto left = matrix_of(lhs.shape, attribute<Dims>(node, "lhs_contract"));
    const auto right = matrix_of(rhs.shape, attribute<Dims>(node, "rhs_contract"));
    if (!left || !right) return std::nullopt;
    for (const std::int64_t size : {left->free, right->free, left->summed}) {
      if (size == 0 || size % multiple != 0) return std::nullopt;
    }
    return {{*left, *right}};
  }

  double seconds(const Op* op, const std::vector<Type>& in, const Attrs& attrs) const {
    Call call{.op = op, .in = in, .attrs = &attrs};
    const std::vector<Type> out = op->infer(call);
    call.out = out;
    return target_.fp8_seconds(call);
  }
  Attrs scale_attrs() const { return attrs_with(*ops_.fp8_scale, {{"format", format}}); }
  Attrs codes_attrs(const Matrix& matrix) const {
    return attrs_with(*ops_.fp8_codes,
                      {{"format", format}, {"rows", matrix.rows}, {"transposed", matrix.transposed}});
  }
  Attrs product_attrs(const Type& result) const {
    return attrs_with(
        *ops_.fp8_product,
        {{"lhs", format}, {"rhs", format}, {"dtype", result.dtype}, {"shape", Dims(result.shape)}});
  }

  // What is added plays no part: it is another matter at some budgets.
  bool is_faster(const Node& node, std::span<const Matrix> matrices) const {
    const Type scale{DType::f32, {}};
    double converting = 0;
    std::vector<Type> plain, codes;
    for (std::size_t i = 0; i < 2; ++i) {
      const Type& type = plain.emplace_back(graph_.type(node.operands[i]));
      codes.push_back({DType::u8, {matrices[i].free, matrices[i].summed}});
      converting += seconds(ops_.fp8_scale, {type}, scale_attrs()) / 2 +
                    seconds(ops_.fp8_codes, {type, scale}, codes_attrs(matrices[i]));
    }
    const double now = seconds(ops_.contract, plain, node.attrs);
    const Attrs attrs = product_attrs(graph_.type(node.results[0]));
    const double then = seconds(ops_.fp8_product, {codes[0], codes[1], scale, scale}, attrs);
    return then + converting < now;
  }

  ValueId add(const Op* op, const std::vector<ValueId>& operands, Attrs attrs) {
    std::vector<Var> vars;
    for (const ValueId v : operands) vars.emplace_back(builder_, v);
    return ids_of(builder_.call(*op, vars, std::move(attrs))).front();
  }
  ValueId scale_of(ValueId v) {
    ValueId& made = scales_[v.index];
    if (!made.valid()) made = add(ops_.fp8_scale, {rewriter_.image(v)}, scale_attrs());
    return made;
  }
  ValueId codes_of(ValueId v, const Matrix& matrix) {
    const ValueId scale = scale_of(v);
    ValueId& made = codes_[{v.index, matrix.rows, matrix.transposed}];
    if (!made.valid()) made = add(ops_.fp8_codes, {rewriter_.image(v), scale}, codes_attrs(matrix));
    return made;
  }
  void write(const Node& node, std::span<const Matrix> matrices) {
    const ValueId lhs = codes_of(node.operands[0], matrices[0]),
                  rhs = codes_of(node.operands[1], matrices[1]);
    std::vector<ValueId> operands = {lhs, rhs, scale_of(node.operands[0]), scale_of(node.operands[1])};
    if (node.operands.size() == 3) operands.push_back(rewriter_.image(node.operands[2]));
    rewriter_.map(node.results[0],
                  add(ops_.fp8_product, operands, product_attrs(graph_.type(node.results[0]))));
  }

  const Graph& graph_;
  const KnownOps& ops_;
  const Target& target_;
  Rewriter rewriter_;
  Builder builder_;
  std::map<std::uint32_t, ValueId> scales_;  // by the value of the source
  std::map<std::tuple<std::uint32_t, std::int64_t, bool>, ValueId> codes_;
};

}  // namespace

Graph fp8_products(const Graph& graph, const KnownOps& ops, const Target& target) {
  if (!target.fp8_seconds || !ops.contract || !ops.fp8_product) return graph;
  return Fp8Writer(graph, ops, target).run();
}

}  // namespace tidemark
