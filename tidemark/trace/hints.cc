#include "tidemark/trace/hints.h"

#include "tidemark/trace/step_scope.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

// The tensor, after `mark` has seen the value it is in the graph being traced.
template <class Mark>
Tensor marked(const Operand& x, const Mark& mark) {
  if (!current_trace() && !x.is_number()) return x.tensor();
  return build({x}, [&](Builder& builder, std::span<const Var> v) {
    mark(builder.graph(), v[0].id());
    return v[0];
  });
}

Tensor hinted(HintKind kind, const Operand& x, std::string_view format = {}) {
  return marked(x, [&](Graph& graph, ValueId v) {
    graph.add_hint({.kind = kind, .value = v, .where = x.where(), .format = std::string(format)});
  });
}

// Differences are to the same value of the step before.
void require_step(const Operand& x, const std::string& form) {
  if (!x.is_number() && !is_float(x.tensor().dtype())) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("compress: {} of {}", form, to_string(x.tensor().type())),
          .expected = "f32, f64, bf16 or f16",
          .where = x.where(),
          .help = "masks and positions wait in as many bits as they need by themselves"});
  }
  if (detail::StepScope::is_open()) return;
  fail(
      ErrorCode::bad_attribute,
      {.what = fmt::format("compress: {} outside of the body of repeat or scan", form),
       .expected = "a value of a loop's step, which has one before it",
       .where = x.where(),
       .help = fmt::format("{} takes a value by itself, at the same size", form.substr(6, form.size() - 7))});
}

}  // namespace

Tensor keep(const Operand& x) { return hinted(HintKind::keep, x); }
Tensor recompute(const Operand& x) { return hinted(HintKind::recompute, x); }
Tensor compress(const Operand& x, const Form& form) {
  const std::string name = name_of(form);
  if (std::holds_alternative<Delta>(form)) require_step(x, name);
  if (!form_named(name)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("compress: there is no form {}", name),
                                    .expected = "a rank of at least 1, a share above 0 and at most 1",
                                    .where = x.where(),
                                    .help = "codec::low_rank(16) keeps 16 directions, codec::sparse(0.5) has "
                                            "room for half of the elements"});
  }
  return hinted(HintKind::compress, x, name);
}

Tensor offload(const Operand& x, Disk) { return hinted(HintKind::offload, x); }

Tensor name(const Operand& x, std::string name) {
  return marked(x, [&](Graph& graph, ValueId v) { graph[v].name = std::move(name); });
}

namespace detail {

CheckpointRegion::CheckpointRegion(const CheckpointOptions& options, SourceLine where)
    : trace_(current_trace()) {
  if (options.memory && options.memory->count < 0) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("a checkpoint of {} bytes", options.memory->count),
                                    .expected = "0 bytes or more",
                                    .where = where});
  }
  if (!trace_) return;
  outer_ = trace_->builder().checkpoint();
  id_ = trace_->graph().add_checkpoint(
      {.parent = outer_, .name = options.name, .memory = options.memory, .results = {}, .where = where});
  trace_->builder().set_checkpoint(id_);
}

CheckpointRegion::~CheckpointRegion() {
  if (trace_) trace_->builder().set_checkpoint(outer_);
}

void CheckpointRegion::add_result(const Tensor& tensor) {
  if (trace_ && tensor.trace() == trace_->serial()) trace_->graph()[id_].results.push_back(tensor.value());
}

}  // namespace detail
}  // namespace tidemark
