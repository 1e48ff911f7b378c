#include "tidemark/plan/report/size_formulas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/report/infeasible.h"

namespace tidemark {
namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::size_t most_regimes = 6;
// How far a formula may be off, as a share of the peak: in all, and in a part of it. Arguments are exact.
struct Tolerance {
  double peak = 0, part = 0;
};
// Tried one after the other: a rough formula for all sizes is worth more than fine ones for some.
constexpr Tolerance tolerances[] = {{0.005, 0.02}, {0.02, 0.05}, {0.05, 0.1}};
constexpr double tolerance_of_arguments = 1e-6;

struct Fit {
  SizeRegime regime;
  bool holds = false;  // at all further plans
};

// Does a formula say what a plan takes? In each of its parts: arguments have the bytes of their types, which
// are polynomials, and everything else may be off a little: by what is rounded up to whole vectors and
// buffers, and where values of one part take the place of another's.
bool agrees(const SizeRegime& regime, const Sizes& sizes, const SizedPeak& plan, const Tolerance& tolerance) {
  const auto peak = static_cast<double>(plan.peak());
  if (static_cast<double>(std::abs(regime.peak.at(sizes) - plan.peak())) > tolerance.peak * peak)
    return false;
  for (std::size_t r = 0; r < plan.bytes.size(); ++r) {
    const auto role = static_cast<PeakRole>(r);
    const bool argument = role == PeakRole::parameters || role == PeakRole::moments || role == PeakRole::data;
    const auto off = static_cast<double>(std::abs(regime.by_role[r].at(sizes) - plan.bytes[r]));
    if (off > (argument ? tolerance_of_arguments : tolerance.part) * peak) return false;
  }
  return true;
}

class RegimeSearch {
 public:
  RegimeSearch(std::vector<SizeAxis> axes, const PeakAtSizes& peak_at, int most_plans)
      : peak_at_(peak_at), most_plans_(most_plans) {
    found_.axes = std::move(axes);
  }

  SizeFormulas run() {
    SizeFormulas best;
    for (const Tolerance& tolerance : tolerances) {
      tolerance_ = tolerance;
      SizeFormulas found = cover();
      const bool all = found.without.empty();
      if (best.regimes.empty() || all) best = std::move(found);
      if (all) break;
    }
    best.plans = planned();
    return best;
  }

 private:
  // Boxes that formulas hold in to the tolerance, until all sizes are covered or the limits are reached.
  SizeFormulas cover() {
    found_.regimes.clear();
    found_.without.clear();
    const int most_plans = planned() + most_plans_;
    SizeBox whole;
    for (const SizeAxis& axis : found_.axes) {
      TM_CHECK(axis.step > 0 && axis.least <= axis.most);
      whole.push_back({axis.least, axis.most});
    }
    std::vector<SizeBox> open = {whole};
    while (!open.empty()) {
      const SizeBox box = std::move(open.back());
      open.pop_back();
      if (planned() > most_plans || found_.regimes.size() >= most_regimes) {
        found_.without.push_back(box);
        continue;
      }
      Fit fit = fit_box(box);
      if (fit.holds) {
        found_.regimes.push_back(std::move(fit.regime));
        continue;
      }
      const std::optional<Cut> cut = best_cut(box);
      if (!cut || planned() > most_plans) {
        found_.without.push_back(box);
        continue;
      }
      SizeBox below = box, above = box;
      below[cut->axis].most = cut->at - found_.axes[cut->axis].step;
      above[cut->axis].least = cut->at;
      open.push_back(std::move(below));  // taken up after what lies above
      open.push_back(std::move(above));
    }
    return found_;
  }

  struct Cut {
    std::size_t axis = 0;
    std::int64_t at = 0;  // the least size of the upper part
  };

  int planned() const { return static_cast<int>(plans_.size()); }
  const std::optional<SizedPeak>& plan_at(const Sizes& sizes) {
    const auto known = plans_.find(sizes);
    if (known != plans_.end()) return known->second;
    return plans_.emplace(sizes, peak_at_(sizes)).first->second;
  }

  std::int64_t count(std::size_t axis, const SizeRange& range) const {
    return (range.most - range.least) / found_.axes[axis].step + 1;
  }
  // `share` of the way from the least to the most. Where that leaves a choice, a size that many powers of two
  // divide: rounding up to whole vectors and buffers then takes nothing.
  std::int64_t between(std::size_t axis, const SizeRange& range, std::int64_t share, std::int64_t of) const {
    const std::int64_t step = found_.axes[axis].step, last = count(axis, range) - 1;
    if (share == 0) return range.least;
    if (share == of) return range.most;
    std::int64_t best = range.least + last * share / of * step;
    const std::int64_t slack = last / (4 * of);
    for (std::int64_t k = -slack; k <= slack; ++k) {
      const std::int64_t size = range.least + (last * share / of + k) * step;
      if ((size & -size) > (best & -best)) best = size;
    }
    return best;
  }

  std::vector<Sizes> nodes_of(const SizeBox& box) const {
    std::vector<Sizes> nodes(box.size());
    for (std::size_t i = 0; i < box.size(); ++i) {
      const std::int64_t powers = std::min<std::int64_t>(found_.axes[i].degree, count(i, box[i]) - 1);
      for (std::int64_t k = 0; k <= powers; ++k)
        nodes[i].push_back(between(i, box[i], k, std::max<std::int64_t>(1, powers)));
    }
    return nodes;
  }

  // All combinations of some sizes of each axis, the last axis fastest.
  static std::vector<Sizes> grid(const std::vector<Sizes>& per_axis) {
    std::vector<Sizes> points(1);
    for (const Sizes& sizes : per_axis) {
      std::vector<Sizes> longer;
      for (const Sizes& point : points) {
        for (const std::int64_t size : sizes) {
          longer.push_back(point);
          longer.back().push_back(size);
        }
      }
      points = std::move(longer);
    }
    return points;
  }

  // Sizes that the fit has not seen, each axis at another place, few enough to plan.
  std::vector<Sizes> further_sizes(const SizeBox& box) const {
    constexpr std::int64_t places[][4] = {
        {3, 8, 5, 11}, {9, 4, 13, 6}, {5, 13, 10, 3}, {12, 7, 2, 9}, {7, 2, 9, 14}};
    std::vector<Sizes> points;
    for (const auto& place : places) {
      Sizes point;
      for (std::size_t i = 0; i < box.size(); ++i) {
        const std::int64_t last = count(i, box[i]) - 1;
        point.push_back(box[i].least + last * place[i % 4] / 16 * found_.axes[i].step);
      }
      points.push_back(std::move(point));
    }
    return points;
  }

  static bool inside(const SizeBox& box, const Sizes& sizes) {
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (sizes[i] < box[i].least || sizes[i] > box[i].most) return false;
    }
    return true;
  }

  // The polynomials through the nodes of a box; none where a plan is missing.
  std::optional<SizeRegime> through_nodes(const SizeBox& box) {
    const std::vector<Sizes> nodes = nodes_of(box), points = grid(nodes);
    std::array<std::vector<std::int64_t>, peak_role_count> values;
    SizeRegime regime{.box = box};
    for (const Sizes& point : points) {
      const std::optional<SizedPeak>& plan = plan_at(point);
      if (!plan) return {};
      for (std::size_t r = 0; r < values.size(); ++r) values[r].push_back(plan->bytes[r]);
      note(regime, *plan);
    }
    for (std::size_t r = 0; r < values.size(); ++r) regime.by_role[r] = interpolate(nodes, values[r]);
    regime.peak = sum_of(regime.by_role);
    regime.fitted = static_cast<int>(points.size());
    return regime;
  }
  static void note(SizeRegime& regime, const SizedPeak& plan) {
    if (std::ranges::find(regime.at, plan.at) == regime.at.end()) regime.at.push_back(plan.at);
  }

  // With all plans in its box, those of other boxes too.
  bool agrees_in(const SizeRegime& regime) const {
    return std::ranges::all_of(plans_, [&](const auto& known) {
      const auto& [sizes, plan] = known;
      return !inside(regime.box, sizes) || (plan && agrees(regime, sizes, *plan, tolerance_));
    });
  }

  // A part that is no polynomial, such as scratch that stops to grow, is one of few terms where that is near
  // enough: better read than a curve through it, and less astray between plans.
  void shorten(SizeRegime& regime) const {
    std::vector<int> degrees;
    for (std::size_t i = 0; i < regime.box.size(); ++i)
      degrees.push_back(count(i, regime.box[i]) > found_.axes[i].degree ? found_.axes[i].degree : 0);
    for (std::size_t r = 0; r < regime.by_role.size(); ++r) {
      std::vector<SizeSample> samples;
      bool exact = true;
      for (const auto& [sizes, plan] : plans_) {
        if (!plan || !inside(regime.box, sizes)) continue;
        const auto peak = static_cast<double>(plan->peak());
        samples.push_back({sizes, static_cast<double>(plan->bytes[r]), peak * tolerance_.peak / 4});
        exact = exact && regime.by_role[r].at(sizes) == plan->bytes[r];
      }
      if (exact) continue;
      if (std::optional<SizePolynomial> shorter = few_terms(samples, degrees))
        regime.by_role[r] = *std::move(shorter);
    }
    regime.peak = sum_of(regime.by_role);
  }

  Fit fit_box(const SizeBox& box) {
    std::optional<SizeRegime> regime = through_nodes(box);
    if (!regime) return {};
    for (const Sizes& sizes : further_sizes(box)) {
      if (!plan_at(sizes)) return {};
    }
    SizeRegime shorter = *regime;
    if (shorten(shorter); agrees_in(shorter)) {
      regime = std::move(shorter);
    } else if (!agrees_in(*regime)) {
      return {};
    }
    const std::vector<Sizes> fitted = grid(nodes_of(box));
    for (const auto& [sizes, plan] : plans_) {
      if (!inside(box, sizes) || std::ranges::find(fitted, sizes) != fitted.end()) continue;
      const std::int64_t off = std::abs(regime->peak.at(sizes) - plan->peak());
      ++regime->checked;
      regime->most_off = std::max(regime->most_off, off);
      regime->deviation =
          std::max(regime->deviation, static_cast<double>(off) / static_cast<double>(plan->peak()));
      note(*regime, *plan);
    }
    return {*std::move(regime), true};
  }

  // Along one axis, the others at one size each: how far down the formula of the upper end holds. None where
  // it holds all the way.
  std::optional<std::int64_t> border(SizeBox line, std::size_t axis) {
    const std::int64_t step = found_.axes[axis].step, least = line[axis].least;
    const auto at = [&](std::int64_t size) {
      Sizes sizes;
      for (const SizeRange& range : line) sizes.push_back(range.most);
      sizes[axis] = size;
      return sizes;
    };
    const auto holds = [&](const SizeRegime& regime, std::int64_t size) {
      const std::optional<SizedPeak>& plan = plan_at(at(size));
      return plan && agrees(regime, at(size), *plan, tolerance_);
    };
    // The upper part of the line, halved until one formula holds in it.
    std::optional<SizeRegime> top;
    for (;;) {
      top = through_nodes(line);
      const std::int64_t steps = count(axis, line[axis]) - 1;
      if (steps <= found_.axes[axis].degree) break;  // it goes through all there are
      if (top && holds(*top, line[axis].least + steps / 3 * step) &&
          holds(*top, line[axis].least + steps * 3 / 4 * step))
        break;
      line[axis].least += (steps + 1) / 2 * step;
    }
    if (!top) return line[axis].most;
    std::int64_t good = line[axis].least, bad = least;
    if (good == least || holds(*top, least)) return {};
    while (good - bad > step) {
      const std::int64_t middle = bad + (good - bad) / step / 2 * step;
      (holds(*top, middle) ? good : bad) = middle;
    }
    return good;
  }

  // A border that leaves next to nothing on one side is none: plans there follow no polynomial, and only
  // smaller boxes may help.
  bool leaves_enough(std::size_t axis, const SizeRange& range, std::int64_t at) const {
    const std::int64_t all = count(axis, range), above = (range.most - at) / found_.axes[axis].step + 1;
    return std::min(above, all - above) >= std::max<std::int64_t>(1, all / 16);
  }

  // Borders are looked for along lines from the largest and from the smallest sizes of a box; where they show
  // none, the axis with the most sizes is halved.
  std::optional<Cut> best_cut(const SizeBox& box) {
    for (const bool from_largest : {true, false}) {
      for (std::size_t axis = 0; axis < box.size(); ++axis) {
        if (count(axis, box[axis]) < 2) continue;
        SizeBox line = box;
        for (std::size_t i = 0; i < box.size(); ++i) {
          if (i != axis)
            (from_largest ? line[i].least : line[i].most) = from_largest ? box[i].most : box[i].least;
        }
        if (const std::optional<std::int64_t> at = border(line, axis)) {
          if (leaves_enough(axis, box[axis], *at)) return Cut{axis, *at};
        }
      }
    }
    std::size_t longest = 0;
    for (std::size_t i = 1; i < box.size(); ++i) {
      if (count(i, box[i]) > count(longest, box[longest])) longest = i;
    }
    const std::int64_t sizes = count(longest, box[longest]);
    if (sizes < 2) return {};
    return Cut{longest, box[longest].least + sizes / 2 * found_.axes[longest].step};
  }

  const PeakAtSizes& peak_at_;
  const int most_plans_;
  Tolerance tolerance_;
  std::map<Sizes, std::optional<SizedPeak>> plans_;
  SizeFormulas found_;
};

std::string box_text(const std::vector<SizeAxis>& axes, const SizeBox& box) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ranges.push_back(box[i].least == box[i].most
                         ? fmt::format("{} {}", axes[i].name, box[i].least)
                         : fmt::format("{} {} to {}", axes[i].name, box[i].least, box[i].most));
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

std::string check_text(const SizeRegime& regime) {
  if (regime.checked == 0) return fmt::format("by the {} plans that there are", regime.fitted);
  const std::string further =
      fmt::format("{} plans at other sizes than the {} it was made from", regime.checked, regime.fitted);
  if (regime.most_off == 0) return "exact, to the byte, in " + further;
  return fmt::format("at most {} off, {:.2g}% of the peak, in {}", to_string(Bytes(regime.most_off)),
                     100 * regime.deviation, further);
}

// What is below a thousandth of the peak at the largest sizes shares a line.
std::string regime_text(const std::vector<SizeAxis>& axes, const SizeRegime& regime) {
  constexpr double small = 1e-3;
  std::vector<std::string> names;
  Sizes largest;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    names.push_back(axes[i].name);
    largest.push_back(regime.box[i].most);
  }
  const auto peak = static_cast<double>(regime.peak.at(largest));
  std::string text = fmt::format("{:<22}{}\n", "formula for", box_text(axes, regime.box));
  const auto line = [&](std::string_view name, const std::string& what) {
    text += fmt::format("  {:<20}{}\n", name, what);
  };
  line("peak", to_text(regime.peak, names));
  line("at the largest", to_string(Bytes(regime.peak.at(largest))));
  std::vector<int> roles(peak_role_count), minor;
  std::iota(roles.begin(), roles.end(), 0);
  const auto bytes = [&](int role) { return regime.by_role[static_cast<std::size_t>(role)].at(largest); };
  std::ranges::stable_sort(roles, [&](int a, int b) { return bytes(a) > bytes(b); });
  for (const int role : roles) {
    const SizePolynomial& polynomial = regime.by_role[static_cast<std::size_t>(role)];
    if (polynomial.terms.empty()) continue;
    if (static_cast<double>(bytes(role)) < small * peak) {
      minor.push_back(role);
    } else {
      line(label_of(static_cast<PeakRole>(role)), to_text(polynomial, names));
    }
  }
  if (!minor.empty()) {
    std::vector<std::string_view> minor_names;
    std::int64_t sum = 0;
    for (const int role : minor) {
      minor_names.push_back(label_of(static_cast<PeakRole>(role)));
      sum += bytes(role);
    }
    line("others",
         fmt::format("{} at the largest sizes ({})", to_string(Bytes(sum)), fmt::join(minor_names, ", ")));
  }
  line("checked", check_text(regime));
  line("at the peak", fmt::format("{}", fmt::join(regime.at, "; ")));
  return text;
}

}  // namespace

std::int64_t SizedPeak::peak() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

SizedPeak sized_peak(const Graph& graph, const Plan& plan) {
  SizedPeak peak{.bytes = peak_split(graph, plan).bytes};
  if (plan.steps.empty()) return peak;
  const Node& node = graph[parts_at_peak(plan).node];
  peak.at = node.op->name;
  if (node.where.known()) peak.at += fmt::format(" ({})", short_form(node.where));
  return peak;
}

const SizeRegime* SizeFormulas::regime_of(std::span<const std::int64_t> sizes) const {
  for (const SizeRegime& regime : regimes) {
    bool inside = true;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      inside = inside && regime.box[i].least <= sizes[i] && sizes[i] <= regime.box[i].most;
    if (inside) return &regime;
  }
  return nullptr;
}

SizeFormulas size_formulas(std::vector<SizeAxis> axes, const PeakAtSizes& peak_at, int most_plans) {
  return RegimeSearch(std::move(axes), peak_at, most_plans).run();
}

std::string to_text(const SizeFormulas& formulas) {
  std::vector<std::string> names;
  for (const SizeAxis& axis : formulas.axes) names.push_back(axis.name);
  std::string text = fmt::format("the peak without a budget, as a formula in {}\n", fmt::join(names, ", "));
  for (const SizeRegime& regime : formulas.regimes) text += regime_text(formulas.axes, regime);
  for (const SizeBox& box : formulas.without)
    text += fmt::format("{:<22}{}: plans there follow no polynomial\n", "no formula for",
                        box_text(formulas.axes, box));
  return text;
}

}  // namespace tidemark
