// Generated kernels compile for the architectures that are meant, without a GPU. Where NVRTC is not installed
// there is nothing to see.
#include "tidemark/cuda/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/compiled_groups.h"
#include "tidemark/base/error.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using ::testing::HasSubstr;

TEST(Compiler, WithoutOneTheErrorSaysWhatIsMissing) {
  const auto version = compiler_version();
  if (version) GTEST_SKIP() << "NVRTC is here";
  try {
    compile("", {9, 0});
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_kernel);
    EXPECT_THAT(error.what(), HasSubstr(version.error()));
    EXPECT_THAT(error.what(), HasSubstr("CUDA_PATH"));
  }
}

// In every dtype: compiler_slow_test.cc.
class OpCompiler : public ::testing::TestWithParam<Architecture> {};

TEST_P(OpCompiler, EveryOpCompiles) {
  TM_NEEDS_COMPILER();
  constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::i32, DType::boolean};
  expect_compiles(every_op_source(dtypes), GetParam());
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, OpCompiler, ::testing::ValuesIn(architectures));

TEST(Compiler, RandomGroupsCompileForEveryArchitecture) {
  TM_NEEDS_COMPILER();
  for (const Architecture& architecture : architectures) {
    expect_compiles(random_groups_source(0, 12, false) + random_groups_source(1000, 12, true), architecture);
  }
}

TEST(Compiler, AGroupAloneCompilesToOneKernel) {
  TM_NEEDS_COMPILER();
  RandomGroup group(3);
  const KernelText kernel = write_group(group.steps().list);
  const std::string binary = compile(kernel.source, {8, 0});
  EXPECT_THAT(binary, HasSubstr("tidemark_group"));
  EXPECT_EQ(binary.substr(1, 3), "ELF");
  EXPECT_EQ(binary, compile(kernel.source, {8, 0}));
}

// What 9.0 alone has needs a target of its own.
TEST(Compiler, WarpgroupsAreThereOn90Alone) {
  EXPECT_EQ(compile_target({8, 0}), "sm_80");
  EXPECT_EQ(compile_target({9, 0}), "sm_90a");
  EXPECT_EQ(compile_target({10, 0}), "sm_100");
  TM_NEEDS_COMPILER();
  for (const Architecture& architecture : architectures) {
    expect_compiles(fmt::format("#if{}def __CUDA_ARCH_FEAT_SM90_ALL\n#error\n#endif\n",
                                has_warpgroups(architecture) ? "n" : ""),
                    architecture);
  }
}

TEST(Compiler, AnArchitectureThatNoCompilerKnowsIsNamed) {
  TM_NEEDS_COMPILER();
  try {
    compile("__global__ void k() {}", {1, 1});
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not know sm_11"));
  }
}

TEST(Compiler, ASourceThatIsWrongIsOurMistakeInTheCompilersWords) {
  TM_NEEDS_COMPILER();
  try {
    compile("__global__ void k() { no_such_name(); }", {9, 0});
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no_such_name"));
  }
}

}  // namespace
}  // namespace tidemark::cuda
