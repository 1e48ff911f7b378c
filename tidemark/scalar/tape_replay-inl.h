// BasicTape: loops of steps as events. Each runs its steps, leaves states behind, and reverses them some at a
// time.
#pragma once
#include <algorithm>

#include "tidemark/scalar/state_digest.h"
#include "tidemark/scalar/tape.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::scalars {

// While it lives, statements are recorded for a replay, behind statement `behind`.
template <class T>
class BasicTape<T>::Frame {
 public:
  Frame(BasicTape& tape, Id behind, Learning* learning = nullptr, bool states_stay = false)
      : tape_(tape),
        partials_(tape.partials),
        codes_(tape.codes),
        codes_end_(tape.codes_end),
        next_(tape.next),
        near_seen_(tape.near_seen),
        forms_from_(tape.forms_from),
        cursor_(tape.cursor),
        read_early_(tape.read_early),
        early_(tape.forms.early()),
        chunk_(tape.chunk_),
        target_(tape.target_),
        learning_(std::exchange(tape.learning_, learning)),
        states_stay_(std::exchange(tape.states_stay_, states_stay)),
        open_(std::move(tape.open_chain_)) {
    tape.open_chain_.reset();
    if (tape.checks_) tape.checks_->recording = nullptr;  // nothing of this one was looked at
    tape.target_ = &tape.replays_[tape.depth_++]->recording;
    tape.next = (tape.next & ~index_mask) + behind + 1;
    tape.near_seen = 0;
    tape.forms_from = tape.next;
    tape.forms.begin_step();
    tape.forms.set_early({.origin = tape.next, .far = tape.next + tape.near_limit});
    tape.cursor = tape.read_early = tape.next;
    if (tape.target_->chunks.size() > 0) {
      tape.enter_chunk(0);
    } else {
      tape.chunk_ = 0;
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
    tape_.codes_end = codes_end_;
    tape_.go_on(false);
    tape_.next = next_;
    tape_.near_seen = near_seen_;
    tape_.forms_from = forms_from_;
    tape_.cursor = cursor_;
    tape_.read_early = read_early_;
    tape_.forms.set_early(early_);
    tape_.chunk_ = chunk_;
    tape_.target_ = target_;
    tape_.learning_ = learning_;
    tape_.states_stay_ = states_stay_;
    tape_.open_chain_ = std::move(open_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

 private:
  BasicTape& tape_;
  T* partials_;
  std::byte* codes_;
  const std::byte* codes_end_;
  Id next_, near_seen_, forms_from_, cursor_, read_early_;
  Forms::Early early_;
  std::size_t chunk_;
  Recording<T>* target_;
  Learning* learning_;
  bool states_stay_;
  std::shared_ptr<Chain<T>> open_;
};

// Code of the user's runs: a step, or the reversal of an event.
class Running {
 public:
  explicit Running(std::size_t& count) : count_(count) { ++count_; }
  ~Running() { --count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::size_t& count_;
};

template <class T>
auto BasicTape<T>::new_chain(std::span<const Real> state, const SourceLine& where)
    -> std::shared_ptr<Chain<T>> {
  if (replays_.size() == depth_) {
    replays_.push_back(std::make_unique<Replay>());
    replays_.back()->recording.forms = &this->forms;
  }
  // Reals of a working state and of results, adjoints, ids of operands.
  std::size_t& transient = replays_[depth_]->transient;
  transient = std::max(transient, 56 * state.size() + 1024);
  const std::size_t bytes = state.size() * sizeof(T) + 512;
  if (!fits(bytes) && !release(bytes)) too_small(bytes, where);
  return std::make_shared<Chain<T>>(chains_, state, where);
}

// Of the present recording's chunks, up to the one that is being written.
template <class T>
std::size_t BasicTape<T>::written_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; this->codes && i <= chunk_; ++i) bytes += target_->chunks[i].bytes;
  return bytes;
}

// What statements since `start` take more where their operands from before are as far away as those of later
// steps are.
template <class T>
std::size_t BasicTape<T>::bytes_of_distance(const Position<T>& start) const {
  constexpr unsigned width = 2;  // four bytes
  const Id first = index_of(start.next);
  std::size_t bytes = 0;
  walk_back(RecordingView<T>{*target_, mark(), start, this->near_limit, reach()},
            [&](const Statement<T>& statement) {
              if (statement.width >= width) return;
              bool outside = false;
              for (unsigned i = 0; i < statement.operands(); ++i) outside |= statement.operand(i) < first;
              if (outside) bytes += statement.operands() * ((1u << width) - (1u << statement.width));
            });
  return bytes;
}

// Records a step and forgets it: how many bytes it takes from a state of which all may be active, as it is
// when steps run again, and without forms, which others like it may not have. They stay reserved, and the
// blocks of far operands known.
template <class T>
void BasicTape<T>::learn(Chain<T>& chain, std::int64_t step, std::span<const Real> state,
                         const SourceLine& where) {
  Replay& replay = *replays_[depth_];
  const Id k = index_of(this->next), ring = ring_for(this->near_limit - 1);
  // The ring is emptied into blocks before steps run again.
  const std::size_t flushed = (std::min(k, ring) / block_size + 2) * (block_size * sizeof(T) + 64);
  Learning learning;
  std::vector<Real> working(state.begin(), state.end());
  {
    const Frame frame(*this, k, &learning);
    const Forms::Pause without(this->forms);
    const Running within(within_);
    for (Real& entry : working) entry = Real(entry.value(), this->next++);
    Position<T> start = mark();
    chain.run(working, step);
    const Id begin = start.next;
    for (const Real& result : working)
      if (result.id() != 0 && this->next - result.id() >= ring) recording_.far.mark(index_of(result.id()));
    replay.transient =
        std::max(replay.transient, 56 * state.size() + (this->next - begin) / 4 + 1024 + flushed);
    chain.set_step_statements(this->next - begin);
    chain.set_loops_within(!replay.recording.events.empty());
    if (const std::size_t bytes = written_bytes()) {
      replay.reserved = std::max(replay.reserved, bytes);
      start.codes = target_->chunks[0].end();
      const std::size_t further = learning.wrapped ? 0 : bytes_of_distance(start);
      chain.see_step(bytes - static_cast<std::size_t>(this->room()) + further);
    }
  }
  if (learning.wrapped) too_small(learning.bytes + learning.bytes / 8, where);
  if (!fits(0) && !release(0)) too_small(0, where);
}

// `state` becomes that before the last unit of steps in front of `end`, whose number is returned; states
// on the way are kept where they serve best.
template <class T>
std::int64_t BasicTape<T>::approach(Chain<T>& chain, std::int64_t end, std::int64_t unit,
                                    std::span<Real> state) {
  const Activation paused(nullptr, within_step);
  const Running within(within_);
  chain.drop_behind(end - 1);
  shrink_chunks(missing_to_record(chain, unit) + chain.state_bytes());
  chain.load(state);
  std::int64_t at = chain.last_kept();
  while (end - at > unit) {
    const std::int64_t units = (end - at + unit - 1) / unit;
    const std::int64_t spare = spare_states(chain, unit);
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
    if (spare > 0 && end - at > unit) keep_state(chain, at, state, unit);
  }
  return at;
}

// Steps [first, first + count) of the chain, from `state`, which becomes the results of an event.
template <class T>
void BasicTape<T>::run_loop(const std::shared_ptr<Chain<T>>& chain, std::int64_t first, std::int64_t count,
                            std::span<Real> state, const SourceLine& where) {
  // What an earlier recording has left behind is no longer needed.
  if (first == 0 && this->codes) target_->chunks.shrink(chunk_ + 1);
  auto loop = std::make_unique<LoopEvent<T>>(chain, first, count, std::span<const Real>(state));
  const auto require_loop = [&] {
    const std::size_t bytes =
        loop->bytes() + 2 * sizeof(typename Recording<T>::RecordedEvent) + missing_to_record(*chain, 1);
    if (fits(bytes) || release(bytes)) return;
    refuse_more_steps(bytes, where);
    too_small(bytes, where);
  };
  require_loop();
  if (first == 0) {
    learn(*chain, first, state, where);
    loop->unit = choose_unit(*chain, count);
  }
  std::vector<Real> working;
  working.reserve(state.size());
  for (const Real& entry : state) working.push_back(Real(entry.value(), within_step));
  if (schedule::Online* online = first > 0 ? chain->online() : nullptr) {
    for (const schedule::Action& action : online->visit(first)) {
      if (action.kind == schedule::ActionKind::drop) chain->drop_state(action.step);
      if (action.kind == schedule::ActionKind::store) keep_state(*chain, first, working, 1);
    }
  }
  std::int64_t at = first;
  if (count > 1) at = approach(*chain, first + count, loop->unit, working);
  {
    const Activation paused(nullptr, within_step);
    const Running within(within_);
    for (; at < first + count; ++at) chain->run(working, at);
  }
  steps_line_ = where;
  loop->end_digest = digest_of(std::span<const Real>(working));
  std::vector<T> values;
  values.reserve(state.size());
  for (const Real& entry : working) values.push_back(entry.value());
  std::vector<Real>().swap(working);
  require_loop();
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
    return reverse_loop(reversal, *loop, results, k, where, other);
  const Running running(calls_back_);
  other(event, results, k);
}

template <class T>
template <class A, class Other>
void BasicTape<T>::reverse_loop(Reversal<T, A>& reversal, LoopEvent<T>& loop, std::span<const A> results,
                                Id k, const SourceLine& where, Other& other) {
  reversal.yield(k);
  std::vector<A> adjoint(results.begin(), results.end());
  std::vector<Real> state(loop.chain().size());
  std::uint64_t digest = loop.end_digest;  // of the state at `end`
  for (std::int64_t end = loop.end(); end > loop.first();) {
    const std::int64_t begin =
        std::max(loop.first(), approach(loop.chain(), end, std::min(loop.unit, end - loop.first()), state));
    const std::uint64_t before = digest_of(std::span<const Real>(state));
    if (reverse_unit(reversal, loop, begin, end, std::span<Real>(state), digest, std::span<A>(adjoint), k,
                     where, other)) {
      end = begin;
      digest = before;
    } else {
      loop.unit = std::min((end - begin) / 2, choose_unit(loop.chain(), end - loop.first()));
    }
  }
}

// False: it does not fit, and nothing has happened.
template <class T>
template <class A, class Other>
bool BasicTape<T>::reverse_unit(Reversal<T, A>& reversal, LoopEvent<T>& loop, std::int64_t begin,
                                std::int64_t end, std::span<Real> state, std::uint64_t digest,
                                std::span<A> adjoint, Id k, const SourceLine& where, Other& other) {
  const Frame frame(*this, k, nullptr, end - begin > 1);
  steps_line_ = loop.chain().where();
  Recording<T>& recording = *target_;
  Position<T> start = mark();
  start.codes = recording.chunks.size() > 0 ? recording.chunks[0].end() : nullptr;
  const bool at_first = begin == loop.first();
  const Id base = this->next;
  if (!at_first) {
    this->next += state.size();
    if (loop.chain().goes_over_its_state()) this->forms.set_leading(state.size());
  }
  start.next = this->next;
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = Real(state[i].value(), at_first ? loop.operand(i) : base + i);
  std::int64_t i = begin;
  const auto see_steps = [&](std::int64_t count) {
    if (count > 0 && this->codes)
      loop.chain().see_step((written_bytes() - static_cast<std::size_t>(this->room())) /
                            static_cast<std::size_t>(count));
  };
  try {
    const Activation active(this);
    const Running within(within_);
    for (; i < end; ++i) {
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
    if (!full || end - begin == 1) throw;
    see_steps(i - begin);
    return false;
  }
  see_steps(end - begin);
  steps_line_ = loop.chain().where();  // loops within have run
  if (digest_of(std::span<const Real>(state)) != digest) refuse_other_outcome("its state came out otherwise");
  if (begin + 1 == end) {
    std::size_t& reserved = replays_[depth_ - 1]->reserved;
    reserved = std::max(reserved, written_bytes());
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
