// Kernels that are kept: found again, never wrong, and never a reason to fail.
#include "tidemark/cuda/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
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

std::int64_t bytes_in(const std::string& folder) {
  std::int64_t total = 0;
  for (const std::string& file : files_in(folder))
    total += static_cast<std::int64_t>(std::filesystem::file_size(file));
  return total;
}
std::string kernel(int number) { return source + "//" + std::to_string(number); }
void set_age(const std::string& file, int hours) {
  std::filesystem::last_write_time(file,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST(KernelCache, TheOldestUsedGoesWhereTheLimitIsReached) {
  const ScratchFolder folder;
  constexpr Bytes three(3 * 5200);
  for (int k = 0; k < 3; ++k) {
    KernelCache(folder.path(), pretended, three).find_or_compile(kernel(k), hopper);
    for (const std::string& file : files_in(folder.path())) {  // older by an hour each
      const auto now = std::filesystem::last_write_time(file);
      std::filesystem::last_write_time(file, now - std::chrono::hours(1));
    }
  }
  ASSERT_EQ(files_in(folder.path()).size(), 3u);
  KernelCache first(folder.path(), pretended, three);
  first.find_or_compile(kernel(0), hopper);  // used now: it is the youngest
  first.find_or_compile(kernel(3), hopper);
  EXPECT_EQ(first.counts().removed, 1);
  KernelCache later(folder.path(), pretended, three);
  for (const int k : {0, 2, 3}) later.find_or_compile(kernel(k), hopper);
  EXPECT_EQ(later.counts().from_disk, 3);
  later.find_or_compile(kernel(1), hopper);
  EXPECT_EQ(later.counts().compiled, 1);
}

TEST(KernelCache, ALimitBelowOneKernelKeepsTheLastAlone) {
  const ScratchFolder folder;
  KernelCache cache(folder.path(), pretended, Bytes(0));
  for (int k = 0; k < 3; ++k) cache.find_or_compile(kernel(k), hopper);
  EXPECT_EQ(files_in(folder.path()).size(), 1u);
  EXPECT_EQ(cache.counts().unwritten, 0);
  EXPECT_EQ(*cache.find_or_compile(kernel(0), hopper), pretended(kernel(0), hopper));  // from memory
}

TEST(KernelCache, WhatAKilledProcessLeftIsClearedAway) {
  const ScratchFolder folder;
  set_bytes(folder.path("writing-0123"), "half");
  set_bytes(folder.path("writing-4567"), "of another that writes now");
  set_bytes(folder.path("0123.product"), "a choice, which stays however old");
  set_age(folder.path("writing-0123"), 2);
  set_age(folder.path("0123.product"), 2000);
  KernelCache(folder.path(), pretended, Bytes(0)).find_or_compile(source, hopper);
  EXPECT_FALSE(std::filesystem::exists(folder.path("writing-0123")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("writing-4567")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("0123.product")));
}

TEST(KernelCache, ThreadsAndProcessesShareALimit) {
  const ScratchFolder folder;
  constexpr int kernels = 24, threads = 3, processes = 3;
  constexpr Bytes some(6 * 5200);
  const auto use = [&] {  // returns whether every kernel was the right one, and nothing was damaged
    KernelCache cache(folder.path(), pretended, some);
    std::atomic<bool> right = true;
    std::vector<std::thread> list;
    for (int t = 0; t < threads; ++t) {
      list.emplace_back([&, t] {
        for (int i = 0; i < kernels; ++i) {
          const int k = (i * (t + 1)) % kernels;
          KernelCache own(folder.path(), pretended, some);
          for (KernelCache* one : {&cache, &own})
            if (*one->find_or_compile(kernel(k), hopper) != pretended(kernel(k), hopper)) right = false;
          if (own.counts().damaged > 0) right = false;
        }
      });
    }
    for (std::thread& thread : list) thread.join();
    return right && cache.counts().damaged == 0;
  };
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(use() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  KernelCache(folder.path(), pretended, some).find_or_compile(kernel(kernels), hopper);
  EXPECT_LE(bytes_in(folder.path()), some.count);
  EXPECT_GE(files_in(folder.path()).size(), 1u);
}

TEST(KernelCache, TheLimitIsAnEnvironmentVariable) {
  {
    const Environment limit("TIDEMARK_CUDA_CACHE_LIMIT", "3MiB");
    EXPECT_EQ(KernelCache::default_limit().count, 3 << 20);
  }
  for (const char* other : {static_cast<const char*>(nullptr), "", "lots"}) {
    const Environment limit("TIDEMARK_CUDA_CACHE_LIMIT", other);
    EXPECT_EQ(KernelCache::default_limit().count, std::int64_t{1} << 30);
  }
}

}  // namespace
}  // namespace tidemark::cuda
