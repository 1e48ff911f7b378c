#include "tidemark/plan/passes/body_search.h"

#include <algorithm>

#include "tidemark/plan/passes/body_modes.h"
#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/passes.h"

namespace tidemark {
namespace {

constexpr double near_share = 0.25;  // of the effort, for modes near others
// Of the budget: regions that take less have one plan.
constexpr std::int64_t worth_part = 64;

}  // namespace

BodySearch::BodySearch(Bodies& bodies, Ordered ordered, BudgetSearch::Passes finish)
    : bodies_(bodies), ordered_(std::move(ordered)), finish_(std::move(finish)) {}

BodySearch::Attempt::Attempt(const Bodies& bodies, Bodies::Choice modes, const Ordered& order,
                             const BudgetSearch::Passes& finish, double share)
    : choice(std::move(modes)),
      regions(bodies.in(choice)),
      ordered(order(regions, share)),
      search(ordered, finish) {}

void BodySearch::Attempt::take(Draft draft) {
  done = std::move(draft);
  seconds = finish(*done).seconds;
}

BodySearch::Attempt& BodySearch::attempt(const Bodies::Choice& choice, double share, const Draft* start) {
  const Ordered order = [&](const RegionPlans& regions, double part) {
    Draft draft = ordered_(regions, part);
    if (start) {
      draft.warm_start.clear();
      for (const Execution& run : start->executions) draft.warm_start.push_back(run.node);
    }
    return draft;
  };
  return attempts_.emplace_back(bodies_, choice, order, finish_, share);
}

bool BodySearch::tried(const Bodies::Choice& choice) const {
  return std::ranges::any_of(attempts_, [&](const Attempt& a) { return a.choice == choice; });
}

// Each node's fastest mode for which there is room at all of its runs.
Bodies::Choice BodySearch::with_room(const Attempt& found, std::int64_t allowed) const {
  const Draft& draft = *found.done;
  std::vector<std::int64_t> load(draft.executions.size() + 1, 0);
  for (const Buffer& buffer : draft.buffers) {
    if (buffer.binding != Binding::arena) continue;
    const std::int64_t bytes = draft.target->aligned(buffer.bytes);
    load[static_cast<std::size_t>(buffer.begin)] += bytes;
    load[static_cast<std::size_t>(buffer.end)] -= bytes;
  }
  for (std::size_t t = 1; t < load.size(); ++t) load[t] += load[t - 1];
  Bodies::Choice choice = found.choice;
  for (std::size_t k = 0; k < bodies_.size(); ++k) {
    std::int64_t room = allowed;
    for (std::size_t t = 0; t < draft.executions.size(); ++t) {
      if (draft.executions[t].node == bodies_.node(k)) room = std::min(room, allowed - load[t]);
    }
    const std::vector<Bodies::Mode>& modes = bodies_.modes(k);
    const std::int64_t scratch = modes[choice[k]].scratch;
    for (std::size_t m = 0; m < choice[k]; ++m) {
      if (modes[m].scratch - scratch > room) continue;
      choice[k] = m;
      break;
    }
  }
  return choice;
}

// `best`: with free bodies; null: that does not fit. Null again: nothing does.
BodySearch::Attempt* BodySearch::with_modes(std::int64_t allowed, Attempt* best, SearchControl* control) {
  const auto late = [&] { return control && control->time_is_up(); };
  const auto consider = [&](Attempt& found) {
    if (!found.fits(allowed) || (best && found.seconds >= best->seconds)) return false;
    best = &found;
    return true;
  };
  const auto try_modes = [&](const Bodies::Choice& choice, double share, const Draft* start) {
    if (tried(choice)) return false;
    Attempt& found = attempt(choice, share, start);
    found.take(found.search.within(allowed));
    return consider(found);
  };
  const Attempt& free = attempts_.front();
  const auto units = static_cast<std::int64_t>(near_share * static_cast<double>(free.search.most_units()));
  try_modes(modes_within(bodies_, free.ordered, allowed, units), near_share, nullptr);
  if (!best) try_modes(bodies_.tightest(), 1, nullptr);
  const Attempt& found = attempts_.back();
  if (found.fits(allowed) && !late()) try_modes(with_room(found, allowed), near_share, &*found.done);
  return best;
}

Draft BodySearch::best(std::int64_t allowed, bool floor, SearchControl* control) {
  Attempt* free = &attempt(bodies_.free(), 1);
  if (control) control->enter("budget", free->search.most_units());
  free->take(free->search.within(allowed));
  const bool fits = free->fits(allowed);
  if (fits && !free->repeats()) return *free->done;
  if (!free->ordered.may_repeat) {  // bodies have no other modes then
    if (!fits && floor) free->take(free->search.floor());
    return *free->done;
  }
  Attempt* last = free;  // where the floor is looked for
  bodies_.find_modes(allowed / worth_part);
  if (bodies_.have_modes()) {
    const double seconds_bound = remat_problem_of(free->ordered, *free->ordered.machine).base_cost();
    if (Attempt* found = with_modes(allowed, fits ? free : nullptr, control)) {
      found->done->seconds_bound = std::min(found->seconds, seconds_bound);
      return *found->done;
    }
  }
  if (fits || !floor) {
    return *std::ranges::min_element(attempts_, {}, [](const Attempt& a) {
              return a.done->arena_bytes;
            })->done;
  }
  // The floor is the same whatever was asked for: small regions count as well.
  if (bodies_.find_modes(0) && bodies_.have_modes()) {
    for (Attempt& before : attempts_) before.choice.clear();
  }
  for (Attempt& before : attempts_) {
    if (before.choice == bodies_.tightest()) last = &before;
  }
  if (last->choice != bodies_.tightest()) {
    last = &attempt(bodies_.tightest(), 1);
    last->take(last->search.within(allowed));
  }
  if (control) control->enter("floor", last->search.most_units());
  const double seconds_bound = last->done->seconds_bound;
  last->take(last->search.floor());
  if (last->fits(allowed)) last->done->seconds_bound = seconds_bound;
  // Where there is room in it, bodies take less time.
  const Bodies::Choice roomy = with_room(*last, last->done->arena_bytes);
  if (tried(roomy)) return *last->done;
  Attempt& relaxed = attempt(roomy, near_share, &*last->done);
  relaxed.take(relaxed.search.within(last->done->arena_bytes));
  const bool better = relaxed.fits(last->done->arena_bytes) && relaxed.seconds < last->seconds;
  return better ? *relaxed.done : *last->done;
}

}  // namespace tidemark
