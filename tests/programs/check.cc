#include "tests/programs/check.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/engine/loop_budget.h"

namespace tidemark::testing {
std::string_view name_of(Part part) {
  return part == Part::eager ? "at once" : part == Part::forward ? "forward" : "gradient";
}

std::string difference(const GraphCase& program, const Variation& variation) {
  return Trials(program).run(variation);
}

namespace {

// The function's results and before them a loss, made of all that has a gradient.
std::vector<Tensor> with_loss(const RandomFunction& function, const std::vector<Tensor>& arguments) {
  std::vector<Tensor> results = function(arguments);
  const DType dtype = function.is_smooth() ? DType::f64 : DType::f32;
  Tensor loss = scalar(0, dtype);
  for (const Tensor& result : results) {
    if (is_float(result.dtype())) loss = loss + sum(cast(sin(result), dtype));
  }
  results.insert(results.begin(), loss);
  return results;
}

}  // namespace

GraphCase graph_of(const RandomFunction& function, Part part) {
  const auto f = [&](const std::vector<Tensor>& x) {
    return part == Part::gradient ? with_loss(function, x) : function(x);
  };
  const auto traced = trace_call(f, std::tuple(function.arguments()), {});
  return {*traced.graph, literals_of(traced.inputs)};
}

std::string gradient_difference(const GraphCase& program, const Variation& variation) {
  return difference(with_gradients(program), variation);
}

std::string eager_difference(const RandomFunction& function) {
  const std::vector<Literal> at_once = literals_of(function(function.arguments()));
  const GraphCase program = graph_of(function, Part::forward);
  if (std::string text = bit_difference(run_as_written(program), at_once, NaNs::alike); !text.empty())
    return "traced: " + text;
  const auto compiled = compile([&](const std::vector<Tensor>& x) { return function(x); },
                                {.effort = trial_effort, .program = {.skip_optimisations = {"gather"}}});
  const std::vector<Tensor> arguments = function.arguments();
  for (int call = 0; call < 2; ++call) {
    if (std::string text = bit_difference(literals_of(compiled(arguments)), at_once, NaNs::alike);
        !text.empty())
      return fmt::format("compiled, call {}: {}", call, text);
  }
  return "";
}

namespace {

std::vector<std::string> switchable_passes() {
  std::vector<std::string> names;
  for (const PassInfo& pass : pass_list()) {
    if (pass.optional) names.emplace_back(pass.name);
  }
  for (const PassInfo& pass : opt_pass_list()) names.emplace_back(pass.name);
  return names;
}

std::vector<Variation> variations_of(std::uint64_t seed, Part part, const RandomFunction& function,
                                     const Thoroughness& thoroughness) {
  static const std::vector<std::string> passes = switchable_passes();
  Draw draw = Draw(seed).branch(part == Part::forward ? 20 : 21);
  std::vector<Variation> list = {{.threads = seed % 2 ? 3 : 1, .donated = draw.chance(50) ? draw.bits() : 0}};
  for (int k = 0; k < thoroughness.skips; ++k) {
    const std::size_t at = static_cast<std::size_t>(seed) * static_cast<std::size_t>(thoroughness.skips) +
                           static_cast<std::size_t>(k) + (part == Part::gradient ? 3 : 0);
    list.push_back({.skip = passes[at % passes.size()],
                    .threads = seed % 2 ? 1 : 3,
                    .donated = draw.chance(30) ? draw.bits() : 0});
  }
  if (seed % static_cast<std::uint64_t>(thoroughness.budget_every) == 0 && part == Part::gradient) {
    const std::uint64_t donated = draw.chance(30) ? draw.bits() : 0;
    for (int b = budget_steps - 1; b >= 0; --b)
      list.push_back({.threads = b % 2 ? 3 : 1, .budget = b, .donated = donated});
  }
  if (part == Part::forward && function.is_smooth()) list.push_back({.derivatives = true});
  return list;
}

}  // namespace

Finding check(std::uint64_t seed, const Thoroughness& thoroughness, const std::set<int>& left_out,
              const std::function<void(const Finding&)>& at) {
  Finding finding;
  const auto run = [&] {
    at(finding);
    const RandomFunction function(seed, left_out);
    finding.what = eager_difference(function);
    for (Part part : {Part::forward, Part::gradient}) {
      if (finding) return;
      finding.part = part;
      finding.variation = {};
      at(finding);
      const GraphCase program = graph_of(function, part);
      Trials trials(part == Part::gradient ? with_gradients(program) : program);
      for (const Variation& variation : variations_of(seed, part, function, thoroughness)) {
        finding.variation = variation;
        at(finding);
        finding.what = trials.run(variation);
        if (finding) return;
      }
    }
  };
  try {
    run();
  } catch (const Error& error) {
    // The function asks for what is not there: a gradient that is not defined, a matrix that is not positive
    // definite.
    finding.refused = error.code() == ErrorCode::not_differentiable || error.code() == ErrorCode::numeric;
    if (!finding.refused) finding.what = error.what();
  } catch (const std::exception& error) {
    finding.what = error.what();
  }
  at(finding);
  return finding;
}

}  // namespace tidemark::testing
