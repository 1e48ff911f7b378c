// Marked steps of a tape. Without a memory they are statements like others. With one, a loop is one event:
// its steps run unrecorded, leave states behind (chain.h), and run again while the event is reversed, some
// at a time, each recorded in memory of its own with indices that go on from the event's.
//
// Both give the same bits, since both have the same statements in the same order: behind each step every
// entry of the state is a statement of its own, made in that step. One that is not (never touched, given
// twice, passive) is copied (record_boundary); where a step runs again, it is a new one anyway.
#pragma once
#include <fmt/format.h>

#include "tidemark/scalar/tape.h"
#include "tidemark/scalar/tape_replay-inl.h"

namespace tidemark::scalars {

template <class T>
void BasicTape<T>::refuse_within_steps(const char* what, const SourceLine& where) const {
  refuse_within_reversal(what, where);
  if (within_ == 0) return;
  fail(ErrorCode::bad_tape_use,
       {.what = fmt::format("{} within a step", what),
        .expected = "a step that takes its state to the next one and does nothing else: it runs again",
        .where = where,
        .help = "make inputs before the loop and capture them by value; reverse behind it"});
}

template <class T>
void BasicTape<T>::refuse_mark(const Mark& mark, const SourceLine& where) const {
  refuse_within_reversal("rewind()", where);
  const bool of_this = mark.of == target_ && ((mark.next ^ this->next) & ~index_mask) == 0;
  if (of_this && mark.next <= this->next && mark.next >= step_begin_) return;
  fail(ErrorCode::bad_tape_use,
       {.what = of_this && mark.next > this->next ? "rewind() to a mark that was forgotten by rewinding"
                : within_ > 0                     ? "rewind() within a step to a mark that was not made in it"
                                                  : "rewind() to a mark of another recording",
        .expected = "a mark of the tape's present recording, or of the step that runs",
        .where = where,
        .help = "tape.clear() begins a new recording: take marks anew, with tape.mark()"});
}

template <class T>
void BasicTape<T>::refuse_within_reversal(const char* what, const SourceLine& where) const {
  if (calls_back_ == 0) return;
  fail(ErrorCode::bad_tape_use,
       {.what = fmt::format("{} while the tape is reversed, within the reversal of a function", what),
        .expected = "a reversal that computes with numbers and leaves the tape alone",
        .where = where,
        .help = "where it needs derivatives of its own, it makes a tape of its own"});
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
  ++loops_run_;
  if (limited()) {
    const auto chain = new_chain(state, where);
    chain->append(std::make_unique<HeldStep<T, F>>(std::move(step)), count);
    run_loop(chain, 0, count, state, where);
    return;
  }
  const Mark before = mark();
  const std::vector<Real> first(state.begin(), state.end());
  const Id step_around = step_begin_;
  try {
    const Running within(within_);
    for (std::int64_t i = 0; i < count; ++i) {
      step_begin_ = this->next;
      std::as_const(step)(state, i);
      record_boundary(state, step_begin_, where);
    }
    step_begin_ = step_around;
  } catch (...) {
    step_begin_ = step_around;
    rewind(before, where);
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
  ++loops_run_;
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
    chain->follow_online(std::clamp<std::int64_t>(spare_states(*chain, 1), 1, most));
    chain->online()->visit(0);
  }
  open_chain_ = std::move(chain);
}

}  // namespace tidemark::scalars
