#include "tidemark/schedule/kinds/remainder.h"

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/remainder_choice.h"

namespace tidemark::schedule {
namespace {

// Every step; or sources and what lies 1, 2, 4, … behind them; or sources alone.
std::vector<Step> candidates(const Remainder& r, const std::vector<Step>& sources,
                             RemainderPlan::Choice choice) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Step next = i + 1 < sources.size() ? sources[i + 1] : r.end;
    steps.push_back(sources[i]);
    if (choice == RemainderPlan::Choice::among_all)
      for (Step step = sources[i] + 1; step < next; ++step) steps.push_back(step);
    if (choice == RemainderPlan::Choice::among_many)
      for (Step behind = 1; sources[i] + behind < next; behind *= 2) steps.push_back(sources[i] + behind);
  }
  if (steps.back() != r.end - 1) steps.push_back(r.end - 1);  // the only last place that takes no slot
  return steps;
}

}  // namespace

std::vector<Step> RemainderPlan::kept(const Remainder& r) const {
  std::vector<Step> states;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    const bool is_at_work = r.may_load && i + 1 == places.size();
    if (is_at_work && (place.state != place.source || r.end - place.state == 1)) continue;
    if (!std::binary_search(r.held.begin(), r.held.end(), place.source)) continue;
    if (states.empty() || states.back() != place.source) states.push_back(place.source);
  }
  return states;
}

RemainderPlan plan_remainder(const Remainder& r, std::int64_t slots, std::int64_t pairs) {
  using enum RemainderPlan::Choice;
  TM_CHECK(slots >= 1 || !r.needs_a_slot(), "{} slots for {} steps", slots, r.end);
  if (r.end == 0) return {};
  if (!r.needs_a_slot()) return {.places = {{0, 0}}};
  if (r.held.empty()) {
    TM_CHECK(r.working == 0, "no state to begin from");
    return {.places = {{0, 0}}, .advances = least_advances(r.end, slots)};
  }
  TM_CHECK(r.may_load || r.working < 0);
  std::vector<Step> sources = r.held;
  if (r.working > sources.back()) sources.push_back(r.working);
  if (r.end > most_listed) pairs /= 16;
  const std::int64_t ranks = std::min<std::int64_t>(std::ssize(sources), slots + 1);
  if (r.end <= pairs / ranks)
    return remainder_by_paths(r, slots, candidates(r, sources, among_all), among_all);
  for (const RemainderPlan::Choice choice : {among_many, among_held}) {
    if (std::ssize(sources) > pairs / ranks) break;
    const std::vector<Step> steps = candidates(r, sources, choice);
    if (choice == among_held || std::ssize(steps) <= pairs / ranks)
      return remainder_by_paths(r, slots, steps, choice);
  }
  return remainder_one_by_one(r, slots);
}

std::size_t RemainderReversal::burst(Action* out) {
  if (const std::size_t count = segment_.burst(out)) return count;
  if (places_.empty()) return 0;
  Emitter emit(out);
  const auto [source, state] = places_.back();
  places_.pop_back();
  bool is_stored = !kept_.empty() && kept_.back() == state;
  if (!is_at_work_) emit.load(source, {});
  if (state > source) {
    // The last to need it lets it go; where the run begins, that has happened.
    if (!is_at_work_ && (places_.empty() || places_.back().source != source)) {
      emit.drop(source, {});
      kept_.pop_back();
    }
    emit.advance(source, state);
  } else if (is_stored) {
    kept_.pop_back();
  }
  is_at_work_ = false;
  segment_ = BinomialReversal(state, end_, std::int16_t{0}, slots_ - std::ssize(kept_), is_stored);
  end_ = state;
  return emit.count() > 0 ? emit.count() : segment_.burst(out);
}

}  // namespace tidemark::schedule
