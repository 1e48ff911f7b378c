#include "tidemark/cuda/kernel_set.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "tidemark/base/check.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

std::ptrdiff_t count_of(std::string_view text, std::string_view part) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace

// One source may be launched in several ways: a part that is left over has fewer blocks.
std::size_t KernelSet::add(KernelText kernel) {
  constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();  // of a grid
  TM_CHECK(count_of(kernel.source, "__global__") == count_of(kernel.source, "await_earlier_kernels();"),
           "a kernel does not wait for those before it (device/early_start.h):\n{}", kernel.source);
  std::string text = kernel.source;
  for (const auto* launches : {&kernel.launches, &kernel.launches_on_90}) {
    for (const KernelLaunch& launch : *launches) {
      TM_CHECK(launch.blocks <= most_blocks, "{}: {} blocks of threads are more than a GPU launches",
               launch.kernel, launch.blocks);
      text += fmt::format("\n{} {} {} {}", launch.kernel, launch.blocks, launch.threads, launch.shared_bytes);
    }
    text += '\n';
  }
  const auto [known, fresh] = by_text_.emplace(std::move(text), kernels_.size());
  if (fresh) kernels_.push_back({.text = std::move(kernel), .binary = {}, .module = {}, .functions = {}});
  return known->second;
}

void KernelSet::load(const Context& context, KernelCache& cache, ThreadPool& pool) {
  parallel_for(pool, std::ssize(kernels_), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      Kernel& kernel = kernels_[static_cast<std::size_t>(k)];
      if (!kernel.binary && !kernel.text.launches.empty())
        kernel.binary = cache.find_or_compile(kernel.text.source, context.facts().architecture);
    }
  });
  for (Kernel& kernel : kernels_) {
    if (kernel.module || kernel.text.launches.empty()) continue;
    kernel.module = std::make_unique<LoadedModule>(context, *kernel.binary);
    if (has_warpgroups(context.facts().architecture) && !kernel.text.launches_on_90.empty())
      kernel.text.launches = kernel.text.launches_on_90;
    for (const KernelLaunch& launch : kernel.text.launches) {
      kernel.functions.push_back(kernel.module->function(launch.kernel));
      if (launch.shared_bytes <= 48 << 10) continue;  // more must be asked for
      context.check(context.driver().function_attribute(kernel.functions.back(),
                                                        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                        static_cast<int>(launch.shared_bytes)),
                    "shared memory was asked for");
    }
  }
}

void KernelSet::put(std::size_t kernel, const void* pointers, const Stream& stream) const {
  const Kernel& loaded = kernels_[kernel];
  void* parameters[] = {const_cast<void*>(pointers)};
  const bool early = starts_early(stream.context().facts().architecture);
  for (std::size_t l = 0; l < loaded.functions.size(); ++l) {
    const KernelLaunch& launch = loaded.text.launches[l];
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = static_cast<unsigned>(launch.blocks);
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = static_cast<unsigned>(launch.threads);
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
    config.hStream = stream.get();
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    stream.context().check(
        stream.context().driver().launch(&config, loaded.functions[l], parameters, nullptr),
        "a kernel was launched");
  }
}

}  // namespace tidemark::cuda

#endif
