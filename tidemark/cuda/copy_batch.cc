#include "tidemark/cuda/copy_batch.h"

#include <fmt/format.h>

namespace tidemark::cuda {

bool CopyBatch::add(std::uint64_t to, std::uint64_t from, std::int64_t bytes) {
  if (count_ == most || (count_ > 0 && bytes != bytes_)) return false;
  const auto meet = [&](std::uint64_t a, std::uint64_t b) {
    const auto size = static_cast<std::uint64_t>(bytes);
    return a < b + size && b < a + size;
  };
  for (std::size_t k = 0; k < count_; ++k) {
    if (meet(to, to_[k]) || meet(to, from_[k]) || meet(from, to_[k])) return false;
  }
  to_[count_] = to;
  from_[count_++] = from;
  bytes_ = bytes;
  return true;
}

std::array<std::uint64_t, 2 * CopyBatch::most + 2> CopyBatch::pointers() const {
  std::array<std::uint64_t, 2 * most + 2> all = {};
  for (std::size_t k = 0; k < count_; ++k) {
    all[k] = from_[k];
    all[most + k] = to_[k];
  }
  all[2 * most] = static_cast<std::uint64_t>(bytes_);
  return all;
}

KernelText write_copies() {
  KernelText kernel{.operands = static_cast<int>(CopyBatch::most),
                    .results = static_cast<int>(CopyBatch::most)};
  kernel.source = fmt::format(
      R"(#include "tidemark/cuda/device/elements.h"

namespace tidemark::cuda {{
extern "C" __global__ void tidemark_copies(const GroupPointers<{0}, {0}> at) {{
  await_earlier_kernels();
  using Piece = Pack<4, unsigned>;
  const unsigned long long bytes = reinterpret_cast<unsigned long long>(at.scratch);
  const unsigned long long first = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long step = 1ull * gridDim.x * blockDim.x;
  for (int k = 0; k < {0} && at.in[k]; ++k) {{
    const auto* from = static_cast<const unsigned char*>(at.in[k]);
    auto* to = static_cast<unsigned char*>(at.out[k]);
    const bool aligned = (reinterpret_cast<unsigned long long>(from) |
                          reinterpret_cast<unsigned long long>(to)) % sizeof(Piece) == 0;
    const unsigned long long pieces = aligned ? bytes / sizeof(Piece) : 0;
    for (unsigned long long i = first; i < pieces; i += step)
      reinterpret_cast<Piece*>(to)[i] = reinterpret_cast<const Piece*>(from)[i];
    for (unsigned long long i = pieces * sizeof(Piece) + first; i < bytes; i += step) to[i] = from[i];
  }}
}}
}}  // namespace tidemark::cuda
)",
      CopyBatch::most);
  kernel.launches.push_back({.kernel = "tidemark_copies", .blocks = 264, .threads = 256});
  return kernel;
}

}  // namespace tidemark::cuda
