// Generated CUDA kernels, compiled for this machine's processor and run on it: what they compute is known
// without a GPU, but for the GPU's own versions of exp and the like.
#pragma once
#include <dlfcn.h>
#include <fmt/format.h>

#include <regex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tidemark/cuda/kernel_text.h"

namespace tidemark::testing {

class HostKernels {
 public:
  // Whose names differ. All are compiled at once, with TIDEMARK_HOST_COMPILER; throws with what it says.
  // `optimisation`: of kernels that compute much.
  explicit HostKernels(std::vector<cuda::KernelText> kernels, std::string_view optimisation = "-O0");

  // Kernel `number` on these addresses, launch after launch. `descending`: the last block and thread first,
  // for what must not depend on that. False where threads wait for each other in vain.
  bool run(std::size_t number, std::span<const void* const> in, std::span<void* const> out, void* scratch,
           bool descending = false, unsigned* failed = nullptr) const;

 private:
  using Entry = int (*)(int number, int launch, const void* const* in, void* const* out, void* scratch,
                        unsigned* failed, long long blocks, int threads, int descending);
  std::vector<cuda::KernelText> kernels_;
  Entry entry_ = nullptr;
};

// The arrays of a kernel that works in tiles (cuda/tiled_group.h), watched, so that threads are seen which
// meet in them without a barrier between.
inline std::string with_watched_tiles(const std::string& source) {
  if (source.find("_tiles {") == std::string::npos) return source;
  static const std::regex shared(R"(__shared__ unsigned char shared\[(\d+)\];)"),
      array(R"((\w+(?:::\w+)*)\* const tile(\d+) = reinterpret_cast<[^>]*>\(shared \+ (\d+)\);)");
  const std::string watched = std::regex_replace(source, shared, "$& host::watch_shared($1);");
  return std::regex_replace(watched, array, "const host::WatchedArray<$1> tile$2(shared, $3, $2);");
}

inline HostKernels::HostKernels(std::vector<cuda::KernelText> kernels, std::string_view optimisation)
    : kernels_(std::move(kernels)) {
  const ScratchFolder folder;
  std::string source =
      "#include \"tests/support/cuda_host_warps.h\"\n#include \"tidemark/base/dtype.cc\"\n"
      "#include \"tidemark/cuda/device/folds.h\"\n";
  std::string cases;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    const cuda::KernelText& kernel = kernels_[k];
    source += with_watched_tiles(kernel.source);
    for (std::size_t l = 0; l < kernel.launches.size(); ++l) {
      cases += fmt::format(
          "  if (number == {} && launch == {}) {{\n    tidemark::cuda::GroupPointers<{}, {}> at{{}};\n"
          "    for (int i = 0; i < {}; ++i) at.in[i] = in[i];\n    for (int r = 0; r < {}; ++r) at.out[r] = "
          "out[r];\n"
          "    at.scratch = scratch;\n    at.failed = failed;\n"
          "    return host::run_grid(blocks, threads, {}, descending, [&] {{ tidemark::cuda::{}(at); }});\n  "
          "}}\n",
          k, l, kernel.operands, kernel.results, kernel.operands, kernel.results, kernel.launches[l].meets,
          kernel.launches[l].kernel);
    }
  }
  source +=
      "extern \"C\" [[gnu::visibility(\"default\")]] int run_kernel(int number, int launch, const void* "
      "const* in, void* const* out, void* "
      "scratch, unsigned* failed,\n"
      "                          long long blocks, int threads, int descending) {\n" +
      cases + "  return -1;\n}\n";
  folder.write("kernels.cc", source);
  // Hidden: else variables of inline functions and templates, which is what shared memory becomes, are one
  // with those of the same name in all libraries of the process.
  const CommandRun compiled =
      run_command(fmt::format("'{}' -std=c++20 {} -U_FORTIFY_SOURCE -ffp-contract=off -fPIC -shared "
                              "-fvisibility=hidden -w -I'{}' -o '{}' '{}'",
                              TIDEMARK_HOST_COMPILER, optimisation, TIDEMARK_SOURCE_DIR,
                              folder.path("kernels.so"), folder.path("kernels.cc")));
  if (compiled.exit_code != 0)
    throw std::runtime_error(fmt::format("generated kernels do not compile for the host:\n{}", compiled.err));
  void* const library = ::dlopen(folder.path("kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(::dlerror());
  entry_ = reinterpret_cast<Entry>(::dlsym(library, "run_kernel"));
}

inline bool HostKernels::run(std::size_t number, std::span<const void* const> in, std::span<void* const> out,
                             void* scratch, bool descending, unsigned* failed) const {
  const cuda::KernelText& kernel = kernels_[number];
  for (std::size_t l = 0; l < kernel.launches.size(); ++l) {
    const cuda::KernelLaunch& launch = kernel.launches[l];
    std::vector<const void*> operands(in.begin(), in.end());
    operands.resize(static_cast<std::size_t>(kernel.operands));
    if (entry_(static_cast<int>(number), static_cast<int>(l), operands.data(), out.data(), scratch, failed,
               launch.blocks, launch.threads, descending) != 1)
      return false;
  }
  return true;
}

}  // namespace tidemark::testing
