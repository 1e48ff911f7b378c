#include "tidemark/ops/contraction/contract.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include "tests/support/run_kernel.h"
#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/contraction/contract_layout.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

std::int64_t advance(Dims& index, const Shape& shape) {
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (++index[d] < shape[d]) return 1;
    index[d] = 0;
  }
  return 0;
}

std::int64_t at(const Dims& index, const Strides& strides) {
  std::int64_t sum = 0;
  for (int d = 0; d < index.rank(); ++d) sum += index[d] * strides[d];
  return sum;
}

// By the definition, one result element at a time.
std::vector<double> naive(const ContractAttrs& attrs, const Literal& lhs, const Literal& rhs) {
  const auto a = values_of(lhs), b = values_of(rhs);
  const Strides sa = dense_strides(lhs.shape), sb = dense_strides(rhs.shape);
  const Dims fa = free_dims(lhs.shape.rank(), attrs.lhs_batch, attrs.lhs_contract);
  const Dims fb = free_dims(rhs.shape.rank(), attrs.rhs_batch, attrs.rhs_contract);
  Shape out, inner;
  for (auto d : attrs.lhs_batch) out.push_back(lhs.shape[static_cast<int>(d)]);
  for (auto d : fa) out.push_back(lhs.shape[static_cast<int>(d)]);
  for (auto d : fb) out.push_back(rhs.shape[static_cast<int>(d)]);
  for (auto d : attrs.lhs_contract) inner.push_back(lhs.shape[static_cast<int>(d)]);
  std::vector<double> result;
  if (element_count(out) == 0) return result;
  Dims o = Dims::filled(out.rank(), 0);
  do {
    Dims ia = Dims::filled(lhs.shape.rank(), 0), ib = Dims::filled(rhs.shape.rank(), 0);
    int p = 0;
    for (int i = 0; i < attrs.lhs_batch.rank(); ++i, ++p) {
      ia[static_cast<int>(attrs.lhs_batch[i])] = ib[static_cast<int>(attrs.rhs_batch[i])] = o[p];
    }
    for (auto d : fa) ia[static_cast<int>(d)] = o[p++];
    for (auto d : fb) ib[static_cast<int>(d)] = o[p++];
    double sum = 0;
    if (element_count(inner) > 0) {
      Dims k = Dims::filled(inner.rank(), 0);
      do {
        for (int i = 0; i < inner.rank(); ++i) {
          ia[static_cast<int>(attrs.lhs_contract[i])] = ib[static_cast<int>(attrs.rhs_contract[i])] = k[i];
        }
        sum += a[static_cast<std::size_t>(at(ia, sa))] * b[static_cast<std::size_t>(at(ib, sb))];
      } while (advance(k, inner));
    }
    result.push_back(sum);
  } while (advance(o, out));
  return result;
}

struct Case {
  Shape lhs, rhs;
  ContractAttrs attrs;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{3, 4}, {4, 5}, {{}, {}, {1}, {0}}},
      {{3, 4}, {5, 4}, {{}, {}, {1}, {1}}},
      {{4, 3}, {5, 4}, {{}, {}, {0}, {1}}},
      {{7}, {7}, {{}, {}, {0}, {0}}},
      {{2, 40, 50}, {50, 60}, {{}, {}, {2}, {0}}},
      {{5, 33, 20}, {5, 20, 7}, {{0}, {0}, {2}, {1}}},
      {{2, 35, 3, 8}, {2, 33, 3, 8}, {{0, 2}, {0, 2}, {3}, {3}}},   // attention scores
      {{2, 3, 35, 33}, {2, 33, 3, 8}, {{0, 1}, {0, 2}, {3}, {1}}},  // attention values
      {{6, 4, 5}, {5, 3, 4}, {{}, {}, {1, 2}, {2, 0}}},  // contracted dimensions do not merge on the right
      {{4, 6, 5}, {6, 3}, {{}, {}, {1}, {0}}},           // rows around the contracted dimension
      {{4, 6, 40}, {6, 3}, {{}, {}, {1}, {0}}},
      {{3, 40, 300}, {300, 3, 35}, {{}, {}, {2, 0}, {0, 1}}},  // deeper than one panel
      {{3, 0}, {0, 4}, {{}, {}, {1}, {0}}},
      {{0, 3}, {3, 4}, {{}, {}, {1}, {0}}},
      {{3}, {4}, {}},
      {{300, 20}, {20, 530}, {{}, {}, {1}, {0}}},
      {{40, 3, 5}, {40, 5, 2}, {{0}, {0}, {2}, {1}}},
  };
  return list;
}

TEST(Contract, MatchesTheDefinitionForEveryDtype) {
  if (looks_for_races) GTEST_SKIP() << "threads have tests of their own";
  for (const Case& c : cases()) {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
      const double reach = is_float(dtype) ? 1 : 4, low = dtype == DType::u8 ? 0 : -reach;
      const Literal a = random_literal(dtype, c.lhs, 1, low, reach),
                    b = random_literal(dtype, c.rhs, 2, low, reach);
      auto want = naive(c.attrs, a, b);
      if (dtype == DType::u8) {
        for (double& x : want)
          x = static_cast<double>(static_cast<std::uint8_t>(static_cast<std::int64_t>(x)));
      }
      const Literal got = run(op::contract, {a, b}, pack(c.attrs))[0];
      const double tolerance = dtype == DType::f64    ? 1e-12
                               : dtype == DType::f32  ? 2e-5
                               : dtype == DType::f16  ? 2e-3
                               : dtype == DType::bf16 ? 1e-2
                                                      : 0;
      EXPECT_LE(distance(values_of(got), want), tolerance)
          << to_string(c.lhs) << to_string(c.rhs) << name_of(dtype);
    }
  }
}

TEST(Contract, ThreadsDoNotChangeTheBits) {
  for (const Case& c : cases()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Literal a = random_literal(dtype, c.lhs, 1), b = random_literal(dtype, c.rhs, 2);
      EXPECT_EQ(run(op::contract, {a, b}, pack(c.attrs), {1})[0],
                run(op::contract, {a, b}, pack(c.attrs), {3})[0]);
    }
  }
}

// An operand as a window on larger memory, with strides of any sign, read where it lies.
struct Window {
  Shape shape;
  Strides strides;
  std::int64_t first = 0;  // of the first element in `memory`
  std::int64_t size = 0;   // of `memory`
};

std::vector<double> run_on_windows(const ContractAttrs& attrs, DType dtype, const Window& wa,
                                   const Window& wb, std::vector<double>& want, std::int64_t& scratch_bytes) {
  std::vector<Literal> dense;
  for (const Window* w : {&wa, &wb}) {
    const auto values = values_of(random_literal(dtype, {w->size}, dense.size() + 1));
    std::vector<double> gathered;
    Dims index = Dims::filled(w->shape.rank(), 0);
    do {
      gathered.push_back(values[static_cast<std::size_t>(w->first + at(index, w->strides))]);
    } while (advance(index, w->shape));
    dense.push_back(literal_of(dtype, w->shape, gathered));
  }
  want = naive(attrs, dense[0], dense[1]);
  const KernelRun on_windows =
      run_kernel(op::contract, dense, pack(attrs),
                 {.threads = 2, .layouts = {{wa.strides, wa.first}, {wb.strides, wb.first}}});
  scratch_bytes = on_windows.scratch_bytes;
  EXPECT_EQ(on_windows.broken, "");
  EXPECT_EQ(on_windows.results, run(op::contract, dense, pack(attrs), {1}))
      << "a view gives other bits than its copy";
  return values_of(on_windows.results[0]);
}

TEST(Contract, ReadsStridedOperandsWithinTheScratchItClaimed) {
  struct Strided {
    Window lhs, rhs;
    ContractAttrs attrs;
  };
  const ContractAttrs product{{}, {}, {1}, {0}}, batched{{0}, {0}, {2}, {1}};
  const ContractAttrs reduce{{}, {}, {1}, {0}};
  const Strided list[] = {
      {{{40, 600}, {1, 40}, 0, 24000}, {{600}, {3}, 0, 1800}, reduce},  // by a vector with gaps
      {{{600, 40}, {40, -1}, 39, 24000}, {{40}, {1}, 0, 40}, reduce},
      {{{1, 700}, {1, 2}, 0, 1400}, {{700, 60}, {1, 700}, 0, 42000}, product},
      {{{1, 700}, {1, 2}, 0, 1400}, {{700, 60}, {120, 2}, 0, 84000}, product},
      {{{40, 700}, {2, 80}, 0, 56000}, {{700, 60}, {60, 1}, 0, 42000}, product},  // deeper than a panel
      {{{40, 50}, {1, 40}, 0, 2000}, {{50, 60}, {1, 50}, 0, 3000}, product},      // both transposed
      {{{40, 50}, {70, 1}, 5, 3000}, {{50, 60}, {64, 1}, 0, 3200}, product},      // leading dimensions
      {{{40, 50}, {100, 2}, 0, 4000}, {{50, 60}, {60, 1}, 0, 3000}, product},     // every second element
      {{{40, 50}, {-50, 1}, 1950, 2000}, {{50, 60}, {60, 1}, 0, 3000}, product},  // flipped rows
      {{{40, 50}, {0, 1}, 0, 50}, {{50, 60}, {60, 1}, 0, 3000}, product},         // one row, repeated
      {{{4, 40, 50}, {0, 50, 1}, 0, 2000}, {{4, 50, 6}, {300, 6, 1}, 0, 1200}, batched},   // repeated batch
      {{{4, 40, 50}, {50, 200, 1}, 0, 8000}, {{4, 50, 6}, {6, 24, 1}, 0, 1200}, batched},  // batch inside
  };
  for (const Strided& s : list) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      std::vector<double> want;
      std::int64_t scratch = 0;
      const auto got = run_on_windows(s.attrs, dtype, s.lhs, s.rhs, want, scratch);
      EXPECT_LE(distance(got, want), dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-5 : 1e-2);
      EXPECT_LE(scratch, 4 << 20) << to_string(s.lhs.strides);
    }
  }
}

TEST(Contract, SmallProductsAndVectorsNeedNoScratch) {
  const auto scratch = [](const ContractAttrs& attrs, const Shape& lhs, const Shape& rhs) {
    return contract_layout(attrs, DType::f32, lhs, dense_strides(lhs), rhs, dense_strides(rhs)).scratch_bytes;
  };
  EXPECT_EQ(scratch({{}, {}, {2}, {0}}, {8, 4, 64}, {64, 32}), 0);
  EXPECT_EQ(scratch({{}, {}, {0, 1}, {0, 1}}, {8, 100, 10}, {8, 100, 32}), 0);
  EXPECT_EQ(scratch({{}, {}, {1}, {0}}, {1000, 1000}, {1000}), 0);
  EXPECT_EQ(scratch({{0}, {0}, {2}, {1}}, {500, 30, 30}, {500, 30, 30}), 0);
  EXPECT_GT(scratch({{}, {}, {1}, {0}}, {200, 200}, {200, 200}), 0);
}

std::string error_of(const Case& c, DType lhs = DType::f32, DType rhs = DType::f32) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"train.cpp", 88});
  try {
    contract(builder.input({lhs, c.lhs}), builder.input({rhs, c.rhs}), c.attrs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Contract, NamesBothShapesDimensionsAndTheLineWhenInnerSizesDiffer) {
  const std::string text = error_of({{32, 784}, {512, 10}, {{}, {}, {1}, {0}}});
  for (const char* part :
       {"TM0201", "784", "512", "(32, 784)", "(512, 10)", "dimension 1", "dimension 0", "train.cpp:88"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Contract, RefusesBadDimensionsAndDtypes) {
  EXPECT_NE(error_of({{3, 4}, {4, 5}, {{}, {}, {2}, {0}}}).find("TM0203"), std::string::npos);
  EXPECT_NE(error_of({{3, 4}, {4, 5}, {{1}, {0}, {1}, {0}}}).find("a second time"), std::string::npos);
  EXPECT_NE(error_of({{3, 4}, {4, 5}, {{}, {}, {1}, {}}}).find("TM0203"), std::string::npos);
  EXPECT_NE(error_of({{3, 4}, {4, 5}, {{}, {}, {1}, {0}}}, DType::f32, DType::f64).find("TM0202"),
            std::string::npos);
  EXPECT_NE(error_of({{3, 4}, {4, 5}, {{}, {}, {1}, {0}}}, DType::boolean, DType::boolean).find("TM0202"),
            std::string::npos);
  const Shape five = Shape::filled(5, 2);
  EXPECT_NE(error_of({five, five, {}}).find("rank 10"), std::string::npos);
}

TEST(Contract, CountsTwoFlopsPerMultiplyAdd) {
  const Type types[] = {{DType::f32, {2, 3, 5}}, {DType::f32, {2, 5, 7}}}, out[] = {{DType::f32, {2, 3, 7}}};
  const Attrs attrs = pack(ContractAttrs{{0}, {0}, {2}, {1}});
  const Call call{.op = &op::contract, .in = types, .out = out, .attrs = &attrs};
  EXPECT_EQ(test_target().cost(call).flops, 2.0 * 2 * 3 * 5 * 7);
}

}  // namespace
}  // namespace tidemark
