#include "tests/toy_target/toy_device.h"

#include <cstring>
#include <mutex>

#include "tidemark/base/error.h"
#include "tidemark/cpu/file_memory.h"
#include "tidemark/kernel/args.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"

namespace tidemark::testing {
namespace {

// Kernels are borrowed from the CPU, and with them what they cost and claim; everything else is left to the
// defaults.
const ExecutionFacts* toy_facts(const Op& op) {
  const ExecutionFacts* cpu = cpu_target().find(op);
  if (!cpu) return nullptr;
  static std::mutex mutex;
  static std::map<const Op*, ExecutionFacts> facts;  // what it holds stays where it is
  const std::lock_guard lock(mutex);
  return &(facts[&op] = {.cost = cpu->cost, .scratch = cpu->scratch});
}

const ExecutionFacts* toy_facts_in_place(const Op& op) {
  const ExecutionFacts* cpu = cpu_target().find(op);
  if (!cpu) return nullptr;
  static std::mutex mutex;
  static std::map<const Op*, ExecutionFacts> facts;
  const std::lock_guard lock(mutex);
  return &(facts[&op] = {.cost = cpu->cost, .scratch = cpu->scratch, .in_place = cpu->in_place});
}

constexpr int block_bits = 40;  // of an offset
constexpr std::uintptr_t offset_mask = (std::uintptr_t{1} << block_bits) - 1;

// Runs commands one after the other, translating every location when it gets there.
class ToyPrepared final : public Prepared {
 public:
  ToyPrepared(CommandStream& commands, std::span<const Address> arenas, ToyDevice& device)
      : device_(device), arenas_(arenas.begin(), arenas.end()) {
    while (const Command* command = commands.next()) add(*command);
  }
  ToyPrepared(const Commands& region, std::span<const Address> arenas, ToyDevice& device)
      : device_(device),
        arenas_(arenas.begin(), arenas.end()),
        argument_count_(region.arguments),
        result_count_(region.results) {
    for (const Command& command : region.list) add(command);
  }

  void bind(std::span<const Address> arguments) override {
    arguments_.clear();
    for (Address argument : arguments)
      arguments_.push_back(argument ? device_.follow(argument) : nullptr);  // null: of no bytes
  }

  void run(std::size_t first, std::size_t last) override {
    for (std::size_t i = first; i < last; ++i) run(kernels_[i]);
  }

  std::int64_t held_bytes() const override {
    return static_cast<std::int64_t>(kernels_.capacity() * sizeof(Kernel));
  }

 private:
  struct Kernel {
    const CpuKernel* code = nullptr;  // null: a copy
    std::shared_ptr<const void> attributes = {};
    std::vector<CommandOperand> in, out;
    std::optional<Location> scratch;
    std::vector<std::unique_ptr<ToyPrepared>> regions = {};
    SourceLine where;
  };

  // Lanes do not matter to it: the list is one of the orders in which they may run.
  void add(const Command& command) {
    TM_CHECK(!command.is_group, "the toy fuses nothing");
    Kernel kernel{.in = command.in, .out = command.out, .scratch = command.scratch, .where = command.where};
    if (command.kind == StepKind::compute) {
      const Call& call = command.steps[0].call;
      kernel.code = find_cpu_kernel(*call.op);
      TM_CHECK(kernel.code && kernel.code->run, "{} has no kernel to borrow", call.op->name);
      kernel.attributes = kernel.code->prepare(call);
    } else {
      TM_CHECK(command.kind == StepKind::copy, "the toy knows no codecs");
    }
    for (const Commands& region : command.regions)
      kernel.regions.push_back(std::make_unique<ToyPrepared>(region, arenas_, device_));
    kernels_.push_back(std::move(kernel));
  }

  std::byte* follow(const Location& at) const {
    const auto which = static_cast<std::size_t>(at.which);
    if (at.base == Location::arena) return device_.follow(arenas_[which] + at.offset);
    return (at.base == Location::argument ? arguments_ : results_)[which] + at.offset;
  }

  std::vector<TensorRef> refs(const std::vector<CommandOperand>& operands) const {
    std::vector<TensorRef> list;
    for (const CommandOperand& operand : operands) {
      TM_CHECK(is_dense(operand.type.shape, operand.strides), "the toy takes dense operands");
      std::byte* const at = operand.type.bytes() > 0 ? follow(operand.location) : nullptr;
      list.push_back({at, operand.type.dtype, operand.type.shape, operand.strides});
    }
    return list;
  }

  void run(const Kernel& kernel) {
    device_.launch();
    const std::vector<TensorRef> in = refs(kernel.in), out = refs(kernel.out);
    for (const TensorRef& result : out) {
      for (const TensorRef& operand : in)
        TM_CHECK(
            !result.data || result.data != operand.data || !kernel.code || &device_.target() != &toy_target(),
            "the toy overwrites nothing");
    }
    if (!kernel.code) {
      if (out[0].data != in[0].data)
        std::memcpy(out[0].data, in[0].data, static_cast<std::size_t>(kernel.in[0].type.bytes()));
      return;
    }
    std::vector<RegionFunction> regions;
    for (const auto& region : kernel.regions) {
      const auto call = [](void* self, std::byte* const* inputs, std::byte* const* outputs) {
        static_cast<ToyPrepared*>(self)->run_region(inputs, outputs);
      };
      regions.push_back({.call = call, .self = region.get()});
    }
    kernel.code->run({.in = in,
                      .out = out,
                      .attributes = kernel.attributes.get(),
                      .scratch = kernel.scratch ? follow(*kernel.scratch) : nullptr,
                      .pool = &device_.pool(),
                      .regions = regions,
                      .where = kernel.where});
  }

  // A borrowed kernel that has regions hands them the memory that it was given itself.
  void run_region(std::byte* const* inputs, std::byte* const* outputs) {
    arguments_.assign(inputs, inputs + argument_count_);
    results_.assign(outputs, outputs + result_count_);
    run(0, kernels_.size());
  }

  ToyDevice& device_;
  const std::vector<Address> arenas_;
  const std::size_t argument_count_ = 0, result_count_ = 0;  // of a region
  std::vector<std::byte*> arguments_, results_;
  std::vector<Kernel> kernels_;
};

}  // namespace

const Target& toy_target() {
  static const Target target{.name = "toy", .alignment = 256, .find = toy_facts};
  return target;
}

const Target& toy_target_in_place() {
  static const Target target{.name = "toy_in_place", .alignment = 256, .find = toy_facts_in_place};
  return target;
}

std::shared_ptr<const DiskMemory> ToyDevice::open_disk(const std::string& folder, DiskCompression) {
  if (folder == broken_folder_) fail(ErrorCode::bad_file, {.what = "the toy's disk is broken"});
  return std::make_shared<const DiskMemory>(
      DiskMemory{.number = disk_number, .traffic = std::make_shared<DiskTraffic>()});
}

Address ToyDevice::allocate(int memory, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > memory_ - counts_.bytes) {
    throw DeviceError(ErrorCode::out_of_memory,
                      {.what = fmt::format("the toy has no {} bytes left, of {}", bytes, memory_)});
  }
  const std::uintptr_t number = next_++;
  blocks_.emplace(number, Block{allocate_aligned(bytes), bytes});
  ++counts_.allocations;
  counts_.bytes += bytes;
  counts_.disk_bytes += memory == disk_number ? bytes : 0;
  return {number << block_bits};
}

void ToyDevice::release(int memory, Address address, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  counts_.bytes -= bytes;
  counts_.disk_bytes -= memory == disk_number ? bytes : 0;
  blocks_.erase(address.value >> block_bits);
}

std::size_t ToyDevice::blocks() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

ToyDevice::Counts ToyDevice::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void ToyDevice::set_memory(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_ = bytes;
}

void ToyDevice::fail_at(int launch) {
  const std::lock_guard lock(mutex_);
  launches_left_ = launch;
}

void ToyDevice::launch() {
  const std::lock_guard lock(mutex_);
  if (launches_left_ < 0 || launches_left_-- > 0) return;
  throw DeviceError(ErrorCode::out_of_memory, {.what = "the toy broke"});
}

std::byte* ToyDevice::follow(Address address) const {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(address.value >> block_bits);
  TM_CHECK(block != blocks_.end(), "no memory of the toy's");
  const auto offset = static_cast<std::int64_t>(address.value & offset_mask);
  TM_CHECK(offset <= block->second.bytes, "byte {} of a block of {}", offset, block->second.bytes);
  return block->second.memory.get() + offset;
}

std::unique_ptr<Prepared> ToyDevice::prepare(CommandStream& commands, std::span<const Address> arenas) {
  return std::make_unique<ToyPrepared>(commands, arenas, *this);
}

void ToyDevice::read(std::byte* to, Address from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, follow(from), static_cast<std::size_t>(bytes));
  const std::lock_guard lock(mutex_);
  ++counts_.reads;
}

void ToyDevice::write(Address to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(follow(to), from, static_cast<std::size_t>(bytes));
  const std::lock_guard lock(mutex_);
  ++counts_.writes;
  counts_.bytes_written += bytes;
}

void ToyDevice::copy(Address to, Address from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(follow(to), follow(from), static_cast<std::size_t>(bytes));
  const std::lock_guard lock(mutex_);
  ++counts_.copies;
}

}  // namespace tidemark::testing
