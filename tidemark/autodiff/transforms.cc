#include "tidemark/autodiff/transforms.h"

#include "tidemark/autodiff/forward.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {
namespace {

// std::vector<bool> has no span; graphs take spans of bool.
struct Mask {
  explicit Mask(const std::vector<bool>& from) : size(from.size()), bits(new bool[from.size()]) {
    std::copy(from.begin(), from.end(), bits.get());
  }
  operator std::span<const bool>() const { return {bits.get(), size}; }  // NOLINT: implicit by design
  std::size_t size;
  std::unique_ptr<bool[]> bits;
};

void check_differentiable(const Graph& graph, const std::vector<bool>& wrt, SourceLine where) {
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    const Value& input = graph[graph.inputs()[i].value];
    if (!wrt[i] || is_float(input.type.dtype)) continue;
    fail(ErrorCode::not_differentiable,
         {.what = fmt::format("the gradient with respect to {} of type {} does not exist", input.name,
                              to_string(input.type)),
          .expected = "floating-point tensors",
          .where = where,
          .help = "pass integers and masks in another argument, or choose arguments with grad<I…>(f)"});
  }
}

}  // namespace

std::vector<Tensor> apply_gradient(const Graph& graph, std::span<const Tensor> inputs,
                                   const std::vector<bool>& wrt, SourceLine where) {
  check_differentiable(graph, wrt, where);
  const Type loss = graph.outputs().empty() ? Type{} : graph.type(graph.outputs()[0]);
  if (graph.outputs().empty() || loss.rank() != 0 || !is_float(loss.dtype)) {
    fail(ErrorCode::loss_not_scalar,
         {.what = graph.outputs().empty()
                      ? "a gradient was asked of a function that returns no tensor"
                      : fmt::format("a gradient was asked of a function that returns {}", to_string(loss)),
          .expected = "a floating-point tensor of rank 0",
          .where = where,
          .help = "reduce it with sum() or mean(), or use vjp or jacobian"});
  }
  return apply(gradient_graph(graph, Mask(wrt)), inputs, where);
}

void check_seeds(std::span<const Tensor> seeds, std::span<const Tensor> like, std::string_view what,
                 SourceLine where) {
  bool same = seeds.size() == like.size();
  for (std::size_t i = 0; same && i < seeds.size(); ++i) same = seeds[i].type() == like[i].type();
  if (same) return;
  std::string expected, given;
  for (const Tensor& t : like) expected += (expected.empty() ? "" : ", ") + to_string(t.type());
  for (const Tensor& t : seeds) given += (given.empty() ? "" : ", ") + to_string(t.type());
  fail(ErrorCode::structure_mismatch,
       {.what = fmt::format("{} of types {}", what, given), .expected = expected, .where = where});
}

std::vector<Tensor> apply_jvp(const Graph& graph, std::span<const Tensor> inputs, std::size_t arguments,
                              std::span<const Tensor> tangents, SourceLine where) {
  std::vector<bool> wrt(inputs.size(), false);
  std::fill_n(wrt.begin(), arguments, true);
  check_differentiable(graph, wrt, where);
  check_seeds(tangents, inputs.first(arguments), "tangents", where);
  std::vector<Tensor> all_inputs(inputs.begin(), inputs.end());
  all_inputs.insert(all_inputs.end(), tangents.begin(), tangents.end());
  const std::vector<Tensor> outputs = apply(jvp_graph(graph, Mask(wrt)), all_inputs, where);
  // Integer outputs have no tangent; give zeros so that the two trees match.
  std::vector<Tensor> result(outputs.begin(),
                             outputs.begin() + static_cast<std::ptrdiff_t>(graph.outputs().size()));
  std::size_t next = result.size();
  for (ValueId v : graph.outputs()) {
    const Type& type = graph.type(v);
    result.push_back(is_float(type.dtype) ? outputs[next++] : zeros(type.shape, type.dtype, where));
  }
  return result;
}

Pulled apply_forward(const Graph& graph, std::span<const Tensor> inputs, const std::vector<bool>& wrt,
                     SourceLine where) {
  check_differentiable(graph, wrt, where);
  Pulled pulled;
  pulled.split = std::make_shared<const SplitVjp>(split_vjp(graph, Mask(wrt)));
  pulled.outputs = apply(pulled.split->forward, inputs, where);
  pulled.residuals.assign(pulled.outputs.begin() + static_cast<std::ptrdiff_t>(pulled.split->outputs),
                          pulled.outputs.end());
  pulled.outputs.resize(pulled.split->outputs);
  return pulled;
}

std::vector<Tensor> apply_backward(const Pulled& pulled, std::span<const Tensor> seeds, SourceLine where) {
  check_seeds(seeds, pulled.outputs, "seeds", where);
  std::vector<Tensor> inputs = pulled.residuals;
  for (const Tensor& seed : seeds) {
    if (is_float(seed.dtype())) inputs.push_back(seed);
  }
  return apply(pulled.split->backward, inputs, where);
}

}  // namespace tidemark::detail
