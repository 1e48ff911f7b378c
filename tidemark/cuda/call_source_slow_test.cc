// More of call_source_test.cc and call_values_test.cc: all samples in all dtypes, for every architecture. A
// test for each part, so that they run side by side.
#include <gtest/gtest.h>

#include "tests/support/call_samples.h"
#include "tests/support/compiled_groups.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

class CallSourceSlow : public ::testing::TestWithParam<std::tuple<Architecture, DType>> {};

TEST_P(CallSourceSlow, EveryCallCompiles) {
  TM_NEEDS_COMPILER();
  const auto& [architecture, dtype] = GetParam();
  expect_compiles(every_call_source(std::span(&dtype, 1)), architecture);
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, CallSourceSlow,
                         ::testing::Combine(::testing::ValuesIn(architectures),
                                            ::testing::ValuesIn(every_dtype)));

class CallValuesSlow : public ::testing::TestWithParam<DType> {};

TEST_P(CallValuesSlow, EverySample) {
  const DType dtype = GetParam();
  for (const CallGroup& group : call_groups) {
    CallCases cases;
    for (const Op* op : group.ops) add_samples(cases, *op, std::span(&dtype, 1));
    for (auto& c : group.shapes(dtype)) cases.push_back(std::move(c));
    expect_cpu_values(cases, group.nearness);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDtype, CallValuesSlow, ::testing::ValuesIn(every_dtype));

}  // namespace
}  // namespace tidemark::cuda
