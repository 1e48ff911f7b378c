#include "tidemark/cuda/loop_moves.h"

#include <array>
#include <vector>

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

Access access(CUdeviceptr at, std::int64_t bytes, bool writes) {
  return {at, at + static_cast<CUdeviceptr>(bytes), writes};
}

// Two stretches of memory change places.
KernelText write_swap() {
  KernelText kernel{.operands = 1, .results = 2};
  kernel.source =
      "#include \"tidemark/cuda/device/early_start.h\"\n\nnamespace tidemark::cuda {\n"
      "struct SwapPointers { const void* bytes; unsigned char *a, *b; void* scratch; };\n"
      "extern \"C\" __global__ void tidemark_swap(const SwapPointers at) {\n"
      "  await_earlier_kernels();\n"
      "  const unsigned long long count = reinterpret_cast<unsigned long long>(at.bytes);\n"
      "  const unsigned long long step = 1ull * gridDim.x * blockDim.x;\n"
      "  for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {\n"
      "    const unsigned char x = at.a[i];\n    at.a[i] = at.b[i];\n    at.b[i] = x;\n  }\n}\n"
      "}  // namespace tidemark::cuda\n";
  kernel.launches.push_back({.kernel = "tidemark_swap", .blocks = 264, .threads = 256});
  return kernel;
}

LoopMoves& moves_of(void* self) { return *static_cast<LoopMoves*>(self); }

}  // namespace

void LoopMoves::add_kernels() {
  if (swap_kernel_) return;
  swap_kernel_ = kernels_.add(write_swap());
  copies_kernel_ = kernels_.add(write_copies());
}

FarMemory LoopMoves::far(std::byte* notes) {
  FarMemory far{.self = this, .notes = notes};
  far.copy = [](void* self, std::byte* to, const std::byte* from, std::int64_t bytes) {
    moves_of(self).copy(far_address(to), far_address(from), bytes);
  };
  far.clear = [](void* self, std::byte* to, std::int64_t bytes) {
    moves_of(self).clear(far_address(to), bytes);
  };
  far.swap = [](void* self, std::byte* a, std::byte* b, std::int64_t bytes) {
    moves_of(self).swap(far_address(a), far_address(b), bytes);
  };
  far.fetch = [](void* self, std::byte* to, const std::byte* from, std::int64_t bytes) {
    moves_of(self).fetch(to, far_address(from), bytes);
  };
  far.put = [](void* self, std::byte* to, const std::byte* from, std::int64_t bytes) {
    moves_of(self).put(far_address(to), from, bytes);
  };
  return far;
}

void LoopMoves::copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes) {
  if (bytes == 0 || to == from) return;
  if (copies_.add(to, from, bytes)) return;
  put_copies();
  copies_.add(to, from, bytes);
}

void LoopMoves::put_copies() {
  if (copies_.count() == 0) return;
  std::vector<Access> accesses;
  for (std::size_t k = 0; k < copies_.count(); ++k) {
    accesses.push_back(access(copies_.from(k), copies_.bytes(), false));
    accesses.push_back(access(copies_.to(k), copies_.bytes(), true));
  }
  recorder_.add(accesses, [&] {
    if (copies_.count() == 1) {
      stream_.copy(copies_.to(0), copies_.from(0), copies_.bytes());
    } else {
      kernels_.put(*copies_kernel_, copies_.pointers().data(), stream_);
    }
  });
  copies_.clear();
}

void LoopMoves::clear(CUdeviceptr to, std::int64_t bytes) {
  put_copies();
  recorder_.add(std::array{access(to, bytes, true)}, [&] { stream_.clear(to, bytes); });
}

void LoopMoves::swap(CUdeviceptr a, CUdeviceptr b, std::int64_t bytes) {
  put_copies();
  const CUdeviceptr pointers[] = {static_cast<CUdeviceptr>(bytes), a, b, 0};
  recorder_.add(std::array{access(a, bytes, true), access(b, bytes, true)},
                [&] { kernels_.put(*swap_kernel_, pointers, stream_); });
}

void LoopMoves::fetch(std::byte* to, CUdeviceptr from, std::int64_t bytes) {
  put_copies();
  flags_->fetch(stream_);
  stream_.copy_to_host(to, from, bytes);
  stream_.wait();
  if (flags_->any_failed()) throw FlagSeen{};
}

void LoopMoves::put(CUdeviceptr to, const std::byte* from, std::int64_t bytes) {
  put_copies();
  stream_.copy_to_device(to, from, bytes);
  stream_.wait();
}

}  // namespace tidemark::cuda

#endif
