// Products with small results: which are ours, that their kernels compile, and, compiled for the host, that
// they compute what the CPU does.
#include "tidemark/cuda/thin_product.h"

#include <gtest/gtest.h>

#include "tests/support/call_values.h"
#include "tests/support/compiled_groups.h"
#include "tidemark/cuda/product_source.h"
#include "tidemark/cuda/target.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

const ContractAttrs plain{{}, {}, {1}, {0}}, against_rows{{}, {}, {1}, {1}},
    against_columns{{}, {}, {0}, {0}};

std::unique_ptr<CallCase> product(const Shape& lhs, const Shape& rhs, const ContractAttrs& attrs,
                                  const std::optional<Shape>& added = {}, std::vector<Strides> strides = {},
                                  DType dtype = DType::f32) {
  std::vector<Literal> operands = {random_literal(dtype, lhs, 1, -1, 1),
                                   random_literal(dtype, rhs, 2, -1, 1)};
  if (added) operands.push_back(random_literal(dtype, *added, 3, -1, 1));
  return std::make_unique<CallCase>(op::contract, std::move(operands), pack(attrs), std::move(strides));
}

// Operands side by side along the depth and across it, sizes that are no multiples of anything, rows that lie
// further apart, one block for each tile and several.
CallCases products() {
  CallCases cases;
  cases.push_back(product({64, 160}, {160, 256}, plain));
  cases.push_back(product({64, 512}, {64, 512}, against_rows));
  cases.push_back(product({64, 512}, {64, 512}, against_rows, Shape{64, 64}));
  cases.push_back(product({601, 37}, {601, 101}, against_columns, Shape{37, 101}));
  cases.push_back(product({601, 36}, {601, 100}, against_columns));
  cases.push_back(product({33, 700}, {700, 93}, plain));
  cases.push_back(product({1, 2048}, {2048, 1024}, plain));
  cases.push_back(product({96, 300}, {300, 80}, plain, {}, {{304, 1}, {84, 1}}));
  cases.push_back(product({40, 640}, {640, 84}, plain, Shape{40, 84}, {{640, 1}, {84, 1}, {0, 1}}));
  return cases;
}

TEST(ThinProduct, HasTheValuesOfTheCpu) {
  const CallCases cases = products();
  std::vector<KernelText> kernels;
  for (const auto& c : cases) {
    ASSERT_TRUE(thin_product(c->call)) << c->name;
    kernels.push_back(write_product(c->call, fmt::format("product{}", kernels.size())));
    EXPECT_EQ(kernels.back().scratch_bytes, cuda_target().scratch(c->call));
  }
  const HostKernels compiled(kernels, "-O1");
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const CallCase& c = *cases[k];
    SCOPED_TRACE(c.name);
    // A row that is added to all rows: the last one of the literal is placed last.
    std::vector<Literal> operands = c.operands;
    if (c.strides.size() == 3) {
      const std::vector<double> all = values_of(operands[2]);
      std::vector<double> rows(all.size());
      const auto n = static_cast<std::size_t>(operands[2].shape[1]);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = all[all.size() - n + i % n];
      operands[2] = literal_of(DType::f32, operands[2].shape, rows);
    }
    const std::vector<Literal> expected = run_kernel(op::contract, operands, c.attrs).results;
    std::vector<CallRun> runs = {{}, {.descending = true}, {.shifted = true}};
    if (c.in.size() == 3 && cuda_target().find(op::contract)->in_place(c.call, 0, 2))
      runs.push_back({.over = 2});
    std::vector<Literal> first;
    for (const CallRun& run : runs) {
      SCOPED_TRACE(fmt::format("shifted {}, descending {}, over {}", run.shifted, run.descending, run.over));
      const std::vector<Literal> got = run_call(c, compiled, k, kernels[k].scratch_bytes, run, nullptr);
      expect_near(got, expected, {.units = 64, .of_largest = true});
      if (first.empty()) first = got;
      EXPECT_EQ(bit_difference(got[0], first[0]), "");  // whatever the addresses
    }
  }
}

TEST(ThinProduct, AStepOfARecurrentLayerFillsAGpu) {
  const auto launches = [](const CallCase& c) { return write_product(c.call).launches; };
  const auto forward = product({64, 512}, {512, 2048}, plain, Shape{64, 2048});
  EXPECT_EQ(route_of(forward->call), Route::product);
  ASSERT_EQ(launches(*forward).size(), 1u);
  EXPECT_EQ(launches(*forward)[0].blocks, 128);
  const auto backward = product({64, 2048}, {512, 2048}, against_rows);
  EXPECT_EQ(route_of(backward->call), Route::product);
  ASSERT_EQ(launches(*backward).size(), 2u);
  EXPECT_EQ(launches(*backward)[0].blocks, 128);
  EXPECT_EQ(cuda_target().scratch(backward->call), 4 * 64 * 512 * 4);
}

TEST(ThinProduct, OthersAreTheLibrarys) {
  EXPECT_EQ(route_of(product({1024, 512}, {512, 2048}, plain)->call), Route::library);
  EXPECT_EQ(route_of(product({512, 8192}, {8192, 512}, plain)->call), Route::library);
  EXPECT_EQ(route_of(product({64, 64}, {64, 2048}, plain)->call), Route::library);
  EXPECT_EQ(route_of(product({8, 128}, {128, 128}, plain)->call), Route::library);
  EXPECT_EQ(route_of(product({2, 64, 512}, {2, 512, 64}, {{0}, {0}, {2}, {1}})->call), Route::library);
  EXPECT_EQ(route_of(product({64, 512}, {512, 256}, plain, {}, {}, DType::bf16)->call), Route::library);
  EXPECT_EQ(route_of(product({64, 512}, {512, 256}, plain, {}, {}, DType::f64)->call), Route::library);
}

TEST(ThinProduct, CompilesForGpus) {
  TM_NEEDS_COMPILER();
  std::string source;
  for (const auto& c : products()) {
    const KernelText kernel = write_product(c->call, fmt::format("product{}", source.size()));
    for (const KernelLaunch& launch : kernel.launches) EXPECT_LE(launch.shared_bytes, 163 << 10);
    source += kernel.source;
  }
  for (const Architecture& architecture : architectures) expect_compiles(source, architecture);
}

}  // namespace
}  // namespace tidemark::cuda
