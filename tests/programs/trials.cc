#include "tests/programs/trials.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "tests/support/random_programs.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/forward.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tidemark/trace/storage.h"

namespace tidemark::testing {
namespace {

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
  const auto passes = opt_pass_list();
  if (std::ranges::find(passes, skip, &PassInfo::name) == passes.end()) return {};
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

// Bodies of loops and branches may round, too.
bool is_exact(const Graph& graph) {
  return std::ranges::all_of(graph.values(),
                             [](const Value& value) {
                               return !is_float(value.type.dtype) || value.type.dtype == DType::f64;
                             }) &&
         std::ranges::all_of(graph.nodes(),
                             [](const Node& node) { return std::ranges::all_of(node.regions, is_exact); });
}

// ⟨J v, w⟩ and ⟨v, Jᵀ w⟩, which are the same number, and the size of what they are sums of.
struct Products {
  double forward = 0, backward = 0, size = 0;
  bool same_results = true;  // of the function itself, but for rounding, both times
  double difference() const { return std::abs(forward - backward); }
};
Products products_of(const GraphCase& program) {
  const Graph& f = program.graph;
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
  Products products;
  products.forward = sum_of_products({outputs.begin() + count, outputs.end()}, w, products.size);
  products.backward = sum_of_products({gradients.begin() + count, gradients.end()}, v, products.size);
  for (std::size_t i = 0; i < f.outputs().size(); ++i) {
    const std::vector<double> a = values_of(outputs[i]), b = values_of(gradients[i]);
    for (std::size_t k = 0; k < a.size(); ++k)
      products.same_results =
          products.same_results && !(std::abs(a[k] - b[k]) > 1e-3 * std::abs(a[k] + b[k]));
  }
  return products;
}

// Whole numbers too large for their digits, as random bits are: rounding decides what becomes of them, and
// other inputs do not show it.
bool has_numbers_of_bits(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return node.op == &op::cast && graph.type(node.operands[0]).dtype == DType::i64;
  });
}

// The program at inputs that differ by little more than their rounding.
GraphCase beside(GraphCase program) {
  constexpr double next = 1 + 1e-14;
  for (Literal& input : program.inputs) {
    if (input.dtype != DType::f64) continue;
    for (std::size_t at = 0; at < input.bytes.size(); at += sizeof(double)) {
      double value = 0;
      std::memcpy(&value, input.bytes.data() + at, sizeof value);
      value *= next;
      std::memcpy(input.bytes.data() + at, &value, sizeof value);
    }
  }
  return program;
}

// Of programs in f64. Where rounding alone moves the derivatives by as much as they differ, nothing is known
// of them.
std::string derivative_difference(const GraphCase& program) {
  if (!is_exact(program.graph)) return "";
  const Products here = products_of(program);
  if (!std::isfinite(here.size) || here.size > 1e9) return "";
  if (here.difference() <= 1e-7 * (1 + here.size)) return "";
  const Products near = products_of(beside(program));
  const double moved =
      std::max(std::abs(near.forward - here.forward), std::abs(near.backward - here.backward));
  if (!(moved < here.difference() / 100)) return "";
  if (!here.same_results && has_numbers_of_bits(program.graph)) return "";
  return fmt::format("<J v, w> = {} and <v, J^T w> = {}, of {}", here.forward, here.backward, here.size);
}

}  // namespace

std::vector<Literal> literals_of(const std::vector<Tensor>& tensors) {
  std::vector<Literal> list;
  for (const Tensor& tensor : tensors) list.push_back(literal_of(tensor));
  return list;
}

std::vector<Literal> run_as_written(const GraphCase& program) {
  const auto without_kernel = [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; };
  return interpret(lower_loops(expand(program.graph, without_kernel, ExpandRegions::inside)), program.inputs,
                   device(1)->pool());
}

GraphCase with_gradients(const GraphCase& program) {
  const Mask wrt(float_inputs(program.graph));
  return {gradient_graph(program.graph, wrt), program.inputs};
}

std::string Variation::text() const {
  std::string list;
  if (derivatives) list += " derivatives";
  if (!skip.empty()) list += " without " + skip;
  if (budget >= 0) list += fmt::format(" budget {} of {}", budget, budget_steps - 1);
  if (donated) list += fmt::format(" donated {:#x}", donated);
  return fmt::format("{} thread{}{}", threads, threads == 1 ? "" : "s", list);
}

// A graph with some inputs donated and some pass left out: what it is to give, and how little memory it runs
// in. Variations that differ in budget and threads alone share it.
class Trials::Trial {
 public:
  Trial(const GraphCase& given, const std::string& skip, std::uint64_t donated)
      : program_(given), skip_(skip), donated_(donated) {
    for (std::size_t i = 0; i < program_.graph.inputs().size(); ++i)
      program_.graph.inputs()[i].donated = i < 64 && (donated >> i & 1);
    options_ = {.skip_optimisations = skipped_optimisations(skip), .plan = {.effort = trial_effort}};
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
      const Result<Plan, Infeasible> none = plan_safely(least, {.memory = 1, .effort = trial_effort});
      const std::int64_t floor = none ? none.value().peak() : none.error().smallest.peak();
      range_ = {floor, plan_safely(unbounded, {.effort = trial_effort}).value().peak()};
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

Trials::Trials(GraphCase given) : given_(std::move(given)) {}
Trials::~Trials() = default;

std::string Trials::run(const Variation& variation) {
  if (variation.derivatives) return derivative_difference(given_);
  if (!trial_ || !trial_->serves(variation))
    trial_ = std::make_unique<Trial>(given_, variation.skip, variation.donated);
  return trial_->run(variation);
}

}  // namespace tidemark::testing
