#include "tidemark/engine/compile_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tidemark/base/error.h"
#include "tidemark/engine/program.h"
#include "tidemark/runtime/device.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {
namespace {

void check_positions(const std::vector<int>& positions, std::size_t arguments, std::string_view use,
                     SourceLine where) {
  for (int position : positions) {
    if (position >= 0 && static_cast<std::size_t>(position) < arguments) continue;
    fail(ErrorCode::bad_attribute,
         {.what =
              fmt::format("argument {} is {}, and the function was called with {}", position, use, arguments),
          .where = where});
  }
}

// What a call hands out that the next one finds beside its plan while it is held: large results, but for
// those that can take the memory of a donated argument.
std::int64_t result_bytes(const Graph& traced) {
  std::vector<Type> donated;
  for (const Input& input : traced.inputs()) {
    if (input.donated) donated.push_back(traced.type(input.value));
  }
  std::int64_t bytes = 0;
  for (ValueId v : traced.outputs()) {
    const Type& type = traced.type(v);
    if (type.bytes() <= small_result_bytes) continue;
    if (const auto same = std::ranges::find(donated, type); same != donated.end()) {
      donated.erase(same);
    } else {
      bytes += type.bytes();
    }
  }
  return bytes;
}

// What is named must be able to happen, and what is asked for must be named.
void check_choices(const CompileOptions& options, SourceLine where) {
  const auto reject = [&](std::string what, std::string expected) {
    fail(ErrorCode::bad_plan_option, {.what = std::move(what),
                                      .expected = std::move(expected),
                                      .where = where,
                                      .help = "leave allow out for all that the other options provide for"});
  };
  const Choices& allow = options.allow;
  if (!allow.named()) return;
  if (allow.has(Choice::host) && !options.host)
    reject("allow names host, and no memory of the host is given", "some of it too: {.host = 16_GiB, …}");
  if (allow.has(Choice::disk) && !options.disk)
    reject("allow names disk, and no disk is given", "a folder too: {.disk = {{\"/scratch\", 20_GiB}}, …}");
  if (allow.has(Choice::split) && options.accumulate.is_plain())
    reject("allow names split, and accumulate does not ask for micro-batches",
           "a number, or {…, .accumulate = td::automatic}");
  if (!allow.has(Choice::split) && !options.accumulate.is_plain())
    reject(fmt::format("accumulate asks for {} micro-batches, and allow does not name split",
                       options.accumulate.count),
           "split among what is allowed, or {.accumulate = td::automatic}, which does without");
}

}  // namespace

void check_options(const CompileOptions& options, std::size_t arguments, SourceLine where, bool to_run) {
  const auto reject = [&](std::string what, std::string expected) {
    fail(ErrorCode::bad_plan_option,
         {.what = std::move(what), .expected = std::move(expected), .where = where});
  };
  if (options.memory && options.memory->count <= 0)
    reject(fmt::format("a budget of {} bytes", options.memory->count), "more than nothing, such as 64_MiB");
  if (options.memory_left && !options.memory)
    reject("memory_left without a budget of memory", "the largest budget too: {.memory = 1_GiB, …}");
  if (options.host && !options.memory && to_run)
    reject("memory of the host without a budget of memory", "{.memory = 4_GiB, .host = 16_GiB}, say");
  if (options.host && !options.device)
    reject("memory of the host for a function that runs on the CPU",
           "a device too: {.memory = 4_GiB, .host = 16_GiB, .device = td::cuda::device()}, say");
  if (options.host && options.host->count <= 0)
    reject(fmt::format("{} bytes of the host's memory", options.host->count),
           "more than nothing, such as 16_GiB");
  if (options.disk && !options.memory && to_run)
    reject("a disk without a budget of memory", "{.memory = 1_GiB, .disk = {{\"/scratch\", 20_GiB}}}, say");
  if (options.disk && options.device && !options.device->has_disks())
    reject(fmt::format("a disk for a function that runs on the device `{}`", options.device->target().name),
           "a device that values can leave for a disk: the CPU, or a GPU");
  if (options.disk && options.host && options.host->count <= disk_staging_bytes)
    reject(fmt::format("{} of the host's memory beside a disk", to_string(*options.host)),
           fmt::format("more than the {} that copies to the disk and back go through",
                       to_string(Bytes(disk_staging_bytes))));
  if (options.disk && options.disk->bytes.count <= 0)
    reject(fmt::format("{} bytes of the disk", options.disk->bytes.count),
           "more than nothing, such as 20_GiB");
  if (options.tf32 && !(options.device && options.device->tf32_target()))
    reject(fmt::format(
               "products in TF32 for a function that runs on {}",
               options.device ? fmt::format("the device `{}`", options.device->target().name) : "the CPU"),
           "a device that has it: {.device = td::cuda::device(), .tf32 = true}");
  if (options.fp8 && !(options.device && options.device->fp8_target(options.tf32)))
    reject(fmt::format(
               "products in fp8 for a function that runs on {}",
               options.device ? fmt::format("the device `{}`", options.device->target().name) : "the CPU"),
           "a GPU of compute capability 8.9 or above: {.device = td::cuda::device(), .fp8 = true}");
  if (options.lossy && !(options.lossy->error > 0 && options.lossy->error < 1))
    reject(fmt::format("lossy copies with an error of {}", options.lossy->error),
           "a share between 0 and 1, such as 4e-3");
  if (!(options.effort.factor > 0) || !std::isfinite(options.effort.factor))
    reject(fmt::format("an effort of {}", options.effort.factor),
           "Effort::quick, normal, best, a factor above 0, or a time such as std::chrono::seconds(2)");
  if (options.effort.seconds && !(*options.effort.seconds > 0))
    reject(fmt::format("an effort of {} seconds", *options.effort.seconds), "a time above 0");
  if (options.max_batch && *options.max_batch < 1)
    reject(fmt::format("a largest batch of {}", *options.max_batch), "at least 1");
  if (!options.accumulate.is_automatic && options.accumulate.count < 1)
    reject(fmt::format("{} micro-batches", options.accumulate.count), "at least 1, or td::automatic");
  if (options.accumulate.is_automatic && options.max_batch)
    reject("micro-batches as the budget asks for, and a largest batch",
           "a number, such as {.max_batch = 64, .accumulate = 8}");
  if (!options.plans.empty() && options.max_batch)
    reject("plans from files, and a largest batch to plan for", "one of both");
  if (options.held_results < 0)
    reject(fmt::format("results of {} earlier calls", options.held_results), "0 or more");
  if (options.cache.count < 0)
    reject(fmt::format("a cache of {} bytes", options.cache.count),
           "0 or more: the latest call is always kept");
  check_choices(options, where);
  check_positions(options.donate, arguments, "to be donated", where);
  check_positions(options.batch_arguments, arguments, "said to hold a batch", where);
}

CompileOptions as_allowed(CompileOptions options) {
  if (!options.allow.has(Choice::host)) options.host.reset();
  if (!options.allow.has(Choice::disk)) options.disk.reset();
  if (!options.allow.has(Choice::compress)) options.lossy.reset();
  if (!options.allow.has(Choice::split) && options.accumulate.is_automatic) options.accumulate = {};
  return options;
}

bool allows(const CompileOptions& options, Choice choice) {
  if (!options.allow.has(choice)) return false;
  switch (choice) {
    case Choice::host:
      return options.host.has_value();
    case Choice::disk:
      return options.disk.has_value();
    case Choice::split:
      return !options.accumulate.is_plain();
    case Choice::keep:
    case Choice::recompute:
    case Choice::compress:
    case Choice::invert:
      break;
  }
  return true;
}

PlanOptions plan_options(const CompileOptions& options, SearchControl* control) {
  PlanOptions plan = options.program.plan;
  if (options.memory) plan.memory = options.memory->count;
  if (options.device) {
    const Target* const other = options.fp8    ? options.device->fp8_target(options.tf32)
                                : options.tf32 ? options.device->tf32_target()
                                               : nullptr;
    plan.target = other ? other : &options.device->target();
    plan.machine = &options.device->machine();
  }
  if (options.machine) plan.machine = &*options.machine;
  if (options.host || options.disk) plan.tiers.clear();
  if (options.host) {
    const std::int64_t staging = options.disk ? disk_staging_bytes : 0;
    plan.tiers.push_back({std::string(host_memory_name), options.host->count - staging});
  }
  if (options.disk) plan.tiers.push_back({std::string(disk_memory_name), options.disk->bytes.count});
  plan.allow = options.allow;
  if (options.device && !options.disk) plan.allow = plan.allow.without(Choice::disk);  // loops ask for it too
  plan.effort *= options.effort.factor;
  if (control) plan.control = control;
  return plan;
}

std::optional<Bytes> memory_beside_held(const CompileOptions& options, const Graph& traced) {
  if (!options.memory || options.held_results == 0) return options.memory;
  return std::max(Bytes(1), Bytes(options.memory->count - options.held_results * result_bytes(traced)));
}

std::optional<SearchControl> control_for(const CompileOptions& options) {
  if (!options.effort.seconds && !options.progress && !options.stop.stop_possible()) return {};
  return SearchControl(
      {.seconds = options.effort.seconds, .progress = options.progress, .stop = options.stop});
}

}  // namespace tidemark
