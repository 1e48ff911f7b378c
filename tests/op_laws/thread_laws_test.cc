// A result depends neither on the number of threads nor on who takes which task first, for every op on cases
// so large that its kernel cuts its work: with fewer tasks than `enough` the law would hold of any kernel, so
// it refuses such cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/enlarged.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/ops/codec/delta.h"
#include "tidemark/ops/codec/low_rank.h"
#include "tidemark/ops/codec/pack_integers.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/quantization/fp8.h"
#include "tidemark/ops/quantization/quantize.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/constant.h"

namespace tidemark::testing {
namespace {

// Two parts of a sum may be added in either order, three may not. Where a single number is all that shows it,
// their sum is often the same by chance, that of eight hardly ever.
constexpr std::int64_t enough = 3;
std::int64_t wanted_of(const LawCase& law) {
  const Graph graph = law.graph();
  const bool single =
      std::ranges::all_of(graph.outputs(), [&](ValueId output) { return graph.type(output).count() == 1; });
  return single ? 8 : enough;
}

// Ops that run as one task however large the call is; the law holds them to it.
struct Uncut {
  const Op* op;
  const char* why;
};
const Uncut all_uncut[] = {
    {&op::constant, "a copy of what the graph holds"},
    {&op::random_permutation, "each swap needs the one before"},
    {&op::random_split, "keys are few"},
    {&op::fold_in, "one number"},
};
bool is_uncut(const Op& op) {
  return std::ranges::any_of(all_uncut, [&](const Uncut& uncut) { return uncut.op == &op; });
}

// Calls that are large as they stand, of ops whose samples cannot grow by one number.
std::vector<Sample> large_samples(const Op& op) {
  if (&op == &op::reshape)
    return {{.in = {{.type = {DType::f64, {768, 512}}}}, .attrs = pack(ReshapeAttrs{{512, 768}})}};
  if (&op == &op::dequantize) {
    std::vector<Sample> list;
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Type type{dtype, {3, 40000}};
      list.push_back({.in = {{.type = quantized_type(QuantFormat::int8, type), .low = 0, .high = 63}},
                      .attrs = pack(DequantizeAttrs{.dtype = dtype, .shape = type.shape})});
    }
    return list;
  }
  if (&op == &op::fp8_product) {
    std::vector<Sample> list;
    const Sample::Operand scale{.type = {DType::f32, {}}, .low = 0.01, .high = 0.02};
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Type type{dtype, {300, 200}};
      list.push_back({.in = {{.type = {DType::u8, {300, 250}}, .low = 0, .high = 120},
                             {.type = {DType::u8, {200, 250}}, .low = 0, .high = 120},
                             scale,
                             scale,
                             {.type = type}},
                      .attrs = pack(Fp8ProductAttrs{.dtype = dtype, .shape = type.shape})});
    }
    return list;
  }
  if (&op == &op::from_delta) {
    std::vector<Sample> list;
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Type type{dtype, {3, 40000}};
      list.push_back({.in = {{.type = quantized_type(QuantFormat::int8, type), .low = 0, .high = 63},
                             {.type = delta_chain_type(type)}},
                      .attrs = pack(FromDeltaAttrs{.dtype = dtype})});
    }
    return list;
  }
  if (&op == &op::unpack_integers || &op == &op::from_sparse) {
    const Type type{DType::f32, {3, 90000}};
    const bool bits = &op == &op::unpack_integers;
    const std::int64_t bytes = bits ? packed_bytes(1, type) : sparse_bytes(0.5, type);
    return {{.in = {{.type = {DType::u8, {bytes}}, .low = 0, .high = bits ? 127.0 : 1.0}},
             .attrs = bits ? pack(UnpackIntegersAttrs{1, type.dtype, type.shape})
                           : pack(FromSparseAttrs{0.5, type.dtype, type.shape})}};
  }
  if (&op == &op::from_low_rank) {
    const Shape shape{700, 600};
    return {{.in = {{.type = {DType::f64, {low_rank_count(3, shape)}}}},
             .attrs = pack(FromLowRankAttrs{3, shape})}};
  }
  if (&op == &op::constant)
    return {{.in = {}, .attrs = pack(ConstantAttrs{random_literal(DType::f64, {1 << 20})})}};
  return {};
}

// The dtypes that kernels have code of their own for: both widths of floats and one that is narrower than
// what is computed in. All where the op takes no floats. Sanitizers look at the code of one.
std::vector<LawCase> by_width(const std::vector<LawCase>& all) {
  const auto among = [&](std::initializer_list<DType> dtypes) {
    std::vector<LawCase> some;
    for (const LawCase& law : all) {
      if (std::ranges::count(dtypes, law.dtype) > 0) some.push_back(law);
    }
    return some;
  };
  if (sanitized) {
    const std::vector<LawCase> some = among({DType::f32});
    return !some.empty() || all.empty() ? some : among({all.front().dtype});
  }
  const std::vector<LawCase> some = among({DType::f32, DType::f64, DType::bf16});
  return some.empty() ? all : some;
}

class ThreadLaws : public ::testing::TestWithParam<const Op*> {};

void expect_the_same_on_any_threads(const LawCase& law, const std::vector<Literal>& operands,
                                    const KernelRun& on_three) {
  const auto same = [&](const KernelRun& run, const char* how) {
    EXPECT_EQ(run.broken, "") << law.name() << ", " << how;
    EXPECT_EQ(bit_difference(run.results, on_three.results), "") << law.name() << ", " << how;
  };
  same(law.run(operands), "one thread");
  if (sanitized) return;  // they look for races, of which three threads have shown what there are
  same(law.run(operands, {.threads = 2}), "two threads");
  same(law.run(operands, {.threads = 3, .backwards = true}), "the last task first");
}

void expect_the_same_in_place_and_strided(const LawCase& law, const std::vector<Literal>& operands,
                                          const std::vector<Literal>& expected) {
  const Graph graph = law.graph();
  const NodeCall call(graph, graph.nodes().front());
  const auto same = [&](KernelOptions options, const std::string& how) {
    options.threads = 3;
    for (bool backwards : {false, true}) {
      if (sanitized && backwards) continue;
      options.backwards = backwards;
      EXPECT_EQ(bit_difference(law.run(operands, options).results, expected), "")
          << law.name() << ", " << how << (backwards ? ", the last task first" : "");
    }
  };
  for (int o = 0; o < static_cast<int>(call.in.size()); ++o) {
    for (int r = 0; r < static_cast<int>(call.out.size()); ++r) {
      if (test_target().may_overwrite(call, r, o))
        same({.result = r, .over = o}, fmt::format("result {} over operand {}", r, o));
    }
    if (!test_target().takes_strides(call, o)) continue;
    std::vector<OperandLayout> layouts;
    for (const Type& type : call.in) layouts.push_back(dense_layout(type.shape));
    for (std::int64_t& stride : layouts[static_cast<std::size_t>(o)].strides) stride *= -2;
    same({.layouts = layouts}, fmt::format("operand {} strided", o));
  }
}

// Runs the case, and checks it if it is cut into enough tasks. Returns how many they were; nothing where it
// cannot run.
std::optional<std::int64_t> try_on_threads(const LawCase& law, bool in_every_way) {
  const std::vector<Literal> operands = law.operands();
  const KernelRun run = law.run(operands, {.threads = 3, .may_fail = true});
  if (!run.failure.empty()) return std::nullopt;  // an index past what did not grow
  if (run.tasks < enough) return run.tasks;
  expect_the_same_on_any_threads(law, operands, run);
  if (in_every_way) expect_the_same_in_place_and_strided(law, operands, run.results);
  return run.tasks;
}

// Grows the case in every way until it is cut. Returns the most tasks.
std::int64_t grow_and_try(const LawCase& law, bool in_every_way) {
  std::int64_t most = 0;
  for (const Growth& growth : growths_of(law)) {
    for (std::int64_t factor = 4;; factor *= 4) {
      const std::optional<LawCase> large = enlarged(law, growth, factor);
      const std::optional<std::int64_t> tasks =
          large ? try_on_threads(*large, in_every_way && most < enough) : std::nullopt;
      most = std::max(most, tasks.value_or(0));
      if (!tasks || *tasks >= wanted_of(*large)) break;
    }
    // Elementwise kernels share one walker; sanitizers look for races, not for bits.
    if (most >= enough && (sanitized || law.op->kind == OpKind::elementwise)) break;
  }
  return most;
}

TEST_P(ThreadLaws, GivesTheSameBitsHoweverItsTasksAreRun) {
  const Op& op = *GetParam();
  if (!runs_on_cpu(op)) return;
  std::map<DType, std::int64_t> most;
  for (const LawCase& law : by_width(cases_of(op))) {
    std::int64_t& tasks = most.try_emplace(law.dtype, 0).first->second;
    if (sanitized && tasks >= enough) continue;
    tasks = std::max(tasks, grow_and_try(law, tasks < enough));
  }
  for (const LawCase& law : by_width(cases_of(op, large_samples(op)))) {
    std::int64_t& tasks = most.try_emplace(law.dtype, 0).first->second;
    tasks = std::max(tasks, try_on_threads(law, true).value_or(0));
  }
  ASSERT_FALSE(most.empty());
  for (const auto& [dtype, tasks] : most) {
    if (is_uncut(op)) {
      EXPECT_LE(tasks, 1) << op.name << " in " << name_of(dtype) << " cuts its work: take it off the list";
    } else {
      EXPECT_GE(tasks, enough) << op.name << " in " << name_of(dtype)
                               << " was cut in no case: a law about threads says nothing of it";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ThreadLaws, ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tidemark::testing
