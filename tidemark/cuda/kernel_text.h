// A kernel as CUDA C++ and how it is launched: what is made of a fusion group (group_source.h) or of a call
// alone (call_source.h). Plain data, made where no GPU is.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::cuda {

// Indices of fewer bits are faster. Threads step past the end by at most all threads of a launch.
inline constexpr std::int64_t most_in_32_bits = std::int64_t{1} << 30;
inline constexpr std::int64_t most_pack_bytes = 16;  // that a thread loads or stores at once

// One launch: blocks and threads in one dimension. Its parameter is a GroupPointers (device/elements.h).
struct KernelLaunch {
  std::string kernel;
  std::int64_t blocks = 0;
  int threads = 0;
  bool meets = false;  // threads of a block wait for each other
  // Of memory that the threads of a block share, beside what the kernel declares.
  std::int64_t shared_bytes = 0;
};

struct KernelText {
  std::string source = {};                  // whole: it includes what it needs (device_texts.h)
  std::vector<KernelLaunch> launches = {};  // one after the other; none where there is nothing to compute
  // The same kernels on a GPU of 9.0, where their bodies are others there (device/wgmma.h); else empty.
  std::vector<KernelLaunch> launches_on_90 = {};
  std::int64_t scratch_bytes = 0;
  int operands = 0, results = 0;  // places of GroupPointers; at least one each
};

// The definition of a kernel that does `body`, a statement, with its parameter `at`, once those that it
// follows have ended (device/early_start.h). `bounds`: threads of a block, and how many blocks a processor
// should hold.
std::string define_kernel(std::string_view bounds, std::string_view name, std::string_view parameter,
                          std::string_view body);

}  // namespace tidemark::cuda
