#include "tidemark/runtime/make_profile.h"

#include <algorithm>
#include <limits>

#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/report/plan_hash.h"

namespace tidemark {
namespace {

double seconds(std::int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

// The lower of the two in the middle, as Profile::typical takes it.
double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// For each step the one that its result was first computed by, or taken out of the memory that it comes back
// to; -1.
std::vector<std::int32_t> origins_of(const Graph& graph, const Plan& plan) {
  std::vector<std::int32_t> origins(plan.steps.size(), -1);
  std::vector<std::int32_t> first_run(graph.nodes().size(), -1);
  std::vector<std::int32_t> moved_to(plan.buffers.size(), -1);  // per buffer: by this step
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const auto number = static_cast<std::int32_t>(s);
    if (step.kind == StepKind::compute) {
      std::int32_t& first = first_run[step.node.index];
      if (first >= 0) {
        origins[s] = first;
      } else {
        first = number;
      }
      continue;
    }
    if (step.out.empty()) continue;  // the host reads
    const std::uint32_t from = step.in[0].buffer.index, to = step.out[0].buffer.index;
    // A way back ends in plain bytes of the memory that is computed in; what lies between hands on where the
    // value was taken out.
    const bool is_back = plan.buffers[to].memory == 0 && !plan.buffers[to].codec;
    if (moved_to[from] >= 0 && is_back) {
      origins[s] = moved_to[from];
    } else {
      moved_to[to] = moved_to[from] >= 0 ? moved_to[from] : number;
    }
  }
  return origins;
}

ProfileStep step_of(const Graph& graph, const Plan& plan, std::size_t number, const StepCost& cost) {
  const Step& step = plan.steps[number];
  ProfileStep made{.kind = step.kind};
  const ValueId value = step.out.empty() ? step.in[0].value : step.out[0].value;
  made.name = graph[value].name;
  const NodeId producer = step.kind == StepKind::compute ? step.node : graph[value].producer;
  if (producer.valid()) {
    made.file = graph[producer].where.file;
    made.line = made.file.empty() ? 0 : graph[producer].where.line;
  }
  if (step.kind == StepKind::compute) {
    made.op = graph[step.node].op->name;
    made.work = cost.cost.work;
    made.dtype = cost.dtype;
    made.flops = cost.cost.flops;
    made.bytes = cost.cost.bytes;
    made.speed = cost.cost.speed;
    made.declared = cost.cost.seconds;
    return made;
  }
  made.op = name_of(step.kind);
  const Buffer& from = plan.buffers[step.in[0].buffer.index];
  made.from = made.to = from.memory;
  const Type& type = graph.type(step.in[0].value);
  made.bytes = static_cast<double>(type.bytes());
  if (step.out.empty()) return made;
  const Buffer& to = plan.buffers[step.out[0].buffer.index];
  made.to = to.memory;
  const Codec* const codec = from.codec ? from.codec : to.codec;
  if (codec) made.codec = codec->name;
  if (step.kind == StepKind::copy && from.codec) made.bytes = static_cast<double>(from.codec->bytes(type));
  return made;
}

// Without what was measured.
ProfileBody body_of(const Graph& graph, const Plan& plan, const Target& target, const Machine& machine) {
  ProfileBody body;
  const std::vector<StepCost> costs = step_costs(graph, plan, target);
  const std::vector<double> predicted = step_seconds(graph, plan, target, machine);
  const std::vector<std::int32_t> origins = origins_of(graph, plan);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    body.steps.push_back(step_of(graph, plan, s, costs[s]));
    body.steps.back().origin = origins[s];
  }
  for (std::size_t first = 0; first < plan.steps.size();) {
    const std::size_t last = group_end(plan, first);
    ProfileKernel kernel{.first = static_cast<std::int32_t>(first),
                         .last = static_cast<std::int32_t>(last),
                         .lane = plan.steps[first].lane};
    for (; first < last; ++first) {
      kernel.predicted += predicted[first];
      body.steps[first].kernel = static_cast<std::int32_t>(body.kernels.size());
    }
    body.kernels.push_back(kernel);
  }
  return body;
}

using RegionRuns = std::vector<const RegionTimes*>;  // of one region, per run

// The bodies of a graph's loops and branches. `regions`: where those of a run are, in the order of commands.
void add_bodies(ProfileBody& body, const Graph& graph, const Plan& plan, const Target& target,
                const Machine& machine, const std::vector<const std::vector<RegionTimes>*>& runs) {
  if (std::ranges::any_of(runs, [](const auto* regions) { return regions->empty(); })) return;
  std::size_t at = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (step.kind != StepKind::compute || graph[step.node].regions.empty()) continue;
    const NodePlans& plans = *std::ranges::find(plan.bodies, step.node, &NodePlans::node);
    for (std::size_t r = 0; r < plans.regions.size(); ++r, ++at) {
      const Graph& region = graph[step.node].regions[r];
      RegionRuns times;
      for (const auto* regions : runs) times.push_back(&(*regions)[at]);
      const auto median_of = [&](const auto& number) {
        std::vector<double> numbers;
        for (const RegionTimes* run : times) numbers.push_back(static_cast<double>(number(*run)));
        return median(std::move(numbers));
      };
      ProfileBody inner = body_of(region, plans.regions[r], target, machine);
      inner.step = static_cast<std::int32_t>(s);
      inner.region = static_cast<std::int32_t>(r);
      inner.iterations = median_of([](const RegionTimes& run) { return run.runs; });
      for (std::size_t k = 0; k < inner.kernels.size(); ++k)
        inner.kernels[k].measured =
            1e-9 * median_of([&](const RegionTimes& run) { return run.nanoseconds[k]; });
      std::vector<const std::vector<RegionTimes>*> deeper;
      for (const RegionTimes* run : times) deeper.push_back(&run->regions);
      add_bodies(inner, region, plans.regions[r], target, machine, deeper);
      body.bodies.push_back(std::move(inner));
    }
  }
}

ProfileRun run_of(const RecordedTimes& times, std::int64_t first_begin, std::size_t kernels) {
  ProfileRun run{.begin = seconds(times.begin - first_begin), .seconds = seconds(times.end - times.begin)};
  TM_CHECK(times.commands.size() == kernels, "{} commands for {} kernels", times.commands.size(), kernels);
  for (const CommandTimes& command : times.commands) {
    // A device's clock is brought to the host's, which leaves an error.
    const std::int64_t begin = std::clamp(command.begin, times.begin, times.end);
    const std::int64_t end = std::clamp(command.end, begin, times.end);
    run.kernel_begin.push_back(seconds(begin - times.begin));
    run.kernel_end.push_back(seconds(end - times.begin));
  }
  return run;
}

// A buffer is live from when the first step that touches it begins to when the last one ends; what the caller
// brings or gets, throughout or to the end.
std::vector<ProfileMemory::Point> curve_of(const Plan& plan, const ProfileBody& body, const ProfileRun& run,
                                           std::int32_t memory) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> begin(plan.buffers.size(), never), end(plan.buffers.size(), 0);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto kernel = static_cast<std::size_t>(body.steps[s].kernel);
    const auto touch = [&](BufferId buffer) {
      begin[buffer.index] = std::min(begin[buffer.index], run.kernel_begin[kernel]);
      end[buffer.index] = std::max(end[buffer.index], run.kernel_end[kernel]);
    };
    for (const Ref& ref : plan.steps[s].in) touch(ref.buffer);
    for (const Ref& ref : plan.steps[s].out) touch(ref.buffer);
    if (plan.steps[s].scratch.valid()) touch(plan.steps[s].scratch);
  }
  const PlanMemory facts = memory_of(plan, static_cast<std::size_t>(memory));
  std::vector<ProfileMemory::Point> changes;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.binding != Binding::arena || buffer.memory != memory || begin[b] == never) continue;
    const std::int64_t bytes = align_up(buffer.bytes, facts.alignment);
    if (bytes == 0) continue;
    changes.push_back({begin[b], bytes});
    if (buffer.purpose != Purpose::output) changes.push_back({end[b], -bytes});
  }
  // What ends goes before what begins at the same time: its place is free by then.
  std::ranges::stable_sort(changes, [](const auto& a, const auto& b) {
    return a.seconds < b.seconds || (a.seconds == b.seconds && a.bytes < b.bytes);
  });
  std::vector<ProfileMemory::Point> curve = {{0, facts.input_bytes}};
  for (const ProfileMemory::Point& change : changes) {
    const std::int64_t bytes = curve.back().bytes + change.bytes;
    if (curve.back().seconds == change.seconds) {
      curve.back().bytes = bytes;
    } else {
      curve.push_back({change.seconds, bytes});
    }
  }
  if (curve.back().seconds < run.seconds) curve.push_back({run.seconds, curve.back().bytes});
  return curve;
}

}  // namespace

Profile make_profile(const Graph& graph, const VerifiedPlan& verified, const Machine& machine,
                     std::span<const RecordedRun> runs) {
  TM_CHECK(!runs.empty(), "a profile of no runs");
  const Plan& plan = *verified;
  Profile profile{.plan_hash = hash_text(plan_hash(plan)), .target = plan.target, .machine = machine.name};
  for (const Lane& lane : plan.lanes) profile.lanes.push_back(lane.name);
  profile.body = body_of(graph, plan, verified.target(), machine);
  profile.predicted = timetable(plan, step_seconds(graph, plan, verified.target(), machine)).makespan;

  std::int64_t first_begin = runs[0].times.begin;
  for (const RecordedRun& run : runs) first_begin = std::min(first_begin, run.times.begin);
  std::vector<const std::vector<RegionTimes>*> regions;
  for (const RecordedRun& run : runs) {
    profile.runs.push_back(run_of(run.times, first_begin, profile.body.kernels.size()));
    regions.push_back(&run.times.regions);
  }
  for (std::size_t k = 0; k < profile.body.kernels.size(); ++k) {
    std::vector<double> numbers;
    for (const ProfileRun& run : profile.runs) numbers.push_back(run.kernel_end[k] - run.kernel_begin[k]);
    profile.body.kernels[k].measured = median(std::move(numbers));
  }
  add_bodies(profile.body, graph, plan, verified.target(), machine, regions);

  for (std::size_t m = 0; m < memory_count(plan); ++m) {
    const PlanMemory facts = memory_of(plan, m);
    ProfileMemory memory{
        .name = facts.name, .input_bytes = facts.input_bytes, .arena_bytes = facts.arena_bytes};
    for (const RecordedRun& run : runs) memory.high_water = std::max(memory.high_water, run.high_water[m]);
    memory.curve = curve_of(plan, profile.body, profile.typical(), static_cast<std::int32_t>(m));
    profile.memories.push_back(std::move(memory));
  }
  return profile;
}

}  // namespace tidemark
