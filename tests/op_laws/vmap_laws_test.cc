// vmap of every op: what it gives for a batch is what the op gives for each example, for every sample, dtype
// and choice of operands that are mapped; so are its gradients, whether vmap goes around them or they around
// it. Bits are the same, but for ops that add up in an order which depends on the whole shape.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/law_case.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/autodiff/vmap/map_graph.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

using Literals = std::vector<Literal>;

Literals run_mapped(const Graph& graph, const Literals& inputs) {
  static ThreadPool threads(1);
  const Graph runnable = expand(
      graph, [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; },
      ExpandRegions::inside);
  return interpret(lower_loops(runnable), inputs, threads);
}

// Along a new first dimension.
Literal stack_of(const std::vector<Literals>& examples, std::size_t which) {
  Literal all = examples[0][which];
  all.shape.insert(0, std::ssize(examples));
  for (std::size_t e = 1; e < examples.size(); ++e) {
    const Literal& one = examples[e][which];
    all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
  }
  return all;
}

// The operands of some examples, and which of them differ from one to the next.
struct MappedOperands {
  std::vector<Literals> examples;
  std::vector<int> axes;

  Literals batch() const {
    Literals all;
    for (std::size_t i = 0; i < axes.size(); ++i)
      all.push_back(axes[i] < 0 ? examples[0][i] : stack_of(examples, i));
    return all;
  }
};

MappedOperands drawn(const LawCase& law, const std::vector<int>& axes, std::size_t size) {
  MappedOperands result{{}, axes};
  for (std::size_t e = 0; e < size; ++e) {
    result.examples.push_back(law.operands(e + 1));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] < 0) result.examples[e][i] = result.examples[0][i];
    }
  }
  return result;
}

// All operands, each one alone, and each one left out.
std::vector<std::vector<int>> choices_of_axes(std::size_t operands) {
  std::set<std::vector<int>> choices = {std::vector<int>(operands, 0)};
  for (std::size_t i = 0; i < operands; ++i) {
    std::vector<int> alone(operands, -1), without(operands, 0);
    alone[i] = 0, without[i] = -1;
    choices.insert(alone);
    if (operands > 1) choices.insert(without);
  }
  return {choices.begin(), choices.end()};
}

double rounding_of(DType dtype) {
  return dtype == DType::f64 ? 1e-9 : dtype == DType::f32 ? 1e-4 : is_float(dtype) ? 0.05 : 0;
}

// Do its sums run in an order that may depend on the whole shape, or is it mapped as what it is written in?
bool rounds(const Op& op) {
  static const std::set<std::string_view> written_in_others = {
      "layer_norm",      "layer_norm_grad", "layer_norm_params", "rms_norm",          "rms_norm_grad",
      "rms_norm_params", "group_norm",      "group_norm_grad",   "group_norm_params", "invertible_product"};
  static const std::set<std::string_view> over_batch = {"batch_norm", "batch_norm_grad", "batch_norm_params"};
  return op.kind == OpKind::reduction || op.kind == OpKind::contraction || over_batch.contains(op.name) ||
         written_in_others.contains(op.name);
}

void expect_same(const LawCase& law, const Literals& got, const std::vector<Literals>& want, bool bits) {
  ASSERT_EQ(got.size(), want[0].size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    const Literal all = stack_of(want, r);
    ASSERT_EQ(got[r].shape, all.shape) << law.name();
    ASSERT_EQ(got[r].dtype, all.dtype) << law.name();
    if (bits) {
      ASSERT_EQ(bit_difference(got[r], all, NaNs::alike), "") << law.name() << " result " << r;
    } else {
      SCOPED_TRACE(law.name() + " result " + std::to_string(r));
      expect_near(values_of(got[r]), values_of(all), rounding_of(all.dtype) * law.sample.tolerance);
    }
  }
}

// Each example by itself, and all at once.
void check(const LawCase& law, const Graph& graph, const MappedOperands& operands, bool bits) {
  const auto size = std::ssize(operands.examples);
  std::vector<Literals> want;
  for (const Literals& example : operands.examples) want.push_back(run_mapped(graph, example));
  expect_same(law, run_mapped(vmap_graph(graph, operands.axes, size), operands.batch()), want, bits);
}

bool has_loop(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.op == &op::loop; });
}

TEST(VmapLaws, ABatchGivesWhatEachExampleGives) {
  for (const Op* op : all_ops()) {
    const bool bits = !rounds(*op);
    for (const LawCase& law : cases_of(*op)) {
      if (law.sample.in.empty()) continue;
      for (const std::vector<int>& axes : choices_of_axes(law.sample.in.size())) {
        check(law, law.graph(), drawn(law, axes, 3), bits);
        if (HasFailure()) FAIL() << op->name;
      }
    }
  }
}

// Mapped twice: as many examples as the rule of what a rule wrote has to deal with.
TEST(VmapLaws, ABatchOfBatchesGivesWhatEachExampleGives) {
  for (const Op* op : all_ops()) {
    for (const LawCase& law : cases_of(*op)) {
      if (law.sample.in.empty() || law.dtype != DType::f64) continue;
      const std::size_t operands = law.sample.in.size();
      const std::vector<int> all(operands, 0);
      const Graph graph = law.graph(), twice = vmap_graph(vmap_graph(graph, all, 2), all, 3);
      std::vector<Literals> want, batches;
      for (std::size_t outer = 0; outer < 3; ++outer) {
        std::vector<Literals> examples, results;
        for (std::size_t inner = 0; inner < 2; ++inner) {
          examples.push_back(law.operands(1 + outer * 2 + inner));
          results.push_back(run_mapped(graph, examples.back()));
        }
        Literals batch, result;
        for (std::size_t i = 0; i < operands; ++i) batch.push_back(stack_of(examples, i));
        for (std::size_t r = 0; r < results[0].size(); ++r) result.push_back(stack_of(results, r));
        batches.push_back(std::move(batch));
        want.push_back(std::move(result));
      }
      const MappedOperands mapped{batches, all};
      expect_same(law, run_mapped(twice, mapped.batch()), want, !rounds(*op));
      if (HasFailure()) FAIL() << op->name;
    }
  }
}

TEST(VmapLaws, NoExamplesGiveNothing) {
  for (const Op* op : all_ops()) {
    for (const LawCase& law : cases_of(*op)) {
      if (law.sample.in.empty() || law.dtype != DType::f64) continue;
      const Graph mapped = vmap_graph(law.graph(), std::vector<int>(law.sample.in.size(), 0), 0);
      Literals none;
      for (const Type& type : input_types(mapped)) none.push_back({type.dtype, type.shape, {}});
      for (const Literal& result : run_mapped(mapped, none)) {
        EXPECT_EQ(result.shape[0], 0) << law.name();
        EXPECT_TRUE(result.bytes.empty()) << law.name();
      }
    }
  }
}

// The gradient of the sum over all results, weighted by seeds of their own.
struct GradientCase {
  Graph graph;               // (x…, ȳ…) → (y…, x̄…)
  std::vector<bool> wanted;  // per operand
  std::vector<Type> seeds;
};
GradientCase gradient_case(const LawCase& law) {
  GradientCase result;
  const Graph graph = law.graph();
  std::unique_ptr<bool[]> wrt(new bool[law.sample.in.size()]);
  for (std::size_t i = 0; i < law.sample.in.size(); ++i) {
    wrt[i] = law.sample.in[i].type.dtype == DType::f64;
    result.wanted.push_back(wrt[i]);
  }
  for (ValueId v : graph.outputs()) {
    if (is_float(graph.type(v).dtype)) result.seeds.push_back(graph.type(v));
  }
  result.graph = vjp_graph(graph, {wrt.get(), law.sample.in.size()});
  return result;
}

// vmap around gradients: of each example, also by what all of them share.
TEST(VmapLaws, GradientsOfABatchAreThoseOfEachExample) {
  for (const Op* op : all_ops()) {
    for (const LawCase& law : smooth_cases_of(*op)) {
      const GradientCase gradient = gradient_case(law);
      for (std::vector<int> axes : choices_of_axes(law.sample.in.size())) {
        MappedOperands operands = drawn(law, axes, 2);
        operands.axes.resize(axes.size() + gradient.seeds.size(), 0);
        for (std::size_t e = 0; e < 2; ++e) {
          for (std::size_t s = 0; s < gradient.seeds.size(); ++s)
            operands.examples[e].push_back(
                random_literal(DType::f64, gradient.seeds[s].shape, 50 + 10 * e + s));
        }
        check(law, gradient.graph, operands, false);
        if (HasFailure()) FAIL() << op->name;
      }
    }
  }
}

// Gradients around vmap: what examples share gets the sum of what each of them gives.
TEST(VmapLaws, GradientsThroughABatchAddUpThoseOfEachExample) {
  for (const Op* op : all_ops()) {
    for (const LawCase& law : smooth_cases_of(*op)) {
      const GradientCase gradient = gradient_case(law);
      const std::size_t results = law.graph().outputs().size();
      for (const std::vector<int>& axes : choices_of_axes(law.sample.in.size())) {
        MappedOperands operands = drawn(law, axes, 2);
        const Graph mapped = vmap_graph(law.graph(), axes, 2);
        std::unique_ptr<bool[]> wrt(new bool[axes.size()]);
        std::copy(gradient.wanted.begin(), gradient.wanted.end(), wrt.get());
        Literals inputs = operands.batch();
        std::vector<Literals> seeds(2), want;
        for (std::size_t e = 0; e < 2; ++e) {
          for (std::size_t s = 0; s < gradient.seeds.size(); ++s)
            seeds[e].push_back(random_literal(DType::f64, gradient.seeds[s].shape, 50 + 10 * e + s));
          Literals one = operands.examples[e];
          one.insert(one.end(), seeds[e].begin(), seeds[e].end());
          want.push_back(run_mapped(gradient.graph, one));
        }
        for (std::size_t s = 0; s < gradient.seeds.size(); ++s) inputs.push_back(stack_of(seeds, s));
        const Literals got = run_mapped(vjp_graph(mapped, {wrt.get(), axes.size()}), inputs);
        std::size_t next = results;
        for (std::size_t i = 0; i < axes.size(); ++i) {
          if (!gradient.wanted[i]) continue;
          SCOPED_TRACE(law.name() + " operand " + std::to_string(i));
          std::vector<double> expected = values_of(stack_of(want, next));
          if (axes[i] < 0) {
            const std::size_t count = expected.size() / 2;
            for (std::size_t k = 0; k < count; ++k) expected[k] += expected[k + count];
            expected.resize(count);
          }
          expect_near(values_of(got[next]), expected, rounding_of(DType::f64) * law.sample.tolerance);
          ++next;
        }
        if (HasFailure()) FAIL() << op->name;
      }
    }
  }
}

// What still takes examples one by one when all operands are mapped. A rule in autodiff/vmap/rules.cc takes
// an op off this list.
TEST(VmapLaws, FewOpsTakeExamplesOneByOne) {
  std::set<std::string_view> found;
  for (const Op* op : all_ops()) {
    if (op == &op::loop || op == &op::loop_reverse) continue;
    for (const LawCase& law : cases_of(*op)) {
      if (law.sample.in.empty()) continue;
      if (has_loop(vmap_graph(law.graph(), std::vector<int>(law.sample.in.size(), 0), 2)))
        found.insert(op->name);
    }
  }
  const std::set<std::string_view> known = {
      // each example has numbers of its own, by its key
      "random_bits", "random_uniform", "random_normal", "random_bernoulli", "random_permutation",
      "random_split", "fold_in",
      // forms in which the planner lets values wait: no traced program has them
      "quantize", "dequantize", "pack_integers", "unpack_integers", "to_low_rank", "from_low_rank",
      "to_sparse", "from_sparse", "to_delta", "from_delta",
      // likewise what products are computed from on some devices
      "fp8_scale", "fp8_codes", "fp8_product",
      "linear_cross_entropy",         // the logits of all examples are what it is there to avoid
      "attention", "attention_grad",  // with dropout, by its key
      "cond", "while_loop",           // steered by the example
      "pad"};                         // with a fill that differs from example to example
  EXPECT_EQ(found, known);
}

}  // namespace
}  // namespace tidemark::testing
