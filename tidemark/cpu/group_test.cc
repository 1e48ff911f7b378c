// Groups of steps run as one kernel give the bits of the steps run one by one.
#include <gtest/gtest.h>

#include "tests/support/literals.h"
#include "tests/support/random_group.h"
#include "tests/support/sanitized.h"

namespace tidemark {
namespace {

using testing::Held;
using testing::RandomGroup;

Literal literal(const Type& type, const std::byte* data) {
  return {type.dtype, type.shape, {data, data + type.bytes()}};
}

void expect_group(RandomGroup& group, CpuDevice& device, const std::vector<AlignedBytes>& expected,
                  int in_place) {
  const int over = in_place < 0 ? -1 : group.operand_for(in_place);
  if (in_place >= 0 && over < 0) return;
  const RandomGroup::Steps steps = group.steps();
  std::int64_t scratch_bytes = 0;
  for (const GroupStep& step : steps.list) {
    scratch_bytes = std::max(scratch_bytes, test_target().scratch(step.call));
    EXPECT_NE(test_target().fusion(step.call), Fusion::none) << step.call.op->name;
  }
  const CpuLaunch launch = device.prepare_group(steps.list);
  std::vector<TensorRef> in, out;
  for (const Held& held : group.operands()) in.push_back(held.ref);
  std::vector<Held> memory;
  for (ValueId v : group.results()) {
    memory.emplace_back(group.graph().type(v));
    out.push_back(memory.back().ref);
  }
  AlignedBytes saved;
  if (over >= 0) {
    const Held& held = group.operands()[static_cast<std::size_t>(over)];
    saved = allocate_aligned(held.bytes);
    std::memcpy(saved.get(), held.memory.get(), static_cast<std::size_t>(held.bytes));
    out[static_cast<std::size_t>(in_place)].data = held.ref.data;
  }
  const AlignedBytes scratch = allocate_aligned(scratch_bytes + 1);
  launch.run({.in = in,
              .out = out,
              .attributes = launch.attributes.get(),
              .scratch = scratch.get(),
              .pool = &device.pool()});
  for (std::size_t r = 0; r < out.size(); ++r) {
    // Which of two NaN a sum hands on is up to the compiler, and not the same for a vector and for a tail.
    const Type& type = group.graph().type(group.results()[r]);
    EXPECT_EQ(testing::bit_difference(literal(type, out[r].data), literal(type, expected[r].get()),
                                      testing::NaNs::alike),
              "")
        << "result " << r << " of " << out.size() << ", over operand " << over << ", shape "
        << to_string(group.shape());
  }
  if (over >= 0) {
    const Held& held = group.operands()[static_cast<std::size_t>(over)];
    std::memcpy(held.memory.get(), saved.get(), static_cast<std::size_t>(held.bytes));
  }
}

void expect_same_bits(RandomGroup& group, int threads) {
  CpuDevice device(threads);
  const std::vector<AlignedBytes> alone = group.run_alone(device);
  expect_group(group, device, alone, -1);
  for (std::size_t r = 0; r < group.results().size(); ++r)
    expect_group(group, device, alone, static_cast<int>(r));
}

TEST(Group, RandomTreesGiveTheBitsOfTheirStepsOneByOne) {
  for (unsigned seed = 0; seed < 400 / sanitizer_share; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed);
    for (int threads : {1, 2}) expect_same_bits(group, threads);
    if (HasFailure()) break;
  }
}

TEST(Group, AReductionAtTheEndFoldsInItsOwnOrder) {
  for (unsigned seed = 1000; seed < 1000 + 300 / sanitizer_share; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed, {.reduces = true});
    for (int threads : {1, 2}) expect_same_bits(group, threads);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace tidemark
