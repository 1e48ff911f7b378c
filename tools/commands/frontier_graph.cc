#include <algorithm>
#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/engine/plan_function.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/machine.h"
#include "tools/commands/frontier_command.h"
#include "tools/options/choice_option.h"
#include "tools/report/progress.h"

namespace tidemark::cli {
namespace {

// The step as it is, and cut into 2, 4, … micro-batches where it can be.
std::vector<Graph> graphs_of(const ModelOption& model, bool split, bool lossy) {
  const MarkedReads marked(lossy ? StandIns::lossy : StandIns::exact);
  std::vector<Graph> graphs;
  graphs.push_back(model.load());
  if (!split) return graphs;
  const std::int64_t batch = model.batch.value_or(nn::find_in_zoo(model.model)->batch);
  for (std::int64_t count = 2; count <= batch && batch % count == 0; count *= 2) {
    ModelOption other = model;
    other.split = count;
    try {
      graphs.push_back(other.load());
    } catch (const Error&) {
      if (count == 2) throw;  // it cannot be cut at all
      break;
    }
  }
  return graphs;
}

bool has_all(const Choices& more, const Choices& fewer) {
  return std::ranges::all_of(all_choices, [&](Choice c) { return more.has(c) || !fewer.has(c); });
}

bool has_all(const std::vector<TierBudget>& more, const std::vector<TierBudget>& fewer) {
  return std::ranges::all_of(fewer, [&](const TierBudget& tier) {
    return std::ranges::any_of(
        more, [&](const TierBudget& t) { return t.memory == tier.memory && t.bytes >= tier.bytes; });
  });
}

// A curve to be drawn.
struct CurveSetting {
  Choices allow = {};
  std::vector<TierBudget> tiers = {};
};
std::vector<CurveSetting> settings_of(const FrontierCommand& command) {
  std::vector<CurveSetting> settings;
  for (const Choices& allow : command.allow) settings.push_back({allow, allowed_tiers(command.tiers, allow)});
  if (!settings.empty()) return settings;
  settings.emplace_back();
  if (!command.tiers.empty()) settings.push_back({.tiers = command.tiers});
  return settings;
}

// Who may do more may do what fewer choices lead to: points of those are taken where they are faster. Points
// that are no faster than one with less memory are left out, but for the last.
void take_from_fewer(std::vector<Frontier>& curves) {
  const std::vector<Frontier> own = curves;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<FrontierPoint> all = own[i].points;
    for (std::size_t j = 0; j < own.size(); ++j) {
      if (i == j || !has_all(own[i].allow, own[j].allow) || !has_all(own[i].tiers, own[j].tiers)) continue;
      for (FrontierPoint point : own[j].points) {
        // A bound with fewer choices is none here; that of a larger budget is.
        const auto above = std::ranges::find_if(
            own[i].points, [&](const FrontierPoint& p) { return p.budget >= point.budget; });
        if (above == own[i].points.end()) continue;
        point.bound = std::min(point.time, above->bound);
        all.push_back(point);
      }
    }
    std::ranges::stable_sort(all, [](const FrontierPoint& a, const FrontierPoint& b) {
      return a.budget != b.budget ? a.budget < b.budget : a.time < b.time;
    });
    std::vector<FrontierPoint>& falling = curves[i].points;
    falling.clear();
    for (const FrontierPoint& point : all) {
      if (falling.empty() || point.time < falling.back().time) falling.push_back(point);
    }
    if (all.back().budget > falling.back().budget) {
      FrontierPoint last = falling.back();
      last.budget = all.back().budget;
      falling.push_back(last);
    }
  }
}

}  // namespace

std::vector<Frontier> frontiers_of_graph(const FrontierCommand& command) {
  SearchControl control(planning_control(command.effort.value));
  std::optional<Machine> machine;
  if (!command.machine.empty()) machine = load_machine(command.machine);
  const std::vector<CurveSetting> settings = settings_of(command);
  std::vector<Frontier> curves;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& [allow, tiers] = settings[i];
    const std::optional<Lossy> lossy = allow.has(Choice::compress) ? command.lossy : std::nullopt;
    PlanOptions options{.allow = allow,
                        .machine = machine ? &*machine : nullptr,
                        .fixed_order = command.fixed_order,
                        .effort = command.effort.value.factor,
                        .control = &control};
    command.device.add_to(options);
    options.tiers = tiers;
    const TimeShare time(&control, 1.0 / static_cast<double>(settings.size() - i));
    const std::vector<Graph> graphs =
        graphs_of(command.model, command.split && allow.has(Choice::split), lossy.has_value());
    const std::vector<tidemark::FrontierPoint> points =
        frontier_points(graphs, lossy, {}, options, command.points);
    Frontier& curve = curves.emplace_back(Frontier{.allow = allow, .tiers = tiers, .unit = "s"});
    curve.least_time = points.back().seconds / (1 + points.back().extra_time);
    for (const tidemark::FrontierPoint& point : points) {
      curve.points.push_back({.budget = point.budget.count,
                              .peak = point.memory.count,
                              .time = point.seconds,
                              .bound = point.seconds_bound,
                              .recomputed = point.recomputed});
    }
  }
  control.finish();
  if (curves.size() > 1) take_from_fewer(curves);
  const double least = std::ranges::min(curves, {}, &Frontier::least_time).least_time;
  for (Frontier& curve : curves) curve.least_time = least;
  return curves;
}

}  // namespace tidemark::cli
