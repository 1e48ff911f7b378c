#include "tidemark/engine/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tidemark/cpu/device.h"
#include "tidemark/engine/local_function.h"
#include "tidemark/engine/session.h"

namespace tidemark {
namespace {

struct Functions {
  std::mutex mutex;
  std::vector<const LocalFunction*> list;
};
Functions& functions() {
  static auto* all = new Functions;  // never destroyed: compiled functions in static storage may outlive it
  return *all;
}

// With memories of its own: plans with a disk have it as their second. Null where another device is asked
// for.
std::shared_ptr<CpuDevice> cpu_for(const CompileOptions& options, SourceLine where,
                                   std::optional<Error>& disk_failure,
                                   std::shared_ptr<const DiskTraffic>& traffic) {
  if (options.device) return nullptr;
  auto device = std::make_shared<CpuDevice>(default_device()->shared_pool());
  if (!options.disk) return device;
  try {
    at_line(where, [&] { device->use_folder(1, options.disk->folder, options.disk->compress); });
    traffic = device->traffic(1);
  } catch (const Error& error) {
    if (!options.disk->fallback) throw;
    disk_failure = error;
  }
  return device;
}

// Of another device than the CPU, where it has disks; plans that may use the host's memory have that before
// it.
WorkspaceDisk disk_for(const CompileOptions& options, SourceLine where, std::optional<Error>& disk_failure,
                       std::shared_ptr<const DiskTraffic>& traffic) {
  if (!options.device || !options.disk || !options.device->has_disks()) return {};
  WorkspaceDisk disk{.number = options.host ? std::size_t{2} : 1};
  try {
    at_line(where,
            [&] { disk.memory = options.device->open_disk(options.disk->folder, options.disk->compress); });
    traffic = disk.memory->traffic;
  } catch (const Error& error) {
    if (!options.disk->fallback) throw;
    disk_failure = error;
  }
  return disk;
}

std::string in_words(Bytes bytes) { return fmt::format("{} ({} bytes)", to_string(bytes), bytes.count); }

}  // namespace

LocalFunction::LocalFunction(CompileOptions given, SourceLine at)
    : options_(as_allowed(std::move(given))),
      limit_(options_.memory.value_or(Bytes()).count),
      memory_(limit_.load()),
      where_(at),
      saved_(options_.plans, at),
      cpu_(cpu_for(options_, at, disk_failure_, disk_traffic_)),
      device_(cpu_ ? cpu_ : options_.device),
      workspace_(std::make_shared<Workspace>(device_,
                                             options_.memory ? Concurrency::turns : Concurrency::side_by_side,
                                             disk_for(options_, at, disk_failure_, disk_traffic_))),
      calls_(options_.cache.count) {
  const std::lock_guard lock(functions().mutex);
  functions().list.push_back(this);
}

LocalFunction::~LocalFunction() {
  const std::lock_guard lock(functions().mutex);
  std::erase(functions().list, this);
}

void LocalFunction::use_folder(const LoopFolder& folder) {
  const std::lock_guard lock(mutex_);
  if (!options_.disk && !cpu_) return;  // plans for it do without: it is not among what is allowed
  const std::string known = options_.disk ? options_.disk->folder : loop_folder_;
  if (known == folder.path || (options_.disk && !folder.named)) return;
  if (!known.empty()) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("this loop keeps states in {}, and its function has its disk in {}",
                              folder.path, known),
          .expected = "one folder for a function and its loops",
          .where = folder.where});
  }
  at_line(folder.where, [&] { cpu_->use_folder(1, folder.path); });
  loop_folder_ = folder.path;
  disk_traffic_ = cpu_->traffic(1);
}

FunctionMemory LocalFunction::memory() const {
  const std::lock_guard lock(mutex_);
  FunctionMemory memory;
  memory.where = where_;
  memory.budget = Bytes(memory_.load());
  memory.peak = Bytes(latest_ ? latest_->program->plan().peak() : 0);
  memory.arena = Bytes(workspace_->bytes());
  memory.arguments = Bytes(workspace_->argument_bytes());
  if (!is_host(*device_)) memory.device = device_->target().name;
  const std::int64_t disk = workspace_->disk_bytes();
  memory.disk = Bytes(is_host(*device_) ? workspace_->further_bytes() : disk);
  if (!is_host(*device_))
    memory.host = Bytes(workspace_->further_bytes() - disk + (disk > 0 ? disk_staging_bytes : 0));
  if (disk_traffic_) {
    memory.disk_values = Bytes(disk_traffic_->values);
    memory.disk_moved = Bytes(disk_traffic_->written.bytes + disk_traffic_->read.bytes);
  }
  if (disk_failure_) memory.disk_failure = disk_failure_->parts().what;
  memory.arenas = workspace_->arenas();
  const Workspace::Held held = workspace_->held();
  memory.results = held.count;
  memory.held_results = Bytes(held.bytes);
  memory.results_in_arena = Bytes(held.in_arena);
  memory.calls = calls_.calls();
  for (const auto& program : calls_.programs()) {
    ++memory.plans;
    memory.graphs.count += program->held().graph;
    memory.plan_bytes.count += program->held().plan;
    memory.kernels.count += program->held().kernels;
  }
  const LargestPlans::Held for_largest = largest_.held();
  memory.plans += for_largest.plans;
  memory.graphs.count += for_largest.bytes.graph;
  memory.plan_bytes.count += for_largest.bytes.plan;
  memory.constants = Bytes(calls_.constant_bytes());
  memory.evicted = calls_.evicted();
  memory.cache_limit = options_.cache;
  return memory;
}

std::string FunctionMemory::text() const {
  std::string text = fmt::format("{:<18}{}\n", "compiled at", short_form(where));
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<18}{}\n", name, value);
  };
  if (budget.count > 0) line("budget", in_words(budget));
  line("a call takes", in_words(peak) + ", arguments and captured tensors included");
  if (!device.empty()) line("device", device);
  line("arena", in_words(arena) +
                    (arenas > 1 ? fmt::format(", {} of them: as many threads called at once", arenas) : ""));
  if (arguments.count > 0) line("arguments", in_words(arguments) + " for those that come from the host");
  if (host.count > 0)
    line("host", in_words(host) + (disk.count > 0 ? " for values that wait there or pass through"
                                                  : " for values that wait there"));
  if (disk.count > 0) line("disk", in_words(disk));
  if (disk_values.count > 0)
    line("disk moved",
         fmt::format("{} in {}, there and back", to_string(disk_values), to_string(disk_moved)));
  if (!disk_failure.empty()) line("disk", "not used: " + disk_failure);
  line("results held",
       fmt::format("{}, {}{}", results, in_words(held_results),
                   results_in_arena.count > 0 ? fmt::format(", {} of them in the arena until the next call",
                                                            to_string(results_in_arena))
                                              : ""));
  line("remembered", fmt::format("{} calls, {} plans; {} dropped so far", calls, plans, evicted));
  line("", fmt::format("graphs {}, plans {}, kernels {}, constants {}: {} of {}", to_string(graphs),
                       to_string(plan_bytes), to_string(kernels), to_string(constants), to_string(cached()),
                       to_string(cache_limit)));
  return text;
}

Bytes MemoryReport::total() const {
  Bytes sum;
  for (const FunctionMemory& function : functions) sum = sum + function.total();
  return sum;
}

std::string MemoryReport::text() const {
  std::string text;
  for (const FunctionMemory& function : functions) text += function.text() + "\n";
  return text + fmt::format("{:<18}{}, {} functions; arguments apart\n", "in all", in_words(total()),
                            functions.size());
}

MemoryReport memory_report() {
  const std::lock_guard lock(functions().mutex);
  MemoryReport report;
  for (const LocalFunction* function : functions().list) report.functions.push_back(function->memory());
  return report;
}

}  // namespace tidemark
