// More of call_source_test.cc and call_values_test.cc: all samples in all dtypes, for every architecture.
#include <gtest/gtest.h>

#include "tests/support/call_samples.h"
#include "tests/support/compiled_groups.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

TEST(CallSourceSlow, EveryCallCompilesForEveryArchitecture) {
  TM_NEEDS_COMPILER();
  for (const DType dtype : every_dtype) {
    const std::string source = every_call_source(std::span(&dtype, 1));
    for (const Architecture& architecture : architectures) expect_compiles(source, architecture);
  }
}

TEST(CallValuesSlow, EverySampleInEveryDtype) {
  for (const CallGroup& group : call_groups) {
    for (const DType dtype : every_dtype) {
      CallCases cases;
      for (const Op* op : group.ops) add_samples(cases, *op, std::span(&dtype, 1));
      for (auto& c : group.shapes(dtype)) cases.push_back(std::move(c));
      expect_cpu_values(cases, group.nearness);
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
