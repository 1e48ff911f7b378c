// As learned_memory_test.cc, for all models of the zoo, without a budget and in the least memory. Left out
// are the 8-bit steps of the largest (`mixtral-8x7b`, and `llama-7b` in the least memory): hundreds of
// thousands of nodes, minutes each.
#include "tests/support/learned_memory.h"

namespace tidemark {
namespace {

using enum nn::OptimizerKind;

class LearnedMemorySlow : public ::testing::TestWithParam<std::string_view> {};

bool is_huge(std::string_view name) { return name == "mixtral-8x7b"; }

TEST_P(LearnedMemorySlow, IsWhatAdamWPromises) {
  expect_one_layers_gradient(GetParam(), adamw, Budget::none);
  expect_one_layers_gradient(GetParam(), adamw, Budget::least, 0.02);
}
TEST_P(LearnedMemorySlow, IsWhatEightBitsPromise) {
  if (is_huge(GetParam())) GTEST_SKIP() << "half a million nodes";
  expect_one_layers_gradient(GetParam(), adamw8bit, Budget::none, 0.02);
}
TEST_P(LearnedMemorySlow, IsWhatEightBitsPromiseInTheLeastMemory) {
  if (is_huge(GetParam()) || GetParam() == "llama-7b") GTEST_SKIP() << "hundreds of thousands of nodes";
  expect_one_layers_gradient(GetParam(), adamw8bit, Budget::least, 0.005);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> list;
  for (const nn::ZooModel& model : nn::zoo()) list.push_back(model.name);
  return list;
}
INSTANTIATE_TEST_SUITE_P(Zoo, LearnedMemorySlow, ::testing::ValuesIn(names()), [](const auto& info) {
  std::string name(info.param);
  std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
  return name;
});

}  // namespace
}  // namespace tidemark
