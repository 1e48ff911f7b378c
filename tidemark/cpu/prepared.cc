#include "tidemark/cpu/prepared.h"

#include <algorithm>

#include "tidemark/cpu/device.h"
#include "tidemark/cpu/transfer.h"

namespace tidemark {
namespace {

std::vector<FileArena*> files_of(std::span<const Address> arenas, const CpuDevice& device) {
  std::vector<FileArena*> files;
  for (const Address arena : arenas) files.push_back(device.find_file(arena));
  return files;
}

}  // namespace

CpuPrepared::CpuPrepared(CommandStream& commands, std::span<const Address> arenas, CpuDevice& device)
    : file_copies_(files_of(arenas, device)) {
  std::vector<Extent> extents;
  LaneCommands lanes;
  while (const Command* command = commands.next()) {
    extents.push_back(add(*command, arenas, device));
    lanes.add(*command);
  }
  link(extents);
  if (!lanes.run_side_by_side()) return;
  lanes_ = std::make_unique<LaneThreads>(lanes, [this](std::size_t command) { run_call(command); });
}

CpuPrepared::CpuPrepared(const Commands& region, std::span<const Address> arenas, CpuDevice& device) {
  std::vector<Extent> extents;
  for (const Command& command : region.list) extents.push_back(add(command, arenas, device));
  link(extents);
}

void CpuPrepared::link(std::span<const Extent> extents) {
  const std::span<const TensorRef> refs(refs_);
  const std::span<const RegionFunction> regions(region_functions_);
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Extent& at = extents[i];
    KernelArgs& args = calls_[i].args;
    args.in = refs.subspan(at.first_in, at.first_out - at.first_in);
    args.out = refs.subspan(at.first_out, at.last_out - at.first_out);
    args.regions = regions.subspan(at.first_region, at.last_region - at.first_region);
  }
  file_copies_.link();
}

void CpuPrepared::add_ref(const CommandOperand& operand, std::span<const Address> arenas) {
  const Location& at = operand.location;
  TensorRef ref{
      .data = nullptr, .dtype = operand.type.dtype, .shape = operand.type.shape, .strides = operand.strides};
  if (at.base == Location::arena) {
    ref.data = host_pointer(arenas[static_cast<std::size_t>(at.which)] + at.offset);
  } else {
    (at.base == Location::argument ? argument_patches_ : result_patches_)
        .push_back({.ref = static_cast<std::uint32_t>(refs_.size()),
                    .which = static_cast<std::uint32_t>(at.which),
                    .offset = at.offset});
  }
  refs_.push_back(ref);
}

CpuPrepared::Extent CpuPrepared::add(const Command& command, std::span<const Address> arenas,
                                     CpuDevice& device) {
  Extent at{};
  at.first_in = static_cast<std::uint32_t>(refs_.size());
  for (const CommandOperand& operand : command.in) add_ref(operand, arenas);
  at.first_out = static_cast<std::uint32_t>(refs_.size());
  for (const CommandOperand& operand : command.out) add_ref(operand, arenas);
  at.last_out = static_cast<std::uint32_t>(refs_.size());
  at.first_region = static_cast<std::uint32_t>(region_functions_.size());
  for (const Commands& region : command.regions) {
    regions_.push_back(std::make_unique<CpuPrepared>(region, arenas, device));
    const auto call = [](void* self, std::byte* const* inputs, std::byte* const* outputs) {
      static_cast<CpuPrepared*>(self)->run_region(inputs, outputs);
    };
    region_functions_.push_back({.call = call, .self = regions_.back().get()});
  }
  at.last_region = static_cast<std::uint32_t>(region_functions_.size());

  require_memory(command, file_copies_);
  CpuLaunch launch = command.kind != StepKind::compute ? device.prepare_transfer(command, file_copies_)
                     : command.is_group                ? device.prepare_group(command.steps)
                                                       : device.prepare_call(command.steps[0].call);
  KernelArgs args{.in = {},
                  .out = {},
                  .attributes = launch.attributes.get(),
                  .scratch = nullptr,
                  .pool = &device.pool(),
                  .regions = {},
                  .where = command.where};
  if (command.scratch) {
    const Location& scratch = *command.scratch;
    args.scratch = host_pointer(arenas[static_cast<std::size_t>(scratch.which)] + scratch.offset);
  }
  calls_.push_back({launch.run, args});
  attributes_.push_back(std::move(launch.attributes));
  return at;
}

void CpuPrepared::bind(std::span<const Address> arguments) {
  for (const Patch& patch : argument_patches_)
    refs_[patch.ref].data = host_pointer(arguments[patch.which] + patch.offset);
}

void CpuPrepared::run_region(std::byte* const* inputs, std::byte* const* outputs) {
  for (const Patch& patch : argument_patches_) refs_[patch.ref].data = inputs[patch.which] + patch.offset;
  for (const Patch& patch : result_patches_) refs_[patch.ref].data = outputs[patch.which] + patch.offset;
  if (region_times_) return run_region_recorded();
  run(0, calls_.size());
}

// What it waits for has ended: waiting is not counted. The counter may be read before what stands in front of
// it, so that threads would not agree on what came first: here the system's clock is asked.
void CpuPrepared::run_call(std::size_t command) {
  const KernelCall& call = calls_[command];
  if (!times_) return call.run(call.args);
  CommandTimes& times = times_->commands[command];
  times.begin = clock_now();
  call.run(call.args);
  times.end = clock_now();
}

// One reading for each command: where one ends the next begins.
void CpuPrepared::run_recorded(std::size_t first, std::size_t last) {
  std::int64_t now = ticks_now();
  for (std::size_t i = first; i < last; ++i) {
    times_->commands[i].begin = now;
    calls_[i].run(calls_[i].args);
    now = std::max(now, ticks_now());
    times_->commands[i].end = now;
  }
}

void CpuPrepared::run_region_recorded() {
  std::int64_t begin = ticks_now();
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    calls_[i].run(calls_[i].args);
    const std::int64_t end = std::max(begin, ticks_now());
    region_times_->nanoseconds[i] += end - begin;
    begin = end;
  }
  ++region_times_->runs;
}

namespace {

void to_nanoseconds(RegionTimes& region, const TickClock& clock) {
  for (std::int64_t& sum : region.nanoseconds) sum = clock.length(sum);
  for (RegionTimes& inner : region.regions) to_nanoseconds(inner, clock);
}

}  // namespace

void CpuPrepared::end_recording() {
  ticks_.stop();
  for (RegionTimes& region : times_->regions) to_nanoseconds(region, ticks_);
  if (lanes_) return;
  for (CommandTimes& times : times_->commands) {
    times.begin = ticks_.time(times.begin);
    times.end = ticks_.time(times.end);
  }
}

bool CpuPrepared::record(RecordedTimes* times) {
  times_ = times;
  if (times) {
    times->commands.resize(calls_.size());
    times->regions.resize(regions_.size());
  }
  for (std::size_t r = 0; r < regions_.size(); ++r)
    regions_[r]->record_region(times ? &times->regions[r] : nullptr);
  return true;
}

void CpuPrepared::record_region(RegionTimes* times) {
  region_times_ = times;
  if (times) {
    times->nanoseconds.resize(calls_.size());
    times->regions.resize(regions_.size());
  }
  for (std::size_t r = 0; r < regions_.size(); ++r)
    regions_[r]->record_region(times ? &times->regions[r] : nullptr);
}

std::int64_t CpuPrepared::held_bytes() const {
  constexpr std::size_t per_kernel = 512;  // what was made ready for it: instructions, unpacked attributes
  const auto of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  std::size_t bytes = sizeof(*this) + of(refs_) + of(calls_) + of(attributes_) + of(argument_patches_) +
                      of(result_patches_) + of(regions_) + of(region_functions_) + calls_.size() * per_kernel;
  for (const auto& region : regions_) bytes += static_cast<std::size_t>(region->held_bytes());
  const std::int64_t lanes = lanes_ ? lanes_->held_bytes() : 0;
  return static_cast<std::int64_t>(bytes) + file_copies_.held_bytes() + lanes;
}

}  // namespace tidemark
