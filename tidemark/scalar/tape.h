// A tape: writes down what Reals compute on its thread, and walks back over it.
#pragma once
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/recording.h"
#include "tidemark/scalar/reversal.h"
#include "tidemark/scalar/tape_growth.h"

namespace tidemark::scalar {

struct TapeOptions {
  // All that the tape ever holds: statements, adjoints, gradients, states of steps. None: whatever it
  // takes.
  Bytes memory{-1};
  bool active = true;  // on this thread, from the beginning
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

  explicit BasicTape(TapeOptions options = {}, SourceLine where = std::source_location::current());
  ~BasicTape();
  BasicTape(const BasicTape&) = delete;
  BasicTape& operator=(const BasicTape&) = delete;

  // While what is returned lives, statements of this thread go here, or, paused, nowhere. They end in the
  // opposite of their order.
  Activation activate() { return Activation(this); }
  static Activation pause() { return Activation(nullptr); }
  static BasicTape* active() {
    return static_cast<BasicTape*>(active_recorder<T>);
  }  // null: none on this thread

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

  void clear();  // a new recording, in the memory of this one

  using Mark = Position<T>;
  Mark mark() const;
  void rewind(const Mark& mark);  // forgets what was recorded since

  // An event and its results, which get these values.
  std::vector<Real> record_event(std::unique_ptr<Event<T>> event, std::span<const Real> operands,
                                 std::span<const T> results,
                                 SourceLine where = std::source_location::current());

  Id statements() const { return index_of(this->next) - 1; }
  Bytes bytes() const;       // that it holds now
  Bytes peak_bytes() const;  // the most it held
  Bytes memory() const { return options_.memory; }

 private:
  void require(std::size_t bytes, const SourceLine& where) {
    if (this->room() < static_cast<std::ptrdiff_t>(bytes) + this->slack) make_room(bytes, where);
  }
  void make_room(std::size_t bytes, const SourceLine& where) override;
  void see_far(Id delta) override;
  void begin_recording();
  void enter_chunk(std::size_t chunk);
  void leave_chunk();
  void write_mark(code::Mark mark, const SourceLine& where);
  void check_own(const Real& x, const char* what, const SourceLine& where) const;
  [[noreturn]] void overflow(std::size_t wanted, const SourceLine& where) const;
  std::size_t held() const;
  std::size_t needed_to_reverse() const;

  TapeOptions options_;
  SourceLine made_;
  Recording<T> recording_;
  std::size_t chunk_ = 0;  // that is being written
  Reversal<T, T> reversal_;
  TapeGrowth growth_;
  mutable std::size_t peak_ = 0;
  bool reversed_ = false;
  Recorder<T>* before_ = nullptr;  // active on this thread when it was made
};

template <class T>
class BasicTape<T>::Activation {
 public:
  explicit Activation(BasicTape* tape)
      : before_(std::exchange(active_recorder<T>, static_cast<Recorder<T>*>(tape))) {}
  ~Activation() { active_recorder<T> = before_; }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  Recorder<T>* before_;
};

using Tape = BasicTape<double>;

}  // namespace tidemark::scalar

#include "tidemark/scalar/tape-inl.h"

namespace tidemark {
using scalar::BasicTape;
using scalar::Tape;
using scalar::TapeOptions;
}  // namespace tidemark
