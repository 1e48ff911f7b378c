// BasicTape: what becomes of its memory between statements and states of steps.
#pragma once
#include <fmt/format.h>

#include <algorithm>

#include "tidemark/scalar/tape.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::scalars {

template <class T>
void BasicTape<T>::too_small(std::size_t more, const SourceLine& where) const {
  // A larger memory has a longer ring, up to its length without a limit, and more forms.
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  std::size_t states = 0;
  for (const Chain<T>* chain : chains_.all) states += chain->optional() * chain->state_bytes();
  const std::size_t ring = ring_for(this->near_limit - 1) * sizeof(T);
  const std::size_t fixed = held() - states + needed_to_reverse() + more;
  std::size_t least = memory;
  const auto ring_in = [](std::size_t bytes) {
    return static_cast<std::size_t>(ring_within(bytes / sizeof(T))) * sizeof(T);
  };
  const auto forms_in = [](std::size_t bytes) { return Forms::bytes_of(Forms::count_within(bytes)); };
  while (fixed + 2 * (ring_in(least) - std::min(ring, ring_in(least))) + forms_in(least) -
             this->forms.bytes() + std::bit_floor(least / 32) >
         least)
    least += std::size_t{4} << 10;
  fail(ErrorCode::infeasible_budget,
       {.what = fmt::format("a step does not fit into the tape's memory of {}", to_string(options_.memory)),
        .expected = fmt::format("at least {}", to_string(Bytes(static_cast<std::int64_t>(least)))),
        .where = where,
        .help = "make steps smaller: mark what repeats within a step with tape.steps, too; or give the tape "
                "more memory",
        .notes = {fmt::format("what it needs: {} for what it holds and adjoints, {} for the step",
                              to_string(Bytes(static_cast<std::int64_t>(fixed - more))),
                              to_string(Bytes(static_cast<std::int64_t>(more))))}});
}

// Where calls of step() take a good part of what there is, whatever finds no room fails for them.
template <class T>
void BasicTape<T>::refuse_more_steps(std::size_t more, const SourceLine& where) const {
  constexpr std::size_t event_bytes = sizeof(LoopEvent<T>) + sizeof(typename Recording<T>::RecordedEvent);
  std::size_t calls = 0, bytes = 0;
  for (const Chain<T>* chain : chains_.all) {
    if (chain->parts() == 1) continue;
    calls += chain->parts();
    bytes += chain->bytes() - (chain->optional() + 1) * chain->state_bytes() + chain->parts() * event_bytes;
  }
  if (calls == 0 || 4 * bytes < held()) return;
  fail(ErrorCode::tape_full,
       {.what = fmt::format("the tape holds {} calls of step() in {} of its {}, and needs {} more", calls,
                            to_string(Bytes(static_cast<std::int64_t>(bytes))), to_string(options_.memory),
                            to_string(Bytes(static_cast<std::int64_t>(more)))),
        .expected = fmt::format("about {} for each further call",
                                to_string(Bytes(static_cast<std::int64_t>(bytes / calls)))),
        .where = where.known() ? where : made_,
        .help =
            "where it is known how many steps there are, tape.steps(count, state, step) holds one function "
            "for all of them; or give the tape more memory"});
}

// Before something is made that takes so many bytes.
template <class T>
void BasicTape<T>::require_fit(std::size_t bytes, const SourceLine& where) {
  if (!fits(bytes) && !release(bytes)) overflow(bytes, where);
}

// Before an event that takes so many bytes is added. The list of events grows by an eighth at a time, and
// while it does there are two of them.
template <class T>
void BasicTape<T>::require_event(std::size_t bytes, const SourceLine& where) {
  auto& events = target_->events;
  if (!limited() || events.size() < events.capacity()) return require_fit(bytes, where);
  const std::size_t more = events.size() / 8 + 8;
  require_fit(bytes + (events.size() + more) * sizeof(events[0]), where);
  events.reserve(events.size() + more);
}

// Gives back what no recording needs: of replays to come what is beyond the largest step, of the present
// recording what is not written.
template <class T>
void BasicTape<T>::shrink_chunks(std::size_t bytes) {
  for (std::size_t i = depth_; i < replays_.size() && !fits(bytes); ++i) {
    Chunks& chunks = replays_[i]->recording.chunks;
    while (chunks.size() > 0 && !fits(bytes) &&
           chunks.bytes() - chunks[chunks.size() - 1].bytes >= replays_[i]->reserved)
      chunks.shrink(chunks.size() - 1);
  }
  Chunks& written = target_->chunks;
  while (written.size() > chunk_ + 1 && !fits(bytes)) written.shrink(written.size() - 1);
}

// Makes room for so many bytes of what must be there, at the cost of states that need not.
template <class T>
bool BasicTape<T>::release(std::size_t bytes) {
  shrink_chunks(bytes);
  while (!fits(bytes)) {
    Chain<T>* most = nullptr;
    for (Chain<T>* chain : chains_.all)
      if (chain->optional() > 0 &&
          (!most || chain->optional() * chain->state_bytes() > most->optional() * most->state_bytes()))
        most = chain;
    if (!most || states_stay_) return false;
    most->evict();
  }
  return true;
}

// Of what the next `unit` steps of the chain are recorded in, what is not there yet.
template <class T>
std::size_t BasicTape<T>::missing_to_record(const Chain<T>& chain, std::int64_t unit) const {
  const std::size_t there = replays_[depth_]->recording.chunks.bytes(), wanted = chain.record_bytes(unit);
  return wanted > there ? wanted - there : 0;
}

// How many states this chain may add to those it has, where so many steps are recorded at once: in free
// memory, or from a chain that has more.
template <class T>
std::int64_t BasicTape<T>::spare_states(const Chain<T>& chain, std::int64_t unit) const {
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  const std::size_t taken = held() + needed_to_reverse() + missing_to_record(chain, unit);
  std::size_t room = memory > taken ? memory - taken : 0, most = 0;
  for (const Chain<T>* other : chains_.all)
    if (other != &chain) most = std::max(most, other->optional() * other->state_bytes());
  const std::size_t own = chain.optional() * chain.state_bytes();
  if (most > own) room += (most - own) / 2;
  // The list of states grows with them.
  return static_cast<std::int64_t>(room / (chain.state_bytes() + 2 * sizeof(std::int64_t)));
}

template <class T>
bool BasicTape<T>::keep_state(Chain<T>& chain, std::int64_t step, std::span<const Real> state,
                              std::int64_t unit) {
  const std::size_t bytes = chain.state_bytes() + 2 * sizeof(std::int64_t);
  while (!fits(bytes + missing_to_record(chain, unit))) {
    Chain<T>* most = nullptr;
    for (Chain<T>* other : chains_.all)
      if (other != &chain && other->optional() > 0 &&
          (!most || other->optional() * other->state_bytes() > most->optional() * most->state_bytes()))
        most = other;
    if (!most || most->optional() * most->state_bytes() < chain.optional() * chain.state_bytes() + bytes)
      return false;
    most->evict();
  }
  chain.keep(step, state);
  peak_ = std::max(peak_, held());
  return true;
}

// How many steps are best recorded at once: more take memory from states, fewer are advanced over more
// often.
template <class T>
std::int64_t BasicTape<T>::choose_unit(const Chain<T>& chain, std::int64_t count) const {
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  const std::size_t state_bytes = chain.state_bytes() + 2 * sizeof(std::int64_t);
  const std::size_t there =
      replays_[depth_]->recording.chunks.bytes() + chain.optional() * chain.state_bytes();
  const std::size_t taken = held() - there + needed_to_reverse();
  const std::size_t room = memory > taken ? memory - taken : 0;
  std::int64_t best = 1;
  double least = -1;
  for (std::int64_t unit = 1;; unit = std::min(2 * unit, count)) {
    const auto record = static_cast<double>(chain.record_bytes(unit));
    // Loops within need memory of their own while the steps around them are recorded.
    if (unit > 1 && (chain.loops_within() || record > static_cast<double>(room))) break;
    const std::int64_t units = (count + unit - 1) / unit;
    const double left = std::max(0.0, static_cast<double>(room) - record);
    const auto slots = static_cast<std::int64_t>(left / static_cast<double>(state_bytes)) + 1;
    const double advances =
        units == 1 ? 0
                   : static_cast<double>(unit) * static_cast<double>(schedule::least_advances(units, slots));
    if (least < 0 || advances < least) {
      least = advances;
      best = unit;
    }
    if (unit == count) break;
  }
  return best;
}

}  // namespace tidemark::scalars
