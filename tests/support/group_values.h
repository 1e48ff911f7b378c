// Groups as generated kernels, run on the host, against the CPU's own kernels.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/support/host_kernels.h"
#include "tests/support/op_groups.h"
#include "tests/support/random_group.h"
#include "tests/support/run_kernel.h"
#include "tidemark/cuda/group_source.h"

namespace tidemark::testing {

// Memory that begins one element behind an aligned address, or at one.
class Shifted {
 public:
  Shifted(std::int64_t bytes, std::int64_t shift)
      : memory_(allocate_aligned(bytes + shift + 1)), shift_(shift) {
    std::memset(memory_.get(), 0x5a, static_cast<std::size_t>(bytes + shift));
  }
  std::byte* get() const { return memory_.get() + shift_; }

 private:
  AlignedBytes memory_;
  std::int64_t shift_;
};

inline Literal literal_at(const Type& type, const std::byte* data) {
  return {type.dtype, type.shape, {data, data + type.bytes()}};
}

// In units of the last place of the dtype, of the larger and of `floor` at least; NaN equals NaN.
inline double units_apart(DType dtype, double a, double b, double floor = 0) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) return inf;
  constexpr int digits[] = {24, 53, 8, 11}, least[] = {-149, -1074, -133, -24};
  const auto d = static_cast<std::size_t>(dtype);
  const int exponent =
      std::max(std::ilogb(std::max({std::fabs(a), std::fabs(b), floor})) - digits[d] + 1, least[d]);
  return std::ldexp(std::fabs(a - b), -exponent);
}

// Runs the group on aligned and on shifted addresses, its threads in both orders, and with each result over
// an operand where the planner might put it; expects the bits of its steps run one by one.
inline void expect_cpu_bits(RandomGroup& group, const HostKernels& kernels, std::size_t number,
                            std::int64_t scratch_bytes) {
  CpuDevice device(1);
  const std::vector<AlignedBytes> expected = group.run_alone(device);
  const auto check = [&](bool shifted, bool descending, int in_place) {
    const int over = in_place < 0 ? -1 : group.operand_for(in_place);
    if (in_place >= 0 && over < 0) return;
    std::vector<Shifted> memory;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const Held& held : group.operands()) {
      memory.emplace_back(held.bytes, shifted ? size_of(held.ref.dtype) : 0);
      std::memcpy(memory.back().get(), held.memory.get(), static_cast<std::size_t>(held.bytes));
      in.push_back(memory.back().get() + (held.ref.data - held.memory.get()));
    }
    for (std::size_t r = 0; r < group.results().size(); ++r) {
      const Type& type = group.graph().type(group.results()[r]);
      memory.emplace_back(type.bytes(), shifted ? size_of(type.dtype) : 0);
      out.push_back(static_cast<int>(r) == in_place ? const_cast<void*>(in[static_cast<std::size_t>(over)])
                                                    : memory.back().get());
    }
    const AlignedBytes scratch = allocate_aligned(scratch_bytes + 1);
    ASSERT_TRUE(kernels.run(number, in, out, scratch.get(), descending)) << "threads wait in vain";
    for (std::size_t r = 0; r < out.size(); ++r) {
      const Type& type = group.graph().type(group.results()[r]);
      EXPECT_EQ(bit_difference(literal_at(type, static_cast<const std::byte*>(out[r])),
                               literal_at(type, expected[r].get()), NaNs::alike),
                "")
          << "result " << r << ", shape " << to_string(group.shape()) << ", shifted " << shifted
          << ", descending " << descending << ", over operand " << over;
    }
  };
  for (const bool shifted : {false, true}) {
    for (const bool descending : {false, true}) check(shifted, descending, -1);
  }
  for (std::size_t r = 0; r < group.results().size(); ++r) check(false, true, static_cast<int>(r));
}

// Groups of exact steps, by seeds [first, first + count).
inline void expect_exact_groups(unsigned first, unsigned count, bool reduces) {
  std::vector<std::unique_ptr<RandomGroup>> groups;
  std::vector<cuda::KernelText> kernels;
  for (unsigned seed = first; seed < first + count; ++seed) {
    groups.push_back(
        std::make_unique<RandomGroup>(seed, RandomGroupOptions{.reduces = reduces, .functions = false}));
    kernels.push_back(cuda::write_group(groups.back()->steps().list, fmt::format("group{}", seed)));
  }
  const HostKernels compiled(kernels);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    SCOPED_TRACE(fmt::format("seed {}", first + g));
    expect_cpu_bits(*groups[g], compiled, g, kernels[g].scratch_bytes);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << kernels[g].source;
      return;
    }
  }
}

}  // namespace tidemark::testing
