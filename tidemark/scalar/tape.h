// A tape: writes down what Reals compute on its thread, and walks back over it.
#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/scalar/chain.h"
#include "tidemark/scalar/checks.h"
#include "tidemark/scalar/matrix.h"
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/recording.h"
#include "tidemark/scalar/reversal.h"
#include "tidemark/scalar/statements.h"
#include "tidemark/scalar/tape_growth.h"
#include "tidemark/scalar/tape_lanes.h"
#include "tidemark/scalar/thread_tapes.h"

namespace tidemark::scalars {

// As many bytes as a core's own cache has (L2): a tape that stays there is faster than one that does not,
// though it takes steps more than once.
Bytes cache_size();
inline constexpr struct CacheSized {
  operator Bytes() const { return cache_size(); }
} cache_sized{};

struct PreaccumulatedScope;

struct TapeOptions {
  // All that the tape ever holds: statements, adjoints, gradients, states of steps. None: whatever it
  // takes. `cache_sized`: what makes marked steps fast.
  Bytes memory{-1};
  bool active = true;  // on this thread, from the beginning
  // Looks at each statement, keeps its line and says what it finds: findings(). Several times slower.
  bool check = false;
};

// The number of a recording, by which Reals of another are told.
Id next_recording();

inline constexpr std::int64_t smallest_memory = 64 << 10;

template <class T>
class BasicTape final : private Recorder<T> {
 public:
  using Real = BasicReal<T>;
  struct Seed {
    Real of;
    T adjoint = T(1);
  };
  class [[nodiscard]] Activation;
  class [[nodiscard]] Loan;

  explicit BasicTape(TapeOptions options = {}, SourceLine where = std::source_location::current());
  ~BasicTape();
  BasicTape(const BasicTape&) = delete;
  BasicTape& operator=(const BasicTape&) = delete;

  // While what is returned lives, statements of this thread go here, or, paused, nowhere. They end in the
  // opposite of their order.
  Activation activate() { return Activation(this); }
  static BasicTape* active() {
    return static_cast<BasicTape*>(active_recorder<T>);
  }  // null: none on this thread
  static Activation pause() { return Activation(nullptr); }

  Real input(const T& value, SourceLine where = std::source_location::current());
  std::vector<Real> inputs(std::span<const T> values, SourceLine where = std::source_location::current());
  void inputs(std::span<Real> variables,
              SourceLine where = std::source_location::current());  // become inputs

  // Adjoints of all inputs, from that of a result. The recording stays: other results may follow.
  void reverse(const Real& result, const T& adjoint = T(1),
               SourceLine where = std::source_location::current());
  void reverse(std::span<const Seed> seeds, SourceLine where = std::source_location::current());
  void reverse(std::initializer_list<Seed> seeds, SourceLine where = std::source_location::current()) {
    reverse(std::span(seeds.begin(), seeds.size()), where);
  }
  // The derivative of what was reversed last by an input.
  T gradient(const Real& input, SourceLine where = std::source_location::current()) const;
  std::vector<T> gradient(std::span<const Real> inputs,
                          SourceLine where = std::source_location::current()) const;

  // Several adjoints at once, a sweep for each 16 of them: row i has the derivatives of what its seeds sum
  // up to, by all inputs in the order in which they were made.
  struct RowSeed {
    Real of;
    std::size_t row = 0;
    T adjoint = T(1);
  };
  DenseMatrix<T> reverse_rows(std::span<const RowSeed> seeds, std::size_t rows,
                              SourceLine where = std::source_location::current());
  // A row for each result, a column for each input.
  DenseMatrix<T> jacobian(std::span<const Real> results, std::span<const Real> inputs,
                          SourceLine where = std::source_location::current());
  // One such sweep (4, 8 or 16 lanes): the derivatives by each input, valid until the next.
  struct LaneSeed {
    Real of;
    unsigned lane = 0;
    T adjoint = T(1);
  };
  template <unsigned lanes>
  std::span<const Pack<T, lanes>> reverse_lanes(std::span<const LaneSeed> seeds,
                                                SourceLine where = std::source_location::current());

  // A new recording, in the memory of this one.
  void clear(SourceLine where = std::source_location::current());

  using Mark = Position<T>;
  Mark mark() const;
  // Forgets what was recorded since. Marks behind this one are of no use any more.
  void rewind(const Mark& mark, SourceLine where = std::source_location::current());

  // `count` steps, each of which takes the state to the next one in place: state = step(state, i). With a
  // memory, they leave states behind in place of statements, as many as there is room for, and run again
  // while they are reversed. So a step must do the same each time, it changes nothing but its state, and
  // what it captures, it captures by value: it is copied. Reals among that are operands like others.
  // Gradients are the same to the bit in every memory, and without one.
  template <class F>
  void steps(std::int64_t count, std::span<Real> state, F step,
             SourceLine where = std::source_location::current());
  // One such step, in a loop of one's own: state = step(state). Calls that follow each other keep as many
  // states as there is room for.
  template <class F>
  void step(std::span<Real> state, F step, SourceLine where = std::source_location::current());

  // What fn returns (a Real, or a range or tuple of them), and in place of its statements one for each
  // result, with the partial derivatives by what fn reads from outside; or its statements, where these are
  // smaller or fn holds steps(). Reals of fn that it does not return must not be used afterwards.
  template <class F>
  auto preaccumulate(F&& fn, SourceLine where = std::source_location::current());
  // A statement whose value and partial derivatives are known.
  Real statement(const T& value, std::span<const Real> operands, std::span<const T> slopes,
                 SourceLine where = std::source_location::current());

  // An event and its results, which get these values.
  std::vector<Real> record_event(std::unique_ptr<Event<T>> event, std::span<const Real> operands,
                                 std::span<const T> results,
                                 SourceLine where = std::source_location::current());

  // Of the lanes that one sweep can have, as many as the memory has room for; 4 at least.
  unsigned widest_lanes();

  // What was recorded, for those who read it (statements.h).
  RecordingView<T> view() const;
  std::size_t input_number(const Real& input, SourceLine where = std::source_location::current()) const;
  // An Error where one is neither of this recording nor passive.
  void check_results(std::span<const Real> results, SourceLine where = std::source_location::current()) const;

  // Of a checked tape, since clear(): partial derivatives and adjoints that are no numbers, inputs on which
  // nothing depends, results that depend on nothing. Reals that were forgotten by rewinding, or are of
  // another recording, are Errors, with the line of the statement.
  std::vector<Finding> findings() const { return checks_ ? checks_->findings() : std::vector<Finding>(); }

  Id statements() const { return index_of(this->next) - 1; }
  Bytes bytes() const;       // that it holds now
  Bytes peak_bytes() const;  // the most it held
  Bytes memory() const { return options_.memory; }

  // An Error where so many bytes more do not fit, for what.
  Loan lend(std::size_t bytes, const char* what, const SourceLine& where);
  std::size_t spare() const;  // bytes that can be lent; without a memory there is no end of them
  // What a sweep takes whose adjoints or tangents have so many bytes each.
  std::size_t sweep_bytes(std::size_t adjoint_bytes) const;

  // For sweeps other than reverse(), with adjoints of any type: what they do with an event that they come
  // to. Steps run again, on this tape; other(event, results, k) is for events that are not steps, among
  // them those recorded within a step.
  template <class A, class Other>
  void reverse_event(Reversal<T, A>& reversal, Event<T>& event, std::span<const A> results, Id k,
                     const SourceLine& where, Other& other);

 private:
  class Frame;
  struct Learning {  // of a step's size; chunks are written over where there is no room for more
    bool wrapped = false;
    std::size_t bytes = 0;
  };

  using Recorder<T>::require;
  void make_room(std::size_t bytes, const SourceLine& where) override;
  void see_far(Id delta) override;
  void begin_recording();
  void enter_chunk(std::size_t chunk);
  void leave_chunk();
  void write_mark(code::Mark mark, const SourceLine& where);
  void look(const SourceLine& where);
  void refuse_forgotten(Id index, const SourceLine& where) const;
  void leave_gap(const Mark& mark, Id end);
  void check_reversal(std::span<const Seed> seeds, const SourceLine& where);
  Id write_row(std::span<const Id> ids, std::span<const T> slopes, const SourceLine& where);
  void replace_by_rows(const Mark& before, std::span<Real* const> results, const SourceLine& where);
  template <unsigned lanes>
  void rows_of_scope(const RecordingView<T>& scope, const PreaccumulatedScope& read, std::span<const Id> made,
                     std::size_t group, DenseMatrix<T>& rows);
  std::size_t find_input(const Real& input, const char* asked, const SourceLine& where) const;
  void check_own(const Real& x, const char* what, const SourceLine& where) const;
  [[noreturn]] void refuse_of_step(const SourceLine& where) const;
  [[noreturn]] void refuse_without_tape(const SourceLine& where) const;
  [[noreturn]] void refuse_other_outcome(const char* what) const;
  [[noreturn]] void overflow(std::size_t wanted, const SourceLine& where) const;
  bool limited() const { return options_.memory.count >= 0; }
  std::size_t held() const;
  std::size_t needed_for_one() const;
  std::size_t needed_to_reverse() const;
  std::size_t needed_for_lanes(unsigned lanes, std::size_t there) const;
  bool fits(std::size_t bytes) const;
  bool release(std::size_t bytes);  // what is not needed, until so many fit
  void shrink_chunks(std::size_t bytes);
  void require_fit(std::size_t bytes, const SourceLine& where);
  void require_event(std::size_t bytes, const SourceLine& where);
  Id reach() const {  // of near operands
    return std::min(this->near_seen | this->forms.distances(), this->near_limit - 1);
  }

  // tape_steps-inl.h, tape_replay-inl.h, tape_room-inl.h
  void record_boundary(std::span<Real> state, Id begin, const SourceLine& where);
  void refuse_within_steps(const char* what, const SourceLine& where) const;
  void refuse_within_reversal(const char* what, const SourceLine& where) const;
  void refuse_mark(const Mark& mark, const SourceLine& where) const;
  void run_loop(const std::shared_ptr<Chain<T>>& chain, std::int64_t first, std::int64_t count,
                std::span<Real> state, const SourceLine& where);
  std::shared_ptr<Chain<T>> new_chain(std::span<const Real> state, const SourceLine& where);
  void learn(Chain<T>& chain, std::int64_t step, std::span<const Real> state, const SourceLine& where);
  std::int64_t choose_unit(const Chain<T>& chain, std::int64_t count) const;
  std::size_t missing_to_record(const Chain<T>& chain, std::int64_t unit) const;
  std::int64_t spare_states(const Chain<T>& chain, std::int64_t unit) const;
  bool keep_state(Chain<T>& chain, std::int64_t step, std::span<const Real> state, std::int64_t unit);
  std::size_t written_bytes() const;
  std::size_t bytes_of_distance(const Position<T>& start) const;
  std::int64_t approach(Chain<T>& chain, std::int64_t end, std::int64_t unit, std::span<Real> state);
  template <class A, class Other>
  void reverse_loop(Reversal<T, A>& reversal, LoopEvent<T>& loop, std::span<const A> results, Id k,
                    const SourceLine& where, Other& other);
  template <class A, class Other>
  bool reverse_unit(Reversal<T, A>& reversal, LoopEvent<T>& loop, std::int64_t begin, std::int64_t end,
                    std::span<Real> state, std::uint64_t digest, std::span<A> adjoint, Id k,
                    const SourceLine& where, Other& other);
  [[noreturn]] void too_small(std::size_t more, const SourceLine& where) const;
  void refuse_more_steps(std::size_t more, const SourceLine& where) const;

  TapeOptions options_;
  SourceLine made_;
  Chains<T> chains_;
  Recording<T> recording_;
  Recording<T>* target_ = &recording_;  // that is being written
  // Steps that run again are recorded here, one list for steps within steps. Memory that a step has once
  // needed stays with its list.
  struct Replay {
    Recording<T> recording;
    std::size_t reserved = 0;   // bytes of chunks, for the largest step that was seen
    std::size_t transient = 0;  // bytes of states and adjoints, while it is reversed
  };
  std::vector<std::unique_ptr<Replay>> replays_;
  std::size_t depth_ = 0;   // of them, how many are in use
  std::size_t within_ = 0;  // steps that run
  std::size_t loops_run_ = 0;
  Learning* learning_ = nullptr;
  bool states_stay_ = false;                 // while several steps are recorded, which one at a time may do
  std::shared_ptr<Chain<T>> open_chain_;     // with which step() may go on
  std::vector<std::uint64_t> made_in_step_;  // record_boundary: of each statement, whether it is an entry
  std::vector<std::size_t> copied_;
  std::size_t chunk_ = 0;  // that is being written
  Reversal<T, T> reversal_;
  LaneReversals<T> lane_reversals_;
  unsigned lanes_ = 0;  // of the sweep that runs within a memory, if it has several
  std::unique_ptr<Checks> checks_;
  TapeGrowth growth_;
  mutable std::size_t peak_ = 0;
  std::size_t lent_ = 0;
  SourceLine steps_line_;  // of the loop that ran last
  bool reversed_ = false;
  std::size_t reversed_inputs_ = 0;  // those that the latest reversal knew
  std::size_t calls_back_ = 0;       // reversals of events that run
  Id step_begin_ = 0;                // without a memory: of the step that is being recorded; or 0
  std::shared_ptr<ThreadTapes<T>> made_on_ = ThreadTapes<T>::of_this_thread();
};

template <class T>
class BasicTape<T>::Activation {
 public:
  explicit Activation(BasicTape* tape, Id unrecorded = 0)
      : interrupted_{active_recorder<T>, innermost_activation<T>},
        unrecorded_before_(std::exchange(unrecorded_id<T>, unrecorded)) {
    set_active<T>(tape);
    innermost_activation<T> = &interrupted_;
  }
  ~Activation() {
    innermost_activation<T> = interrupted_.outer;
    set_active(interrupted_.recorder);
    unrecorded_id<T> = unrecorded_before_;
  }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  Interrupted<T> interrupted_;
  Id unrecorded_before_;
};

// Memory of those who read a recording (sets of a pattern, tangents), which counts as the tape's while this
// lives, where the tape has a limit.
template <class T>
class BasicTape<T>::Loan {
 public:
  Loan(BasicTape& tape, std::size_t bytes) : tape_(tape), bytes_(bytes) {
    tape_.lent_ += bytes_;
    tape_.peak_ = std::max(tape_.peak_, tape_.held());
  }
  ~Loan() { tape_.lent_ -= bytes_; }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

 private:
  BasicTape& tape_;
  std::size_t bytes_;
};

using Tape = BasicTape<double>;

}  // namespace tidemark::scalars

#include "tidemark/scalar/tape-inl.h"
#include "tidemark/scalar/tape_check-inl.h"
#include "tidemark/scalar/tape_lanes-inl.h"
#include "tidemark/scalar/tape_preaccumulate-inl.h"
#include "tidemark/scalar/tape_room-inl.h"
#include "tidemark/scalar/tape_steps-inl.h"

namespace tidemark::scalars {
extern template class BasicTape<double>;
extern template std::span<const Pack<double, 4>> BasicTape<double>::reverse_lanes<4>(
    std::span<const LaneSeed>, SourceLine);
extern template std::span<const Pack<double, 8>> BasicTape<double>::reverse_lanes<8>(
    std::span<const LaneSeed>, SourceLine);
extern template std::span<const Pack<double, 16>> BasicTape<double>::reverse_lanes<16>(
    std::span<const LaneSeed>, SourceLine);

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::BasicTape;
using scalars::Tape;
using scalars::TapeOptions;
}  // namespace tidemark
