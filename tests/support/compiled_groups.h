// Generated kernels of many groups in one source, for NVRTC: it reads the formulas once for all of them.
#pragma once
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/support/op_groups.h"
#include "tests/support/random_group.h"
#include "tidemark/cuda/compiler.h"
#include "tidemark/cuda/group_source.h"

#define TM_NEEDS_COMPILER()                                              \
  if (const auto version = tidemark::cuda::compiler_version(); !version) \
  GTEST_SKIP() << "no kernel can be compiled: " << version.error()

// How GoogleTest names what tests are about.
namespace tidemark {
inline void PrintTo(DType dtype, std::ostream* out) { *out << name_of(dtype); }
namespace cuda {
inline void PrintTo(const Architecture& architecture, std::ostream* out) { *out << name_of(architecture); }
}  // namespace cuda
}  // namespace tidemark

namespace tidemark::testing {

inline constexpr cuda::Architecture architectures[] = {{8, 0}, {9, 0}, {10, 0}};

inline std::string every_op_source(std::span<const DType> dtypes = every_dtype) {
  std::string source;
  int number = 0;
  for (const auto& group : every_op_group(203, dtypes)) {
    const std::string name = fmt::format("k{}_{}", number++, group->name);
    source += cuda::write_group(std::span(&group->step, 1), name).source;
  }
  return source;
}

inline std::string random_groups_source(unsigned first, unsigned count, bool reduces) {
  std::string source;
  for (unsigned seed = first; seed < first + count; ++seed) {
    RandomGroup group(seed, {.reduces = reduces});
    source += cuda::write_group(group.steps().list, fmt::format("group{}", seed)).source;
  }
  return source;
}

inline void expect_compiles(const std::string& source, const cuda::Architecture& architecture) {
  SCOPED_TRACE(name_of(architecture));
  EXPECT_NO_THROW({
    const std::string binary = cuda::compile(source, architecture);
    EXPECT_EQ(binary.substr(1, 3), "ELF");
  });
}

}  // namespace tidemark::testing
