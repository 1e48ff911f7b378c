#include "tidemark/cpu/fit_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "tidemark/base/check.h"
#include "tidemark/plan/costs.h"

namespace tidemark {
namespace {

constexpr double least_part = 0.05;  // of a time, once all that others take is taken off

double middle_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// Files may say anything: beyond this factor a machine does not follow.
bool is_credible(double measured, double known) {
  constexpr double widest = 1e4;
  return measured < widest * known && known < widest * measured;
}

// A kernel of a profile, with what it took.
struct KernelSample {
  std::vector<StepCost> steps = {};  // of what computes
  bool is_group = false;
  const ProfileStep* moves = nullptr;  // of what moves or codes
  std::string from = {}, to = {};      // memories of that
  double seconds = 0;
};

// Whose bandwidth counts for a kernel, as KernelSum has it.
WorkKind work_of(const KernelSample& sample) {
  for (const StepCost& step : sample.steps) {
    if (step.cost.bytes > 0) return step.cost.work;
  }
  return sample.steps[0].cost.work;
}

std::string kind_of(const KernelSample& sample) {
  if (!sample.moves) return std::string(name_of(work_of(sample)));
  if (sample.moves->kind == StepKind::copy) return fmt::format("copy {} → {}", sample.from, sample.to);
  return fmt::format("{} {}", name_of(sample.moves->kind), sample.moves->codec);
}

void add_samples(std::vector<KernelSample>& samples, const Profile& profile, const ProfileBody& body,
                 double iterations) {
  for (const ProfileKernel& kernel : body.kernels) {
    KernelSample sample{.is_group = kernel.last - kernel.first > 1,
                        .seconds = iterations > 0 ? kernel.measured / iterations : 0};
    bool is_declared = false;
    for (std::int32_t s = kernel.first; s < kernel.last; ++s) {
      const ProfileStep& step = body.steps[static_cast<std::size_t>(s)];
      is_declared |= step.declared > 0 || step.kind == StepKind::fetch;
      if (step.kind == StepKind::compute) {
        sample.steps.push_back(
            {{.flops = step.flops, .bytes = step.bytes, .work = step.work, .speed = step.speed}, step.dtype});
      } else {
        sample.moves = &step;
        sample.from = profile.memories[static_cast<std::size_t>(step.from)].name;
        sample.to = profile.memories[static_cast<std::size_t>(step.to)].name;
      }
    }
    if (sample.seconds > 0 && !is_declared) samples.push_back(std::move(sample));
  }
  for (const ProfileBody& inner : body.bodies) add_samples(samples, profile, inner, inner.iterations);
}

std::optional<int> memory_named(const Machine& machine, const std::string& name) {
  if (name == first_memory_name) return 0;
  const auto found = std::ranges::find(machine.further, name, &MachineMemory::name);
  if (found == machine.further.end()) return {};
  return static_cast<int>(found - machine.further.begin()) + 1;
}

// Among the machine's; empty: it has none.
std::optional<std::size_t> link_of(const Machine& machine, const KernelSample& sample) {
  const std::optional<int> from = memory_named(machine, sample.from), to = memory_named(machine, sample.to);
  if (!from || !to) return {};
  const Link* const link = find_link(machine, *from, *to);
  if (!link) return {};
  return static_cast<std::size_t>(link - machine.links.data());
}

// Empty: the machine cannot say.
std::optional<double> predicted(const Machine& machine, const KernelSample& sample) {
  if (!sample.moves) {
    KernelSum sum(machine);
    for (const StepCost& step : sample.steps) {
      if (sample.is_group) {
        sum.add_to_group(step.cost, step.dtype);
      } else {
        sum.add_alone(step.cost, step.dtype);
      }
    }
    return sum.seconds();
  }
  if (sample.moves->kind == StepKind::copy) {
    const std::optional<std::size_t> link = link_of(machine, sample);
    if (!link) return {};
    return seconds_of(machine.links[*link], sample.moves->bytes, true);
  }
  const CodecRate* const rate = find_codec_rate(machine, sample.moves->codec);
  if (!rate) return {};
  return machine.overhead +
         sample.moves->bytes / (sample.moves->kind == StepKind::encode ? rate->encode : rate->decode);
}

// The start of a kernel, from those that take little else.
void fit_overhead(Machine& machine, const std::vector<KernelSample>& samples) {
  constexpr std::size_t fewest = 5;
  std::vector<double> seen;
  for (const KernelSample& sample : samples) {
    if (sample.moves) continue;
    const double rest = *predicted(machine, sample) - machine.overhead;
    if (rest < machine.overhead) seen.push_back(std::max(sample.seconds - rest, least_part * sample.seconds));
  }
  if (seen.size() < fewest) return;
  const double overhead = middle_of(std::move(seen));
  if (is_credible(overhead, machine.overhead)) machine.overhead = overhead;
}

// What a kernel says of the rates of its kind: of a group, all flops of that kind, in those of f32, and the
// time without what the arithmetic of other kinds takes.
Measurement measurement_of(const Machine& machine, const KernelSample& sample) {
  if (!sample.is_group)
    return {.cost = sample.steps[0].cost, .dtype = sample.steps[0].dtype, .seconds = sample.seconds};
  const WorkKind work = work_of(sample);
  Measurement made{.cost = {.work = work}, .dtype = DType::f32, .seconds = sample.seconds};
  std::array<double, work_count> flops = {};
  for (const StepCost& step : sample.steps) {
    made.cost.bytes += step.cost.bytes;
    const auto w = static_cast<std::size_t>(step.cost.work);
    flops[w] += step.cost.flops / machine.work[w].speed[static_cast<std::size_t>(step.dtype)];
  }
  made.cost.flops = flops[static_cast<std::size_t>(work)];
  for (std::size_t w = 0; w < flops.size() && !machine.overlaps; ++w) {
    if (w != static_cast<std::size_t>(work) && flops[w] > 0)
      made.seconds -= flops[w] / machine.work[w].flops.at(flops[w]);
  }
  made.seconds = std::max(made.seconds, least_part * sample.seconds);
  return made;
}

// Kernels that are alike, as the blocks of a network are, become one measurement: the median.
std::vector<Measurement> measurements_of(const Machine& machine, const std::vector<KernelSample>& samples,
                                         WorkKind work) {
  std::map<std::tuple<double, double, double, DType>, std::vector<double>> alike;
  for (const KernelSample& sample : samples) {
    if (sample.moves || work_of(sample) != work) continue;
    const Measurement m = measurement_of(machine, sample);
    if (m.cost.flops > 0 || m.cost.bytes > 0)
      alike[{m.cost.flops, m.cost.bytes, m.cost.speed, m.dtype}].push_back(m.seconds);
  }
  std::vector<Measurement> made;
  for (auto& [key, seconds] : alike) {
    const auto [flops, bytes, speed, dtype] = key;
    made.push_back({.cost = {.flops = flops, .bytes = bytes, .work = work, .speed = speed},
                    .dtype = dtype,
                    .seconds = middle_of(std::move(seconds))});
  }
  return made;
}

void fit_transfers(Machine& machine, const std::vector<KernelSample>& samples) {
  std::map<std::string, std::vector<const KernelSample*>> by_kind;
  for (const KernelSample& sample : samples) {
    if (sample.moves && sample.moves->bytes > 0) by_kind[kind_of(sample)].push_back(&sample);
  }
  for (const auto& [kind, list] : by_kind) {
    const ProfileStep& step = *list[0]->moves;
    const std::optional<std::size_t> number =
        step.kind == StepKind::copy ? link_of(machine, *list[0]) : std::nullopt;
    Link* const link = number ? &machine.links[*number] : nullptr;
    const auto codec = std::ranges::find(machine.codecs, step.codec, &CodecRate::codec);
    if (!link && (step.kind == StepKind::copy || codec == machine.codecs.end())) continue;
    std::vector<double> rates;
    for (const KernelSample* sample : list) {
      const double start = link ? link->latency : machine.overhead;
      rates.push_back(sample->moves->bytes / std::max(sample->seconds - start, least_part * sample->seconds));
    }
    const double rate = middle_of(std::move(rates));
    double& known = link                            ? link->beside_compute
                    : step.kind == StepKind::encode ? codec->encode
                                                    : codec->decode;
    if (!is_credible(rate, known)) continue;
    if (link) link->bandwidth *= rate / known;
    known = rate;
  }
}

struct Errors {
  std::vector<double> before, after;
  FitError report(std::string kind) const {
    const auto worst = [](const std::vector<double>& list) { return *std::ranges::max_element(list); };
    return {.kind = std::move(kind),
            .kernels = static_cast<int>(before.size()),
            .median_before = middle_of(before),
            .worst_before = worst(before),
            .median_after = middle_of(after),
            .worst_after = worst(after)};
  }
};

std::string fitted_name(const std::string& name, std::size_t profiles) {
  return fmt::format("{} (fitted to {} profile{})", name.substr(0, name.find(" (fitted to ")), profiles,
                     profiles == 1 ? "" : "s");
}

}  // namespace

FittedMachine fit_profiles(const Machine& base, std::span<const Profile> profiles) {
  TM_CHECK(!profiles.empty(), "no profile to fit to");
  std::vector<KernelSample> samples;
  for (const Profile& profile : profiles) add_samples(samples, profile, profile.body, 1);
  FittedMachine fitted{.machine = base};
  Machine& machine = fitted.machine;
  machine.name = fitted_name(base.name, profiles.size());
  fit_overhead(machine, samples);
  constexpr int passes = 2;  // groups have arithmetic of several kinds
  for (int pass = 0; pass < passes; ++pass) {
    for (int w = 1; w < work_count; ++w) {
      const auto work = static_cast<WorkKind>(w);
      machine[work] = refit_rates(base[work], measurements_of(machine, samples, work), machine.overhead,
                                  machine.overlaps);
    }
  }
  fit_transfers(machine, samples);

  std::map<std::string, Errors> by_kind;
  Errors all;
  const auto factor = [](double a, double b) { return std::exp(std::abs(std::log(a / b))); };
  for (const KernelSample& sample : samples) {
    const std::optional<double> first = predicted(base, sample), then = predicted(machine, sample);
    if (!first || !then) continue;
    for (Errors* errors : {&by_kind[kind_of(sample)], &all}) {
      errors->before.push_back(factor(*first, sample.seconds));
      errors->after.push_back(factor(*then, sample.seconds));
    }
  }
  for (int w = 1; w < work_count; ++w) {
    const auto found = by_kind.find(std::string(name_of(static_cast<WorkKind>(w))));
    if (found == by_kind.end()) continue;
    fitted.errors.push_back(found->second.report(found->first));
    by_kind.erase(found);
  }
  for (const auto& [kind, errors] : by_kind) fitted.errors.push_back(errors.report(kind));
  if (!all.before.empty()) fitted.all = all.report("all");
  return fitted;
}

}  // namespace tidemark
