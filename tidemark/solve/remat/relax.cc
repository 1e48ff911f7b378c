#include "tidemark/solve/remat/relax.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/never.h"

namespace tidemark {
namespace {

constexpr double leeway = 1e-9;  // of the budget, so that rounding never makes a full budget look overfull

enum Choice : unsigned char { make_again = 1, stay_away = 2 };

}  // namespace

RematRelaxation::RematRelaxation(const RematProblem& problem, std::span<const int> probes, bool operands,
                                 int prior)
    : probes_(static_cast<int>(probes.size())), scale_(problem.base_cost()) {
  if (!(scale_ > 0)) scale_ = 1;
  make_spans(problem, probes, prior);
  if (operands) make_links(problem);
  std::size_t cells = 0;
  for (Span& span : spans_) {
    span.cell = cells;
    cells += at(std::max(0, span.last - span.made));
  }
  forced_.assign(cells, 0);
  charged_.assign(cells, 1);
  choice_.assign(cells, 0);
  present_.assign(cells, 0);
  remade_.assign(cells, 0);
  again_.assign(cells, 0);
  credit_.assign(cells, 0);
  std::size_t prices = 0;
  for (Link& link : links_) {
    link.price = prices;
    prices += at(std::max(0, link.last - link.first + 1));
  }
  make_rows(problem, probes);
  for (Prices* p : {&prices_, &best_prices_, &slope_}) {
    p->memory.assign(probes.size(), 0);
    p->operand.assign(prices, 0);
  }
}

void RematRelaxation::make_spans(const RematProblem& problem, std::span<const int> probes, int prior) {
  const OrderModel& model = problem.model;
  earliest_.assign(at(model.tasks), 0);
  latest_.assign(at(model.tasks), probes_);
  if (problem.fixed_order) {
    for (int t = 0; t < model.tasks; ++t) {
      earliest_[at(t)] = latest_[at(t)] =
          static_cast<int>(std::ranges::lower_bound(probes, t) - probes.begin());
    }
  } else {
    std::vector<int> probe_of(at(model.tasks), -1);
    for (int k = 0; k < probes_; ++k) probe_of[at(probes[at(k)])] = k;
    for (int t = 0; t < model.tasks; ++t) {
      for (int p : model.before[t]) {
        TM_CHECK(p < t, "the base order runs {} before {}", t, p);
        const int k = probe_of[at(p)] >= 0 ? probe_of[at(p)] + 1 : earliest_[at(p)];
        earliest_[at(t)] = std::max(earliest_[at(t)], k);
      }
    }
    for (int t = model.tasks - 1; t >= 0; --t) {
      for (int s : model.after[t]) {
        const int k = probe_of[at(s)] >= 0 ? probe_of[at(s)] : latest_[at(s)];
        latest_[at(t)] = std::min(latest_[at(t)], k);
      }
      if (probe_of[at(t)] < 0) continue;
      TM_CHECK(earliest_[at(t)] <= probe_of[at(t)] && probe_of[at(t)] <= latest_[at(t)]);
      earliest_[at(t)] = latest_[at(t)] = probe_of[at(t)];
    }
  }
  for (int t = 0; t < prior; ++t) earliest_[at(t)] = latest_[at(t)] = -1;

  spans_.resize(at(model.items));
  for (Span& span : spans_) {
    span.made = span.last = -1;
    span.cost = never;
  }
  for (int t = 0; t < model.tasks; ++t) {
    double bytes = 0;
    for (int i : model.makes[t]) bytes += static_cast<double>(model.size[at(i)]);
    for (int i : model.makes[t]) {
      Span& span = spans_[at(i)];
      span.made = latest_[at(t)];
      span.at_start = model.present[at(i)];
      if (!problem.repeatable[at(t)]) continue;
      const double share = bytes > 0 ? static_cast<double>(model.size[at(i)]) / bytes
                                     : 1.0 / static_cast<double>(model.makes[t].size());
      span.cost = problem.cost[at(t)] * share / scale_;
      span.until = probes_;
      for (int c : problem.closed_by[t]) span.until = std::min(span.until, latest_[at(c)]);
    }
  }
  for (int i = 0; i < model.items; ++i) {
    Span& span = spans_[at(i)];
    for (int u : model.users[i]) span.last = std::max(span.last, latest_[at(u)]);
    if (model.pinned[at(i)]) span.last = probes_;
    span.bytes = static_cast<double>(model.size[at(i)]) /
                 static_cast<double>(std::max<std::int64_t>(1, problem.budget));
  }
}

void RematRelaxation::make_links(const RematProblem& problem) {
  const OrderModel& model = problem.model;
  // An operand is of interest as long as what is made from it.
  for (int t = model.tasks - 1; t >= 0; --t) {
    if (!problem.repeatable[at(t)]) continue;
    for (int i : model.makes[t]) {
      const int last = std::min(spans_[at(i)].last, spans_[at(i)].until);
      if (last <= spans_[at(i)].made) continue;
      for (int z : model.uses[t]) spans_[at(z)].last = std::max(spans_[at(z)].last, last);
    }
  }
  for (int t = 0; t < model.tasks; ++t) {
    for (int i : model.makes[t]) {
      Span& span = spans_[at(i)];
      span.first_link = links_.size();
      const int last = std::min(span.last, span.until);
      for (int z : model.uses[t]) {
        const int first = std::max(span.made, spans_[at(z)].made) + 1;
        if (first <= last) links_.push_back({.operand = z, .first = first, .last = last});
      }
      span.last_link = links_.size();
    }
  }
}

void RematRelaxation::make_rows(const RematProblem& problem, std::span<const int> probes) {
  const OrderModel& model = problem.model;
  const auto uncharge = [&](int item, int first, int last) {
    Span& span = spans_[at(item)];
    if (first <= span.made && span.made <= last) span.charged_when_made = false;
    for (int k = std::max(first, span.made + 1); k <= std::min(last, span.last); ++k)
      charged_[cell(span, k)] = 0;
  };
  for (Span& span : spans_) {
    span.charged_when_made = span.made >= 0 && span.made < probes_ && span.made < span.last;
  }
  for (int t = 0; t < model.tasks; ++t) {
    if (latest_[at(t)] < 0) continue;
    for (int z : model.uses[t]) {
      const Span& span = spans_[at(z)];
      if (latest_[at(t)] > span.made) forced_[cell(span, latest_[at(t)])] = 1;
      // The use may be in any of these stages, so the item may be gone at the probes between.
      uncharge(z, earliest_[at(t)], latest_[at(t)] - 1);
    }
  }
  for (int i = 0; i < model.items; ++i) {
    const Span& span = spans_[at(i)];
    if (model.pinned[at(i)] && span.last > span.made) forced_[cell(span, span.last)] = 1;
  }
  over_.resize(probes.size());
  const double budget = static_cast<double>(std::max<std::int64_t>(1, problem.budget));
  double sum = 0, squares = 0;
  for (int k = 0; k < probes_; ++k) {
    const int t = probes[at(k)];
    std::int64_t own = model.base + model.scratch[at(t)], dying = 0, taken = 0;
    for (int i : model.uses[t]) own += model.size[at(i)];
    for (int i : model.makes[t]) {
      own += model.size[at(i)];
      std::int64_t largest = 0;
      for (const InPlaceReuse& pair : model.reuses[at(t)]) {
        if (pair.made == i) largest = std::max(largest, model.size[at(pair.used)]);
      }
      taken += largest;
      uncharge(i, k, k);
    }
    std::vector<int> takeable;
    for (const InPlaceReuse& pair : model.reuses[at(t)]) {
      if (std::ranges::count(takeable, pair.used) == 0) takeable.push_back(pair.used);
    }
    for (int i : takeable) dying += model.size[at(i)];
    // What in-place reuses save is bounded by the operands that die and by one operand per result: one row,
    // either one.
    const bool by_operands = dying <= taken;
    for (int i : model.uses[t]) {
      if (!by_operands || std::ranges::count(takeable, i) == 0) uncharge(i, k, k);
    }
    over_[at(k)] = static_cast<double>(own - std::min(dying, taken) - problem.budget) / budget - leeway;
  }
  for (const Span& span : spans_) {
    sum += span.bytes;
    squares += span.bytes * span.bytes;
  }
  memory_scale_ = sum > 0 ? squares / sum : 1;
}

void RematRelaxation::price_cells() {
  std::ranges::fill(credit_, 0.0);
  for (const Span& span : spans_) {
    for (int k = span.made + 1; k <= span.last; ++k)
      again_[cell(span, k)] = k <= span.until ? span.cost : never;
    for (std::size_t l = span.first_link; operands_ && l < span.last_link; ++l) {
      const Link& link = links_[l];
      double* again = &again_[cell(span, link.first)];
      double* credit = &credit_[cell(spans_[at(link.operand)], link.first)];
      const double* price = &prices_.operand[link.price];
      for (int k = 0; k <= link.last - link.first; ++k) {
        again[k] += price[k];
        credit[k] += price[k];
      }
    }
  }
}

// Price of being alive when the stage after `made` begins.
double RematRelaxation::at_first(const Span& span) const {
  if (span.charged_when_made) return prices_.memory[at(span.made)] * span.bytes;
  return span.at_start || span.made >= 0 ? 0 : never;
}

double RematRelaxation::item_value(const Span& span) {
  double alive = at_first(span), gone = 0;
  for (int k = span.made + 1; k <= span.last; ++k) {
    const std::size_t c = cell(span, k);
    const double remade = gone + again_[c];
    unsigned char choice = 0;
    double present = alive;
    if (remade < alive) {
      present = remade;
      choice = make_again;
    }
    present -= credit_[c];
    const double absent = forced_[c] ? never : gone;
    alive = present;
    if (charged_[c] && k < probes_) alive += prices_.memory[at(k)] * span.bytes;
    gone = present;
    if (absent < present) {
      gone = absent;
      choice |= stay_away;
    }
    choice_[c] = choice;
  }
  return gone;
}

void RematRelaxation::trace(const Span& span) {
  bool alive = false;
  for (int k = span.last; k > span.made; --k) {
    const std::size_t c = cell(span, k);
    if (alive && charged_[c] && k < probes_) slope_.memory[at(k)] += span.bytes;
    present_[c] = alive || !(choice_[c] & stay_away);
    remade_[c] = present_[c] && (choice_[c] & make_again);
    alive = present_[c] && !remade_[c];
  }
  if (alive && span.charged_when_made) slope_.memory[at(span.made)] += span.bytes;
}

// The bound at these prices, and the slope of it.
double RematRelaxation::evaluate() {
  price_cells();
  double value = 0;
  for (int k = 0; k < probes_; ++k) {
    slope_.memory[at(k)] = over_[at(k)];
    value += prices_.memory[at(k)] * over_[at(k)];
  }
  for (const Span& span : spans_) {
    if (span.last <= span.made) continue;
    value += item_value(span);
    trace(span);
  }
  for (const Span& span : spans_) {
    for (std::size_t l = span.first_link; operands_ && l < span.last_link; ++l) {
      const Link& link = links_[l];
      const unsigned char* remade = &remade_[cell(span, link.first)];
      const unsigned char* present = &present_[cell(spans_[at(link.operand)], link.first)];
      double* slope = &slope_.operand[link.price];
      for (int k = 0; k <= link.last - link.first; ++k)
        slope[k] = static_cast<double>(remade[k]) - present[k];
    }
  }
  for (double& s : slope_.memory) s /= memory_scale_;
  return value;
}

RematRelaxation::Potentials RematRelaxation::potentials() {
  prices_ = best_prices_;
  price_cells();
  Potentials result;
  result.items_ = static_cast<int>(spans_.size());
  for (int which : {0, 1}) {
    result.constant_[which].assign(at(probes_ + 1), 0);
    result.wanted_[which].assign(at(probes_ + 1) * spans_.size(), 0);
  }
  for (int k = 1; k <= probes_; ++k) {
    for (auto& constant : result.constant_) {
      constant[at(k)] = constant[at(k - 1)] + prices_.memory[at(k - 1)] * over_[at(k - 1)] * scale_;
    }
  }
  const auto set = [&](int which, int k, std::size_t item, double absent, double wanted) {
    result.constant_[which][at(k)] += absent * scale_;
    result.wanted_[which][at(k) * spans_.size() + item] = (wanted - absent) * scale_;
  };
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    double alive = at_first(span), gone = 0;
    for (int k = span.made + 1; k <= probes_; ++k) {
      if (k > span.last) {
        set(0, k, i, gone, gone);
        set(1, k, i, gone, gone);
        continue;
      }
      const std::size_t c = cell(span, k);
      const double present = std::min(alive, gone + again_[c]) - credit_[c];
      set(0, k, i, std::min(gone, present), present);
      set(1, k, i, gone, std::min(alive, gone + (k <= span.until ? span.cost : never)));
      const double absent = forced_[c] ? never : gone;
      alive = present;
      if (charged_[c] && k < probes_) alive += prices_.memory[at(k)] * span.bytes;
      gone = std::min(present, absent);
    }
  }
  return result;
}

}  // namespace tidemark
