#include "tests/programs/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/random_programs.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/forward.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

constexpr double effort = 0.003;

std::shared_ptr<CpuDevice> device(int threads) {
  static std::map<int, std::shared_ptr<CpuDevice>> made;
  std::shared_ptr<CpuDevice>& found = made[threads];
  if (!found) found = std::make_shared<CpuDevice>(threads);
  return found;
}

Literal literal_of(const Tensor& tensor) {
  const std::byte* bytes = tensor.bytes();
  return {tensor.dtype(), tensor.shape(), {bytes, bytes + tensor.type().bytes()}};
}
std::vector<Literal> literals_of(const std::vector<Tensor>& tensors) {
  std::vector<Literal> list;
  for (const Tensor& tensor : tensors) list.push_back(literal_of(tensor));
  return list;
}

std::vector<bool> float_inputs(const Graph& graph) {
  std::vector<bool> mask;
  for (const Input& input : graph.inputs()) mask.push_back(is_float(graph.type(input.value).dtype));
  return mask;
}
// std::vector<bool> is none of a span's.
struct Mask {
  explicit Mask(const std::vector<bool>& from) : bits(new bool[from.size()]), size(from.size()) {
    std::copy(from.begin(), from.end(), bits.get());
  }
  operator std::span<const bool>() const { return {bits.get(), size}; }  // NOLINT: implicit
  std::unique_ptr<bool[]> bits;
  std::size_t size;
};

// As written, node by node.
std::vector<Literal> run_as_written(const GraphCase& program) {
  const auto without_kernel = [](const Node& node) { return !find_cpu_kernel(*node.op) && node.op->expand; };
  return interpret(settle_loops(expand(program.graph, without_kernel, ExpandRegions::inside)), program.inputs,
                   device(1)->pool());
}

bool has_loops(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return !node.regions.empty(); });
}

double precision(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-9;
    case DType::f32:
      return 1e-3;
    default:
      return 0.5;
  }
}

// Sums may have been added in another order: close, where they are finite and of no great size.
std::string far_apart(const std::vector<Literal>& a, const std::vector<Literal>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_float(a[i].dtype)) continue;
    const std::vector<double> x = values_of(a[i]), y = values_of(b[i]);
    double scale = 1;
    for (double v : x) {
      if (!std::isfinite(v)) return "";
      scale = std::max(scale, std::abs(v));
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!(std::abs(x[k] - y[k]) <= precision(a[i].dtype) * scale))
        return fmt::format("output {} element {}: {} as written, {} optimised", i, k, x[k], y[k]);
    }
  }
  return "";
}

std::vector<std::string> skipped_optimisations(const std::string& skip) {
  const auto names = opt_pass_names();
  if (std::ranges::count(names, skip) == 0) return {};
  return {skip};
}

// Runs it twice: the second run finds the memory as the first left it.
std::string run_difference(Program& program, const GraphCase& given, const std::vector<Literal>& expected) {
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> tensors;
    for (const Literal& input : given.inputs) tensors.push_back(tensor_of(input));
    const std::vector<Literal> results = literals_of(program.run(tensors, {}));
    if (std::string text = bit_difference(results, expected, NaNs::alike); !text.empty())
      return fmt::format("run {}: {}", run, text);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (program.graph().inputs()[i].donated || given.inputs[i].bytes.empty()) continue;
      if (std::memcmp(tensors[i].storage()->data(), given.inputs[i].bytes.data(),
                      given.inputs[i].bytes.size()))
        return fmt::format("run {}: input {} was written and not donated", run, i);
    }
  }
  if (program.arena_high_water() != program.plan().arena_bytes) {
    return fmt::format("{} bytes of the arena used, {} planned", program.arena_high_water(),
                       program.plan().arena_bytes);
  }
  return "";
}

double sum_of_products(const std::vector<Literal>& a, const std::vector<Literal>& b, double& size) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::vector<double> x = values_of(a[i]), y = values_of(b[i]);
    for (std::size_t k = 0; k < x.size(); ++k) total += x[k] * y[k], size += std::abs(x[k] * y[k]);
  }
  return total;
}

bool is_exact(const Graph& graph) {
  return std::ranges::all_of(graph.values(), [](const Value& value) {
    return !is_float(value.type.dtype) || value.type.dtype == DType::f64;
  });
}

// ⟨J v, w⟩ = ⟨v, Jᵀ w⟩, of programs in f64.
std::string derivative_difference(const GraphCase& program) {
  const Graph& f = program.graph;
  if (!is_exact(f)) return "";
  const Mask wrt(float_inputs(f));
  GraphCase forward{jvp_graph(f, wrt), program.inputs}, backward{vjp_graph(f, wrt), program.inputs};
  std::vector<Literal> v, w;
  for (std::size_t i = 0; i < f.inputs().size(); ++i) {
    if (!static_cast<std::span<const bool>>(wrt)[i]) continue;
    v.push_back(random_literal(program.inputs[i].dtype, program.inputs[i].shape, 500 + i));
  }
  for (ValueId output : f.outputs()) {
    const Type& type = f.type(output);
    if (is_float(type.dtype)) w.push_back(random_literal(type.dtype, type.shape, 900 + w.size()));
  }
  forward.inputs.insert(forward.inputs.end(), v.begin(), v.end());
  backward.inputs.insert(backward.inputs.end(), w.begin(), w.end());
  const std::vector<Literal> outputs = run_as_written(forward), gradients = run_as_written(backward);
  const auto count = static_cast<std::ptrdiff_t>(f.outputs().size());
  double size = 0;
  const double a = sum_of_products({outputs.begin() + count, outputs.end()}, w, size);
  const double b = sum_of_products({gradients.begin() + count, gradients.end()}, v, size);
  if (!std::isfinite(size) || size > 1e9) return "";
  if (std::abs(a - b) <= 1e-7 * (1 + size)) return "";
  return fmt::format("<J v, w> = {} and <v, J^T w> = {}, of {}", a, b, size);
}

// A graph with some inputs donated and some pass left out: what it is to give, and how little memory it runs in. Variations
// that differ in budget and threads alone share it.
class Trial {
 public:
  Trial(const GraphCase& given, const std::string& skip, std::uint64_t donated)
      : program_(given), skip_(skip), donated_(donated) {
    for (std::size_t i = 0; i < program_.graph.inputs().size(); ++i)
      program_.graph.inputs()[i].donated = i < 64 && (donated >> i & 1);
    options_ = {.skip_optimisations = skipped_optimisations(skip), .plan = {.effort = effort}};
    if (options_.skip_optimisations.empty() && !skip.empty()) options_.plan.skip = {skip};
    prepared_ = prepare_graph(program_.graph, options_.skip_optimisations);
    expected_ = interpret(prepared_, program_.inputs, device(1)->pool());
    wrong_ = wrong_before_planning();
  }
  bool serves(const Variation& variation) const {
    return variation.skip == skip_ && variation.donated == donated_;
  }

  std::string run(const Variation& variation) {
    if (!wrong_.empty()) return wrong_;
    ProgramOptions options = options_;
    if (variation.budget >= 0) options.plan.memory = budget(variation.budget);
    Program run(program_.graph, options, device(variation.threads));
    if (options.plan.memory && run.plan().peak() > *options.plan.memory)
      return fmt::format("a peak of {} within {}", run.plan().peak(), *options.plan.memory);
    return run_difference(run, program_, expected_);
  }

 private:
  std::string wrong_before_planning() const {
    const std::string text = print(program_.graph);
    if (print(parse(text, {.find = find_op})) != text) return "the text form reads back as another graph";
    const std::vector<Literal> written = run_as_written(program_);
    const std::string optimised = bit_difference(expected_, written, NaNs::alike);
    if (optimised.empty()) return "";
    // Only where loops give up their sums, or gather finds some, may bits differ.
    const Graph other = prepare_graph(program_.graph, {"gather"});
    const bool gathered =
        has_loops(program_.graph) ||
        bit_difference(interpret(other, program_.inputs, device(1)->pool()), written, NaNs::alike).empty();
    return gathered ? far_apart(written, expected_) : "optimised: " + optimised;
  }

  std::int64_t budget(int step) {
    if (!range_) {
      Graph least = prepare_graph(program_.graph, options_.skip_optimisations, nullptr, 0),
            unbounded = prepared_;
      const Result<Plan, Infeasible> none = plan_safely(least, {.memory = 1, .effort = effort});
      const std::int64_t floor = none ? none.value().peak() : none.error().smallest.peak();
      range_ = {floor, plan_safely(unbounded, {.effort = effort}).value().peak()};
    }
    const auto [floor, free] = *range_;
    return floor + (std::max(free, floor) - floor) * step / (budget_steps - 1);
  }

  GraphCase program_;
  std::string skip_;
  std::uint64_t donated_;
  ProgramOptions options_;
  Graph prepared_;
  std::vector<Literal> expected_;
  std::string wrong_;
  std::optional<std::pair<std::int64_t, std::int64_t>> range_;  // smallest budget that fits, what is free
};

// Variations of one graph, one after the other.
class Trials {
 public:
  explicit Trials(GraphCase given) : given_(std::move(given)) {}
  std::string run(const Variation& variation) {
    if (variation.derivatives) return derivative_difference(given_);
    if (!trial_ || !trial_->serves(variation)) trial_.emplace(given_, variation.skip, variation.donated);
    return trial_->run(variation);
  }

 private:
  GraphCase given_;
  std::optional<Trial> trial_;  // of the latest
};

GraphCase with_gradients(const GraphCase& program) {
  const Mask wrt(float_inputs(program.graph));
  return {gradient_graph(program.graph, wrt), program.inputs};
}

}  // namespace

std::string Variation::text() const {
  std::string list;
  if (derivatives) list += " derivatives";
  if (!skip.empty()) list += " without " + skip;
  if (budget >= 0) list += fmt::format(" budget {} of {}", budget, budget_steps - 1);
  if (donated) list += fmt::format(" donated {:#x}", donated);
  return fmt::format("{} thread{}{}", threads, threads == 1 ? "" : "s", list);
}

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
  return {traced.graph, literals_of(traced.inputs)};
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
                                {.effort = effort, .program = {.skip_optimisations = {"gather"}}});
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
  for (std::string_view pass : opt_pass_names()) names.emplace_back(pass);
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
    // The function asks for what is not there: a gradient that is not defined, a matrix that is not positive definite.
    finding.refused = error.code() == ErrorCode::not_differentiable || error.code() == ErrorCode::numeric;
    if (!finding.refused) finding.what = error.what();
  } catch (const std::exception& error) {
    finding.what = error.what();
  }
  at(finding);
  return finding;
}

}  // namespace tidemark::testing
