// Commands as the CPU runs them: one list of calls, from first to last, in the order of the plan's list.
// Lanes that only move values run beside it (cpu/lanes.h); a plan without such lanes is the list and nothing
// else.
#pragma once
#include <functional>

#include "tidemark/cpu/file_copies.h"
#include "tidemark/cpu/lanes.h"
#include "tidemark/cpu/tick_clock.h"
#include "tidemark/kernel/args.h"
#include "tidemark/runtime/device.h"

namespace tidemark {

class CpuDevice;

// A kernel made ready for one command.
struct CpuLaunch {
  void (*run)(const KernelArgs&) = nullptr;
  std::shared_ptr<const void> attributes = {};
};

class CpuPrepared final : public Prepared {
 public:
  CpuPrepared(CommandStream& commands, std::span<const Address> arenas, CpuDevice& device);
  CpuPrepared(const Commands& region, std::span<const Address> arenas, CpuDevice& device);
  CpuPrepared(const CpuPrepared&) = delete;
  CpuPrepared& operator=(const CpuPrepared&) = delete;

  void bind(std::span<const Address> arguments) override;
  void run(std::size_t first, std::size_t last) override {
    if (first == 0) file_copies_.begin_run();
    if (times_ && first == 0) ticks_.start();
    if (lanes_) {
      lanes_->run(first, last);
    } else if (times_) {
      run_recorded(first, last);
    } else {
      for (std::size_t i = first; i < last; ++i) calls_[i].run(calls_[i].args);
    }
    if (last == calls_.size()) file_copies_.end_run();
    if (times_ && last == calls_.size()) end_recording();
  }
  bool record(RecordedTimes* times) override;
  std::int64_t held_bytes() const override;

 private:
  // Where a call's operands and regions are in the lists.
  struct Extent {
    std::uint32_t first_in, first_out, last_out;  // into refs_
    std::uint32_t first_region, last_region;      // into region_functions_
  };
  struct KernelCall {
    void (*run)(const KernelArgs&);
    KernelArgs args;
  };
  struct Patch {
    std::uint32_t ref;    // whose data pointer
    std::uint32_t which;  // is the memory of this argument or result
    std::int64_t offset;  // plus this many bytes
  };

  Extent add(const Command& command, std::span<const Address> arenas, CpuDevice& device);
  void link(std::span<const Extent> extents);  // when the lists grow no more
  void add_ref(const CommandOperand& operand, std::span<const Address> arenas);
  void run_region(std::byte* const* inputs, std::byte* const* outputs);
  void run_call(std::size_t command);  // of a lane
  void run_recorded(std::size_t first, std::size_t last);
  void record_region(RegionTimes* times);
  void run_region_recorded();
  void end_recording();  // ticks become nanoseconds

  std::vector<TensorRef> refs_;
  std::vector<KernelCall> calls_;
  std::vector<std::shared_ptr<const void>> attributes_;
  std::vector<Patch> argument_patches_, result_patches_;
  std::vector<std::unique_ptr<CpuPrepared>> regions_;
  std::vector<RegionFunction> region_functions_;
  FileCopies file_copies_;
  RecordedTimes* times_ = nullptr;       // of a plan; null: nobody wants to know
  RegionTimes* region_times_ = nullptr;  // of a region
  TickClock ticks_;
  std::unique_ptr<LaneThreads> lanes_;  // none where the list is all; the last, whose threads use the others
};

}  // namespace tidemark
