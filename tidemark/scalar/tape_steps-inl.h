// Marked steps of a tape. Without a memory they are statements like others. With one, a loop is one event:
// its steps run unrecorded, leave states behind (chain.h), and run again while the event is reversed, some
// at a time, each recorded in memory of its own with indices that go on from the event's.
//
// Both give the same bits, since both have the same statements in the same order: behind each step every
// entry of the state is a statement of its own, made in that step. One that is not (never touched, given
// twice, passive) is copied (record_boundary); where a step runs again, it is a new one anyway.
#pragma once
#include <fmt/format.h>

#include <algorithm>

#include "tidemark/scalar/tape.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::scalars {

// While it lives, statements are recorded for a replay, behind statement `behind`.
template <class T>
class BasicTape<T>::Frame {
 public:
  Frame(BasicTape& tape, Id behind, Learning* learning = nullptr)
      : tape_(tape),
        partials_(tape.partials),
        codes_(tape.codes),
        next_(tape.next),
        near_seen_(tape.near_seen),
        chunk_(tape.chunk_),
        target_(tape.target_),
        learning_(std::exchange(tape.learning_, learning)),
        open_(std::move(tape.open_chain_)) {
    tape.open_chain_.reset();
    tape.target_ = &tape.replays_[tape.depth_++]->recording;
    tape.next = (tape.next & ~index_mask) + behind + 1;
    tape.near_seen = 0;
    if (tape.target_->chunks.size() > 0) {
      tape.enter_chunk(0);
    } else {
      tape.partials = nullptr;
      tape.codes = nullptr;
    }
  }
  ~Frame() {
    tape_.open_chain_.reset();
    tape_.target_->drop_events(0);
    --tape_.depth_;
    tape_.partials = partials_;
    tape_.codes = codes_;
    tape_.next = next_;
    tape_.near_seen = near_seen_;
    tape_.chunk_ = chunk_;
    tape_.target_ = target_;
    tape_.learning_ = learning_;
    tape_.open_chain_ = std::move(open_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  BasicTape& tape_;
  T* partials_;
  std::byte* codes_;
  Id next_, near_seen_;
  std::size_t chunk_;
  Recording<T>* target_;
  Learning* learning_;
  std::shared_ptr<Chain<T>> open_;
};

// A step of the user's runs.
class WithinStep {
 public:
  explicit WithinStep(std::size_t& count) : count_(count) { ++count_; }
  ~WithinStep() { --count_; }
  WithinStep(const WithinStep&) = delete;
  WithinStep& operator=(const WithinStep&) = delete;

 private:
  std::size_t& count_;
};

template <class T>
void BasicTape<T>::refuse_within_steps(const char* what, const SourceLine& where) const {
  if (within_ == 0) return;
  fail(ErrorCode::bad_tape_use,
       {.what = fmt::format("{} within a step", what),
        .expected = "a step that takes its state to the next one and does nothing else: it runs again",
        .where = where,
        .help = "make inputs before the loop and capture them by value; reverse behind it"});
}

template <class T>
void BasicTape<T>::too_small(std::size_t more, const SourceLine& where) const {
  // A larger memory has a longer ring, up to its length without a limit.
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  std::size_t states = 0;
  for (const Chain<T>* chain : chains_.all) states += chain->optional() * chain->state_bytes();
  const std::size_t ring = ring_for(this->near_limit - 1) * sizeof(T);
  const std::size_t fixed = held() - states + needed_to_reverse() + more;
  std::size_t least = memory;
  const auto ring_in = [](std::size_t bytes) {
    return std::clamp<std::size_t>(std::bit_floor(bytes / 8), smallest_ring * sizeof(T), sizeof(T) << 16);
  };
  while (fixed + 2 * (ring_in(least) - std::min(ring, ring_in(least))) + std::bit_floor(least / 32) > least)
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

// Makes room for so many bytes of what must be there, at the cost of states that need not.
template <class T>
bool BasicTape<T>::release(std::size_t bytes) {
  for (std::size_t i = depth_; i < replays_.size() && !fits(bytes); ++i) {
    Chunks& chunks = replays_[i]->recording.chunks;
    while (chunks.size() > 0 && !fits(bytes) &&
           chunks.bytes() - chunks[chunks.size() - 1].bytes >= replays_[i]->reserved)
      chunks.shrink(chunks.size() - 1);
  }
  while (!fits(bytes)) {
    Chain<T>* most = nullptr;
    for (Chain<T>* chain : chains_.all)
      if (chain->optional() > 0 &&
          (!most || chain->optional() * chain->state_bytes() > most->optional() * most->state_bytes()))
        most = chain;
    if (!most) return false;
    most->evict();
  }
  return true;
}

template <class T>
void BasicTape<T>::record_boundary(std::span<Real> state, Id begin, const SourceLine& where) {
  const Id end = this->next;
  std::vector<std::uint64_t>& made = made_in_step_;
  made.assign((end - begin + 63) / 64, 0);
  copied_.clear();
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Id at = state[i].id() - begin;
    const bool own = at < end - begin && (made[at / 64] >> (at % 64) & 1) == 0;
    if (own)
      made[at / 64] |= std::uint64_t{1} << (at % 64);
    else
      copied_.push_back(i);
  }
  // The last first: a reversal then hands the adjoints of copies on in the order of the entries.
  for (std::size_t i = copied_.size(); i-- > 0;) {
    Real& entry = state[copied_[i]];
    require(code::most_head + sizeof(Id) + sizeof(T), where);
    if (entry.id() == 0) {
      write_mark(code::nothing, where);
    } else {
      const Id delta = this->next - entry.id();
      this->see(delta);
      unsigned width = 3;
      if (delta < this->near_limit && delta < 65536)
        width = delta < 256 ? 0 : 1;
      else if (delta <= 0xffffffff)
        width = 2;
      static_assert(std::endian::native == std::endian::little);
      this->codes -= std::size_t{1} << width;
      std::memcpy(this->codes, &delta, std::size_t{1} << width);
      *--this->codes = code::head(width, 1, 0);
      ++this->next;
    }
    entry = Real(entry.value(), this->next - 1);
  }
}

template <class T>
template <class F>
void BasicTape<T>::steps(std::int64_t count, std::span<Real> state, F step, SourceLine where) {
  static_assert(std::is_invocable_v<const F&, std::span<Real>, std::int64_t>,
                "a step is called as step(std::span<Real> state, std::int64_t i), and it is const: it runs "
                "again, and must not change what it captured");
  if (count < 0)
    fail(ErrorCode::bad_tape_use,
         {.what = fmt::format("{} steps", count), .expected = "0 or more", .where = where});
  if (active_recorder<T> != this) {
    for (std::int64_t i = 0; i < count; ++i) std::as_const(step)(state, i);
    return;
  }
  if (count == 0) return;
  if (limited()) {
    const auto chain = new_chain(state, where);
    chain->append(std::make_unique<HeldStep<T, F>>(std::move(step)), count);
    run_loop(chain, 0, count, state, where);
    return;
  }
  const Mark before = mark();
  const std::vector<Real> first(state.begin(), state.end());
  try {
    const WithinStep within(within_);
    for (std::int64_t i = 0; i < count; ++i) {
      const Id begin = this->next;
      std::as_const(step)(state, i);
      record_boundary(state, begin, where);
    }
  } catch (...) {
    rewind(before);
    std::copy(first.begin(), first.end(), state.begin());
    throw;
  }
}

template <class T>
template <class F>
void BasicTape<T>::step(std::span<Real> state, F step, SourceLine where) {
  static_assert(std::is_invocable_v<const F&, std::span<Real>>,
                "a step is called as step(std::span<Real> state), and it is const: it runs again, and must "
                "not change what it captured");
  if (active_recorder<T> != this) {
    std::as_const(step)(state);
    return;
  }
  if (!limited()) {
    steps(
        1, state, [&](std::span<Real> u, std::int64_t) { std::as_const(step)(u); }, where);
    return;
  }
  std::shared_ptr<Chain<T>> chain = std::move(open_chain_);
  open_chain_.reset();
  if (!chain || !chain->ends_with(state)) {
    if (chain) chain->close();
    chain = new_chain(state, where);
    chain->append(std::make_unique<HeldStep<T, F>>(std::move(step)), 1);
    run_loop(chain, 0, 1, state, where);
    if (!fits(chain->state_bytes()) && !release(chain->state_bytes())) too_small(chain->state_bytes(), where);
  } else {
    const std::int64_t first = chain->steps();
    chain->append(std::make_unique<HeldStep<T, F>>(std::move(step)), 1);
    try {
      run_loop(chain, first, 1, state, where);
    } catch (...) {
      chain->pop_step();
      throw;
    }
  }
  chain->set_end(state);
  if (!chain->online()) {
    constexpr std::int64_t most = 4096;
    chain->follow_online(std::clamp<std::int64_t>(spare_states(*chain), 1, most));
    chain->online()->visit(0);
  }
  open_chain_ = std::move(chain);
}

template <class T>
auto BasicTape<T>::new_chain(std::span<const Real> state, const SourceLine& where)
    -> std::shared_ptr<Chain<T>> {
  if (replays_.size() == depth_) replays_.push_back(std::make_unique<Replay>());
  // Reals of a working state and of results, adjoints, ids of operands.
  std::size_t& transient = replays_[depth_]->transient;
  transient = std::max(transient, 56 * state.size() + 1024);
  const std::size_t bytes = state.size() * sizeof(T) + 512;
  if (!fits(bytes) && !release(bytes)) too_small(bytes, where);
  return std::make_shared<Chain<T>>(chains_, state);
}

// Records a step and forgets it: how many bytes it takes. They stay reserved, and the blocks of far
// operands known.
template <class T>
std::size_t BasicTape<T>::learn(const Chain<T>& chain, std::int64_t step, std::span<const Real> state,
                                const SourceLine& where) {
  Replay& replay = *replays_[depth_];
  const Id k = index_of(this->next), ring = ring_for(this->near_limit - 1);
  // The ring is emptied into blocks before steps run again.
  const std::size_t flushed = (std::min(k, ring) / block_size + 2) * (block_size * sizeof(T) + 64);
  Learning learning;
  std::vector<Real> working(state.begin(), state.end());
  std::size_t bytes = 0;
  {
    const Frame frame(*this, k, &learning);
    const WithinStep within(within_);
    const Id begin = this->next;
    chain.run(working, step);
    for (const Real& result : working)
      if (result.id() != 0 && this->next - result.id() >= ring) recording_.far.mark(index_of(result.id()));
    replay.transient =
        std::max(replay.transient, 56 * state.size() + (this->next - begin) / 4 + 1024 + flushed);
    loops_within_ = !replay.recording.events.empty();
    if (this->codes) {
      for (std::size_t i = 0; i < chunk_; ++i) bytes += replay.recording.chunks[i].bytes;
      bytes += replay.recording.chunks[chunk_].bytes;
      replay.reserved = std::max(replay.reserved, bytes);
      bytes -= static_cast<std::size_t>(this->room());
    }
  }
  if (learning.wrapped) too_small(learning.bytes, where);
  if (!fits(0) && !release(0)) too_small(0, where);
  return std::max<std::size_t>(bytes, 1);
}

// How many states this chain may add to those it has: in free memory, or from a chain that has more.
template <class T>
std::int64_t BasicTape<T>::spare_states(const Chain<T>& chain) const {
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  const std::size_t taken = held() + needed_to_reverse();
  std::size_t room = memory > taken ? memory - taken : 0, most = 0;
  for (const Chain<T>* other : chains_.all)
    if (other != &chain) most = std::max(most, other->optional() * other->state_bytes());
  const std::size_t own = chain.optional() * chain.state_bytes();
  if (most > own) room += (most - own) / 2;
  // The list of states grows with them.
  return static_cast<std::int64_t>(room / (chain.state_bytes() + 2 * sizeof(std::int64_t)));
}

template <class T>
bool BasicTape<T>::keep_state(Chain<T>& chain, std::int64_t step, std::span<const Real> state) {
  const std::size_t bytes = chain.state_bytes() + 2 * sizeof(std::int64_t);
  while (!fits(bytes)) {
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
std::int64_t BasicTape<T>::choose_unit(std::size_t size, std::int64_t count, std::size_t step_bytes) const {
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  const std::size_t state_bytes = size * sizeof(T) + 48;
  const std::size_t there = replays_[depth_]->recording.chunks.bytes();
  const std::size_t taken = held() - there + needed_to_reverse();
  const std::size_t room = memory > taken ? memory - taken : 0;
  std::int64_t best = 1;
  double least = -1;
  for (std::int64_t unit = 1;; unit = std::min(2 * unit, count)) {
    // An eighth more, since steps differ and chunks are not filled to the last byte.
    const double record = static_cast<double>(unit) * static_cast<double>(step_bytes) * 1.125;
    // Loops within need memory of their own while the steps around them are recorded.
    if (unit > 1 && (loops_within_ || record > static_cast<double>(room))) break;
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

// `state` becomes that before the last unit of steps in front of `end`, whose number is returned; states
// on the way are kept where they serve best.
template <class T>
std::int64_t BasicTape<T>::approach(Chain<T>& chain, std::int64_t end, std::int64_t unit,
                                    std::span<Real> state) {
  const Activation paused(nullptr);
  const WithinStep within(within_);
  chain.drop_behind(end - 1);
  chain.load(state);
  std::int64_t at = chain.last_kept();
  while (end - at > unit) {
    const std::int64_t units = (end - at + unit - 1) / unit;
    const std::int64_t spare = spare_states(chain);
    std::int64_t left = units - 1;
    if (spare > 0) {
      const std::int64_t slots = spare + 1;
      const std::int64_t repeats = schedule::repeats_of(units, slots);
      left =
          schedule::split_segment(units, slots, repeats, schedule::longest_segment(slots, repeats - 1, units))
              .left;
      left = std::clamp<std::int64_t>(left, 1, units - 1);
    }
    const std::int64_t to = end - (units - left) * unit;
    for (; at < to; ++at) chain.run(state, at);
    if (spare > 0 && end - at > unit) keep_state(chain, at, state);
  }
  return at;
}

// Steps [first, first + count) of the chain, from `state`, which becomes the results of an event.
template <class T>
void BasicTape<T>::run_loop(const std::shared_ptr<Chain<T>>& chain, std::int64_t first, std::int64_t count,
                            std::span<Real> state, const SourceLine& where) {
  auto loop = std::make_unique<LoopEvent<T>>(chain, first, count, std::span<const Real>(state));
  const std::size_t bytes = loop->bytes() + 2 * sizeof(typename Recording<T>::RecordedEvent);
  if (!fits(bytes) && !release(bytes)) too_small(bytes, where);
  if (first == 0) loop->unit = choose_unit(chain->size(), count, learn(*chain, first, state, where));
  std::vector<Real> working;
  working.reserve(state.size());
  for (const Real& entry : state) working.push_back(entry.value());
  if (schedule::Online* online = first > 0 ? chain->online() : nullptr) {
    for (const schedule::Action& action : online->visit(first)) {
      if (action.kind == schedule::ActionKind::drop) chain->drop_state(action.step);
      if (action.kind == schedule::ActionKind::store) keep_state(*chain, first, working);
    }
  }
  std::int64_t at = first;
  if (count > 1) at = approach(*chain, first + count, loop->unit, working);
  {
    const Activation paused(nullptr);
    const WithinStep within(within_);
    for (; at < first + count; ++at) chain->run(working, at);
  }
  std::vector<T> values;
  values.reserve(state.size());
  for (const Real& entry : working) values.push_back(entry.value());
  working = {};
  if (!fits(bytes) && !release(bytes)) too_small(bytes, where);
  std::vector<Real> operands(state.begin(), state.end());
  const std::vector<Real> results = record_event(std::move(loop), operands, values, where);
  std::copy(results.begin(), results.end(), state.begin());
  peak_ = std::max(peak_, held());
}

template <class T>
template <class A, class Other>
void BasicTape<T>::reverse_event(Reversal<T, A>& reversal, Event<T>& event, std::span<const A> results, Id k,
                                 const SourceLine& where, Other& other) {
  if (auto* loop = dynamic_cast<LoopEvent<T>*>(&event))
    reverse_loop(reversal, *loop, results, k, where, other);
  else
    other(event, results, k);
}

template <class T>
template <class A, class Other>
void BasicTape<T>::reverse_loop(Reversal<T, A>& reversal, LoopEvent<T>& loop, std::span<const A> results,
                                Id k, const SourceLine& where, Other& other) {
  reversal.yield(k);
  std::vector<A> adjoint(results.begin(), results.end());
  std::vector<Real> state(loop.chain().size());
  for (std::int64_t end = loop.end(); end > loop.first();) {
    const std::int64_t begin =
        std::max(loop.first(), approach(loop.chain(), end, std::min(loop.unit, end - loop.first()), state));
    if (reverse_unit(reversal, loop, begin, end, std::span<Real>(state), std::span<A>(adjoint), k, where,
                     other))
      end = begin;
    else
      loop.unit = (end - begin) / 2;
  }
}

// False: it does not fit, and nothing has happened.
template <class T>
template <class A, class Other>
bool BasicTape<T>::reverse_unit(Reversal<T, A>& reversal, LoopEvent<T>& loop, std::int64_t begin,
                                std::int64_t end, std::span<Real> state, std::span<A> adjoint, Id k,
                                const SourceLine& where, Other& other) {
  const Frame frame(*this, k);
  Recording<T>& recording = *target_;
  Position<T> start = mark();
  start.codes = recording.chunks.size() > 0 ? recording.chunks[0].end() : nullptr;
  const bool at_first = begin == loop.first();
  const Id base = this->next;
  if (!at_first) this->next += state.size();
  start.next = this->next;
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = Real(state[i].value(), at_first ? loop.operand(i) : base + i);
  try {
    const Activation active(this);
    const WithinStep within(within_);
    for (std::int64_t i = begin; i < end; ++i) {
      const Id made = this->next;
      loop.chain().run(state, i);
      if (i + 1 < end) record_boundary(state, made, where);
    }
    if (limited()) {
      const Id ring = ring_for(reach());
      for (const Real& result : state)
        if (result.id() != 0 && this->next - result.id() >= ring) recording_.far.mark(index_of(result.id()));
      if (!fits(0) && !release(0)) overflow(0, where);
    }
  } catch (const Error& error) {
    const bool full = error.code() == ErrorCode::tape_full || error.code() == ErrorCode::infeasible_budget;
    if (full && end - begin > 1) return false;
    throw;
  }
  if (begin + 1 == end && this->codes) {
    std::size_t& reserved = replays_[depth_ - 1]->reserved;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i <= chunk_; ++i) bytes += recording.chunks[i].bytes;
    reserved = std::max(reserved, bytes);
  }
  if (recording.chunks.size() > 0) start.codes = recording.chunks[0].end();
  typename Reversal<T, A>::Ranges ranges{mark(), start, this->near_limit, reach()};
  reversal.prepare(recording, recording_.far, ranges);
  reversal.open(ranges);
  for (std::size_t i = 0; i < state.size(); ++i)
    if (state[i].id() != 0) reversal.seed(state[i].id(), adjoint[i]);
  peak_ = std::max(peak_, held());
  reversal.sweep_open(recording, ranges, [&](Event<T>& event, std::span<const A> results, Id at) {
    reverse_event(reversal, event, results, at, where, other);
  });
  if (!at_first)
    for (std::size_t i = 0; i < adjoint.size(); ++i) adjoint[i] = reversal.take(index_of(base + i));
  reversal.close(index_of(base));
  return true;
}

}  // namespace tidemark::scalars
