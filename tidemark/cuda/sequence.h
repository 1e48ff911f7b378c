// The commands of a plan, or of a region, as the GPU gets them: in one stream, one after the other. What has
// no kernel here runs on the CPU, between copies; loops and branches are run by the host.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/cuda/blas.h"
#include "tidemark/cuda/kernel_set.h"
#include "tidemark/kernel/args.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/runtime/commands.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

// What all sequences of a plan share.
struct SequenceParts {
  const Context& context;
  const Blas& blas;
  ThreadPool& pool;  // of what runs on the CPU
  Stream stream{context};
  KernelSet kernels = {};
  std::optional<std::size_t> swap_kernel = {};  // which two places of a loop need
  std::vector<CUdeviceptr> arenas = {};
  // Of what runs on the CPU, one call at a time: operands, results and scratch.
  std::int64_t staging_bytes = 0;
  std::unique_ptr<PinnedMemory> staging = {};
};

class Sequence {
 public:
  explicit Sequence(SequenceParts& parts) : parts_(parts) {}
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  void add(const Command& command);
  std::size_t size() const { return items_.size(); }
  // Must the host wait for the GPU in the middle of it? It cannot be recorded then.
  bool needs_host(std::size_t item) const { return items_[item].needs_host; }

  // Where arguments and results are, from now on. Results: of a region.
  void bind(std::span<const CUdeviceptr> arguments, std::span<const CUdeviceptr> results = {});
  // Items [first, last) into the stream, once the kernels are loaded and there is staging. Throws Error for
  // what a kernel of the CPU finds wrong with its operands, DeviceError for what the GPU does.
  void put(std::size_t first, std::size_t last);
  std::int64_t held_bytes() const;

 private:
  struct KernelCall {
    std::size_t kernel = 0;
  };
  struct ProductCall {
    std::unique_ptr<Product> product;
    bool added = false;
  };
  struct CopyCall {
    std::int64_t bytes = 0;
  };
  // Operands and results have places in the staging memory.
  struct HostCall {
    void (*run)(const KernelArgs&) = nullptr;
    std::shared_ptr<const void> attributes = {};
    std::vector<TensorRef> in = {}, out = {};
    std::vector<std::int64_t> places = {};  // of both, then of the scratch
  };
  struct ControlCall {
    void (*run)(const KernelArgs&) = nullptr;
    std::shared_ptr<const void> attributes = {};
    std::vector<TensorRef> in = {}, out = {};
    std::vector<std::unique_ptr<Sequence>> regions = {};
    std::vector<RegionFunction> functions = {};
    AlignedBytes notes = {};
  };
  struct Item {
    std::variant<std::monostate, KernelCall, ProductCall, CopyCall, HostCall, ControlCall> code;
    std::vector<CUdeviceptr> at = {};  // of a kernel: its GroupPointers; else operands, results, scratch
    SourceLine where = {};
    bool needs_host = false;
  };
  struct Patch {
    std::size_t item = 0, place = 0;
    Location location;
  };

  CUdeviceptr address(const Location& location, std::size_t item, std::size_t place);
  void add_kernel(Item& item, const Command& command);
  void add_host(Item& item, const Command& command);
  void add_control(Item& item, const Command& command);
  void put_host(Item& item);
  void put_control(Item& item);
  void run_region(std::byte* const* inputs, std::byte* const* outputs);

  SequenceParts& parts_;
  std::vector<Item> items_;
  std::vector<Patch> patches_;
  std::vector<CUdeviceptr> region_arguments_, region_results_;  // of a region, in its run
};

}  // namespace tidemark::cuda

#endif
