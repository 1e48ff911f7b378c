// The commands of a plan, or of a region, as the GPU gets them: in one stream, one after the other, and what
// only moves values in streams beside it (cuda/lane_streams.h). What has no kernel here runs on the CPU,
// between copies; loops and branches are run by the host. Calls that can fail for what their operands hold
// say so through flags (cuda/failure_flags.h); the CPU's kernel then finds out what is wrong.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/cuda/blas.h"
#include "tidemark/cuda/convolutions.h"
#include "tidemark/cuda/disk_copies.h"
#include "tidemark/cuda/failure_flags.h"
#include "tidemark/cuda/head.h"
#include "tidemark/cuda/item_clock.h"
#include "tidemark/cuda/kernel_set.h"
#include "tidemark/cuda/lane_streams.h"
#include "tidemark/cuda/loop_moves.h"
#include "tidemark/cuda/recorder.h"
#include "tidemark/kernel/args.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/runtime/commands.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

// What all sequences of a plan share.
struct SequenceParts {
  const Context& context;
  const Blas& blas;
  PlanAlgorithms algorithms;
  ThreadPool& pool;   // of what runs on the CPU
  bool tf32 = false;  // products of f32 are in TF32
  Stream stream{context};
  KernelSet kernels = {};
  Convolutions convolutions{stream};
  Recorder recorder{stream};
  LoopMoves moves{stream, recorder, kernels};
  std::vector<CUdeviceptr> arenas = {};
  std::unique_ptr<DiskCopies> disks = {};  // null: no arena is a file
  // Of what runs on the CPU, one call at a time: operands, results and scratch.
  std::int64_t staging_bytes = 0;
  std::unique_ptr<PinnedMemory> staging = {};
  std::unique_ptr<FailureFlags> failures = {};  // of all calls that can fail
  bool looks_first = false;                     // in the loop at hand: do these run on the CPU?
};

class Sequence {
 public:
  explicit Sequence(SequenceParts& parts, bool is_region = false) : parts_(parts), is_region_(is_region) {}
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  void add(const Command& command);
  void begin_lanes();  // once all of a plan's are there
  std::size_t size() const { return items_.size(); }
  // Must the host wait for the GPU in the middle of it? It cannot be recorded then.
  bool needs_host(std::size_t item) const { return items_[item].needs_host; }
  bool uses_disk(std::size_t first, std::size_t last) const;

  std::size_t flags() const;          // how many: one for each call that can fail, those of loops included
  void set_flags(std::size_t first);  // once there are as many as that; these begin there
  // The first item of [first, last) that failed, by the flags that were fetched; their end: none did.
  std::size_t first_failed(std::size_t first, std::size_t last) const;
  bool can_fail(std::size_t first, std::size_t last) const;
  // Runs the item's calls that can fail on the CPU, whose kernels throw for their operands: those of the item
  // are in place again.
  [[noreturn]] void throw_failure(std::size_t item);

  // Where arguments and results are, from now on. Results: of a region.
  void bind(std::span<const CUdeviceptr> arguments, std::span<const CUdeviceptr> results = {});
  // Items [first, last) into the stream, once the kernels are loaded and there is staging; what follows in it
  // is behind all of them. Throws Error for what a kernel of the CPU finds wrong with its operands,
  // DeviceError for what the GPU does.
  void put(std::size_t first, std::size_t last);
  void set_clock(const ItemClock* clock) { clock_ = clock; }  // that `put` tells of its items; null: none
  // The same while the stream is recorded: items follow those that touch their memory, those that they wait
  // for by the plan, and on a lane that moves values the one before; no others. Of a loop, its steps do by
  // themselves.
  void record(std::size_t first, std::size_t last);
  std::int64_t held_bytes() const;

 private:
  struct KernelCall {
    std::size_t kernel = 0;
  };
  struct ProductCall {
    struct Pack {
      std::size_t kernel = 0, operand = 0;
      std::int64_t offset = 0;  // in the scratch
    };
    std::unique_ptr<Product> product;
    int sum = 2;  // the operand that is added
    bool added = false, scaled = false;
    std::vector<Pack> packs = {};
    std::optional<std::size_t> sum_copy = {};  // the kernel that copies what is added to the result
  };
  struct ConvCall {
    std::size_t number = 0;           // of SequenceParts::convolutions
    std::size_t x = 0, w = 0, y = 0;  // among the item's addresses
  };
  struct HeadCall {
    std::unique_ptr<Head> head;
  };
  struct CopyCall {
    std::int64_t bytes = 0;
  };
  struct DiskCall {
    std::size_t copy = 0;    // of SequenceParts::disks
    std::size_t memory = 0;  // the side that is no file, among the item's addresses
  };
  // Operands and results have places in the staging memory. A window with strides comes as the stretch of
  // memory that it lies in, and is made dense there.
  struct HostCall {
    struct Stretch {
      std::int64_t place = 0, first = 0,
                   bytes = 0;  // first: of its bytes, before (≤ 0) the window's element 0
      bool strided = false;
      Strides strides = {};
    };
    void (*run)(const KernelArgs&) = nullptr;
    std::shared_ptr<const void> attributes = {};
    std::vector<TensorRef> in = {}, out = {};
    std::vector<Stretch> stretches = {};    // of the operands
    std::vector<std::int64_t> places = {};  // of operands and results, dense, then of the scratch
    std::size_t first_out = 0;              // of the results among the item's addresses
  };
  struct ControlCall {
    void (*run)(const KernelArgs&) = nullptr;
    std::shared_ptr<const void> attributes = {};
    std::vector<TensorRef> in = {}, out = {};
    std::vector<std::unique_ptr<Sequence>> regions = {};
    std::vector<RegionFunction> functions = {};
    AlignedBytes notes = {};
  };
  // What an item touches: bytes from `first` on, counted from an address of its.
  struct Touched {
    std::size_t place = 0;
    std::int64_t first = 0, bytes = 0;
    bool writes = false;
  };
  struct Item {
    std::variant<std::monostate, KernelCall, ProductCall, ConvCall, HeadCall, CopyCall, DiskCall, HostCall,
                 ControlCall>
        code;
    // Of a kernel: its GroupPointers; else operands, results, scratch. What can fail has its flag last.
    std::vector<CUdeviceptr> at = {};
    std::vector<Touched> touched = {};  // none: loops and branches, whose regions have their own
    SourceLine where = {};
    bool needs_host = false;
    bool looks_first = false;                   // of a loop: its calls that can fail run on the CPU
    std::unique_ptr<HostCall> on_failure = {};  // the same call on the CPU
  };
  struct Patch {
    std::size_t item = 0, place = 0;
    Location location;
  };

  // An item that can fail: a call, or a loop with such calls.
  struct Failing {
    std::size_t item = 0, first_flag = 0, flags = 0;
  };

  bool must_look_first(const Command& command) const;
  CUdeviceptr address(const Location& location, std::size_t item, std::size_t place);
  void add_item(const Command& command);
  void add_touched(Item& item, const Command& command, std::size_t first_out, std::size_t scratch);
  void add_kernel(Item& item, const Command& command);
  HostCall host_call(const Command& command);
  void add_flag(Item& item, const Command& command, std::size_t first_out);
  ProductCall product_call(const Call& call);
  bool add_convolution(Item& item, const Call& call);
  void add_control(Item& item, const Command& command);
  void put_item(Item& item, const Stream& stream);
  void put_work(Item& item, const Stream& stream);
  std::vector<Access> accesses_of(const Item& item) const;
  void put_host(Item& item, HostCall& host);
  void put_product(const Item& item, const ProductCall& call) const;
  void put_control(Item& item, bool looks_first);
  void run_region(std::byte* const* inputs, std::byte* const* outputs);

  SequenceParts& parts_;
  const bool is_region_;
  std::vector<Item> items_;
  LaneCommands lane_commands_;  // of a plan: a region has one lane
  LaneStreams lanes_{parts_.stream};
  const ItemClock* clock_ = nullptr;
  std::vector<Failing> failing_;
  std::vector<Patch> patches_;
  std::vector<CUdeviceptr> region_arguments_, region_results_;  // of a region, in its run
};

}  // namespace tidemark::cuda

#endif
