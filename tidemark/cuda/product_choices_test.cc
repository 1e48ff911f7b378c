// Choices of algorithms that are kept: the first counts for good, for threads and processes alike.
#include "tidemark/cuda/product_choices.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "tests/support/scratch_folder.h"

namespace tidemark::cuda {
namespace {

using testing::ScratchFolder;

ProductAlgorithm numbered(std::uint64_t number) {
  ProductAlgorithm algorithm = {};
  for (std::size_t i = 0; i < algorithm.size(); ++i) algorithm[i] = number * 1000 + i;
  return algorithm;
}
std::string only_file(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(found.empty()) << "a second file: " << entry.path();
    found = entry.path().string();
  }
  return found;
}

TEST(ProductChoices, TheFirstChoiceCountsInEveryRun) {
  const ScratchFolder folder;
  {
    const ProductChoices choices(folder.path(), "H200");
    EXPECT_EQ(choices.find("8 x 8"), std::nullopt);
    EXPECT_EQ(choices.keep("8 x 8", numbered(1)), numbered(1));
    EXPECT_EQ(choices.keep("8 x 8", numbered(2)), numbered(1));
    EXPECT_EQ(choices.find("8 x 8"), numbered(1));
  }
  const ProductChoices later(folder.path(), "H200");
  EXPECT_EQ(later.keep("8 x 8", numbered(3)), numbered(1));
  EXPECT_EQ(ProductChoices(folder.path(), "H200").find("8 x 8"), numbered(1));
  only_file(folder.path());
}

TEST(ProductChoices, AnotherFormGpuOrVersionIsAnotherEntry) {
  const ScratchFolder folder;
  const ProductChoices choices(folder.path(), "H200, cuBLASLt 130000");
  choices.keep("8 x 8", numbered(1));
  EXPECT_EQ(choices.find("8 x 9"), std::nullopt);
  EXPECT_EQ(ProductChoices(folder.path(), "H100, cuBLASLt 130000").find("8 x 8"), std::nullopt);
  EXPECT_EQ(ProductChoices(folder.path(), "H200, cuBLASLt 130001").find("8 x 8"), std::nullopt);
}

TEST(ProductChoices, WhatCannotBeKeptIsNotUsed) {
  EXPECT_EQ(ProductChoices("", "H200").keep("8 x 8", numbered(1)), std::nullopt);
  EXPECT_EQ(ProductChoices("/no/such/folder", "H200").keep("8 x 8", numbered(1)), std::nullopt);
  EXPECT_EQ(ProductChoices("", "H200").find("8 x 8"), std::nullopt);
}

TEST(ProductChoices, ADamagedEntryIsNoneAndIsReplaced) {
  const ScratchFolder folder;
  ProductChoices(folder.path(), "H200").keep("8 x 8", numbered(1));
  const std::string file = only_file(folder.path());
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
    EXPECT_EQ(ProductChoices(folder.path(), "H200").find("8 x 8"), std::nullopt) << i;
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(1);
  const ProductChoices again(folder.path(), "H200");
  EXPECT_EQ(again.find("8 x 8"), std::nullopt);
  EXPECT_EQ(again.keep("8 x 8", numbered(2)), numbered(2));
  EXPECT_EQ(ProductChoices(folder.path(), "H200").find("8 x 8"), numbered(2));
  only_file(folder.path());
}

TEST(ProductChoices, ThreadsAndProcessesSideBySideAgree) {
  const ScratchFolder folder;
  constexpr int forms = 40, processes = 4;
  const auto form = [](int f) { return std::to_string(f) + " x 8"; };
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {  // says by its status whether all that it was given is what is kept
      const ProductChoices choices(folder.path(), "H200");
      bool agrees = true;
      for (int f = 0; f < forms; ++f) {
        const auto counts = choices.keep(form(f), numbered(static_cast<std::uint64_t>(p)));
        agrees &= counts && counts == ProductChoices(folder.path(), "H200").find(form(f));
      }
      ::_exit(agrees ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const ScratchFolder other;
  const ProductChoices shared(other.path(), "H200");
  std::vector<std::thread> threads;
  std::array<std::optional<ProductAlgorithm>, 4> seen;
  for (std::size_t t = 0; t < seen.size(); ++t)
    threads.emplace_back([&, t] { seen[t] = shared.keep("8 x 8", numbered(t)); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : seen) EXPECT_EQ(one, seen[0]);
  EXPECT_TRUE(seen[0]);
}

TEST(ProductChoices, TheLibrarysOrderDecidesAmongEquals) {
  constexpr double failed = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fastest(std::array{1.0, 0.999, 0.995}), 0u);
  EXPECT_EQ(fastest(std::array{1.0, 0.9, 0.895}), 1u);
  EXPECT_EQ(fastest(std::array{failed, 2.0, 1.0}), 2u);
  EXPECT_EQ(fastest(std::array{failed, failed}), 0u);
}

}  // namespace
}  // namespace tidemark::cuda
