// Kernels that are kept: found again, never wrong, and never a reason to fail.
#include "tidemark/cuda/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/compiled_groups.h"
#include "tests/support/scratch_folder.h"

namespace tidemark::cuda {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

// A compiler for machines without one, whose binaries are large enough to damage.
std::string pretended(const std::string& text, const Architecture& architecture) {
  std::string binary = name_of(architecture);
  while (binary.size() < 5000) binary += text;
  return binary;
}

const std::string source = "extern \"C\" __global__ void k(float* x) { x[0] += 1; }";
constexpr Architecture hopper{9, 0};

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void set_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// With an environment variable as given, or unset, until it goes.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(KernelCache, TheFolderIsNamedByTheUserOrLiesWithOtherCaches) {
  const Environment own("TIDEMARK_CUDA_CACHE", nullptr), home("HOME", "/home/someone");
  {
    const Environment caches("XDG_CACHE_HOME", "/caches");
    EXPECT_EQ(KernelCache::default_folder(), "/caches/tidemark/cuda");
    const Environment named("TIDEMARK_CUDA_CACHE", "/named");
    EXPECT_EQ(KernelCache::default_folder(), "/named");
  }
  const Environment caches("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(KernelCache::default_folder(), "/home/someone/.cache/tidemark/cuda");
  const Environment off("TIDEMARK_CUDA_CACHE", ""), nowhere("HOME", nullptr);
  EXPECT_EQ(KernelCache::default_folder(), "");
}

TEST(KernelCache, AKernelIsCompiledOnceForAllProcesses) {
  const ScratchFolder folder;
  const std::string path = folder.path("made/on/the/way");
  KernelCache first(path, pretended);
  const auto binary = first.find_or_compile(source, hopper);
  EXPECT_EQ(first.find_or_compile(source, hopper), binary);
  EXPECT_EQ(first.counts().compiled, 1);
  EXPECT_EQ(first.counts().from_memory, 1);
  EXPECT_EQ(files_in(path).size(), 1u);

  KernelCache second(path, pretended);
  EXPECT_EQ(*second.find_or_compile(source, hopper), *binary);
  EXPECT_EQ(second.counts().compiled, 0);
  EXPECT_EQ(second.counts().from_disk, 1);
  EXPECT_EQ(second.problem(), "");
}

TEST(KernelCache, AnotherSourceOrArchitectureIsAnotherEntry) {
  const ScratchFolder folder;
  KernelCache cache(folder.path(), pretended);
  cache.find_or_compile(source, hopper);
  cache.find_or_compile(source, {8, 0});
  cache.find_or_compile(source + " ", hopper);
  EXPECT_EQ(cache.counts().compiled, 3);
  EXPECT_EQ(files_in(folder.path()).size(), 3u);
}

TEST(KernelCache, ADamagedEntryIsCompiledAgainAndReplaced) {
  const ScratchFolder folder;
  const std::string right = *KernelCache(folder.path(), pretended).find_or_compile(source, hopper);
  const std::string entry = files_in(folder.path())[0], whole = bytes_of_file(entry);
  std::vector<std::string> damages = {"",
                                      "short",
                                      whole.substr(0, whole.size() - 1),
                                      whole + "x",
                                      whole.substr(0, 40),
                                      std::string(whole.size(), '\0')};
  for (const std::size_t at : {0u, 9u, 17u, 25u, 33u, 40u, 1000u, static_cast<unsigned>(whole.size()) - 1}) {
    damages.push_back(whole);
    damages.back()[at] ^= 1;
  }
  std::string huge = whole;  // an entry that says it has 2^60 bytes
  huge[31] = 0x10;
  damages.push_back(huge);
  for (const std::string& damage : damages) {
    set_bytes(entry, damage);
    KernelCache cache(folder.path(), pretended);
    EXPECT_EQ(*cache.find_or_compile(source, hopper), right);
    EXPECT_EQ(cache.counts().damaged, 1);
    EXPECT_EQ(cache.counts().compiled, 1);
    EXPECT_EQ(bytes_of_file(entry), whole);
  }
}

TEST(KernelCache, AnEntryUnderAnotherNameIsNotTaken) {
  const ScratchFolder folder, other;
  KernelCache(folder.path(), pretended).find_or_compile(source, hopper);
  KernelCache(other.path(), pretended).find_or_compile(source, {8, 0});
  const std::string entry = files_in(folder.path())[0];
  set_bytes(entry, bytes_of_file(files_in(other.path())[0]));
  KernelCache cache(folder.path(), pretended);
  cache.find_or_compile(source, hopper);
  EXPECT_EQ(cache.counts().damaged, 1);
}

TEST(KernelCache, LinksAndFoldersInTheWayAreNotFollowed) {
  const ScratchFolder folder;
  const std::string right = *KernelCache(folder.path(), pretended).find_or_compile(source, hopper);
  const std::string entry = files_in(folder.path())[0];
  std::filesystem::remove(entry);
  const std::string elsewhere = folder.write("elsewhere", "not a kernel");
  std::filesystem::create_symlink(elsewhere, entry);
  EXPECT_EQ(*KernelCache(folder.path(), pretended).find_or_compile(source, hopper), right);
  EXPECT_EQ(folder.read("elsewhere"), "not a kernel");

  std::filesystem::remove(entry);
  std::filesystem::create_directory(entry);
  KernelCache cache(folder.path(), pretended);
  EXPECT_EQ(*cache.find_or_compile(source, hopper), right);
  EXPECT_EQ(cache.counts().unwritten, 1);
  EXPECT_THAT(cache.problem(), HasSubstr("was not kept"));
}

TEST(KernelCache, WhereNothingCanBeKeptKernelsAreCompiledAllTheSame) {
  const ScratchFolder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& path : {std::string("/proc/no/such"), file, file + "/below"}) {
    KernelCache cache(path, pretended);
    EXPECT_FALSE(cache.find_or_compile(source, hopper)->empty());
    EXPECT_EQ(cache.counts().unwritten, 1) << path;
    EXPECT_THAT(cache.problem(), HasSubstr(path));
  }
  KernelCache off("", pretended);
  EXPECT_FALSE(off.find_or_compile(source, hopper)->empty());
  EXPECT_EQ(off.counts().unwritten, 0);
  EXPECT_EQ(off.problem(), "");
}

TEST(KernelCache, AFolderThatGoesAwayMeanwhileIsNoError) {
  const ScratchFolder folder;
  const std::string path = folder.path("gone");
  KernelCache cache(path, pretended);
  std::filesystem::remove_all(path);
  EXPECT_FALSE(cache.find_or_compile(source, hopper)->empty());
  EXPECT_EQ(cache.counts().unwritten, 1);
}

TEST(KernelCache, ManyThreadsAndCachesOfOneFolderAgree) {
  const ScratchFolder folder;
  KernelCache one(folder.path(), pretended), two(folder.path(), pretended);
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back([&, t] { got[t] = *(t % 2 ? one : two).find_or_compile(source, hopper); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& binary : got) EXPECT_EQ(binary, got[0]);
  EXPECT_EQ(files_in(folder.path()).size(), 1u);
  EXPECT_EQ(*KernelCache(folder.path(), pretended).find_or_compile(source, hopper), got[0]);
}

TEST(KernelCache, WhatDoesNotCompileIsNotKept) {
  const ScratchFolder folder;
  KernelCache cache(folder.path(), [](const std::string&, const Architecture&) -> std::string {
    throw std::runtime_error("no");
  });
  EXPECT_THROW(cache.find_or_compile(source, hopper), std::runtime_error);
  EXPECT_EQ(cache.counts().compiled, 0);
  EXPECT_TRUE(folder.empty());
}

TEST(KernelCache, KeepsWhatNvrtcMakes) {
  TM_NEEDS_COMPILER();
  const ScratchFolder folder;
  const std::string binary = *KernelCache(folder.path()).find_or_compile(source, hopper);
  EXPECT_EQ(binary, compile(source, hopper));
  KernelCache again(folder.path());
  EXPECT_EQ(*again.find_or_compile(source, hopper), binary);
  EXPECT_EQ(again.counts().from_disk, 1);
}

}  // namespace
}  // namespace tidemark::cuda
