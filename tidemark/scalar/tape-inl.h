// BasicTape, for any number type; that of double is compiled once, in tape.cc.
#pragma once
#include <fmt/format.h>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

template <class T>
BasicTape<T>::BasicTape(TapeOptions options, SourceLine where) : options_(options), made_(where) {
  Id near = longest_ring;
  if (options_.memory.count >= 0) {
    if (options_.memory.count < smallest_memory)
      fail(ErrorCode::tape_full, {.what = fmt::format("a tape in {}", to_string(options_.memory)),
                                  .expected = fmt::format("at least {}", to_string(Bytes(smallest_memory))),
                                  .where = where,
                                  .help = "without .memory it takes what it needs"});
    // The ring takes an eighth at most.
    near = ring_within(static_cast<std::size_t>(options_.memory.count) / sizeof(T));
    if constexpr (std::is_same_v<T, double>)
      this->forms.allow(Forms::count_within(static_cast<std::size_t>(options_.memory.count)), true);
  }
  this->near_limit = near - smallest_stride;  // of which the ring is no longer than that
  if (options_.check) {
    checks_ = std::make_unique<Checks>();
    this->slack = std::numeric_limits<std::ptrdiff_t>::max() / 2;
  }
  recording_.forms = &this->forms;
  this->far = &recording_.far;
  begin_recording();
  made_on_->add(this, options_.active);
}

template <class T>
BasicTape<T>::~BasicTape() {
  made_on_->remove(this);
}

template <class T>
void BasicTape<T>::begin_recording() {
  this->next = (next_recording() << index_bits) + 1;
  this->origin = this->next;
  this->near_seen = 0;
  this->cursor = this->read_early = this->origin;
  this->forms.begin(this->origin);
  open_chain_.reset();
  recording_.inputs.clear();
  recording_.drop_events(0);
  recording_.far.clear();
  growth_.clear();
  if (checks_) checks_->clear();
  reversed_ = false;
  if (recording_.chunks.size() > 0) {
    enter_chunk(0);
  } else {
    this->partials = nullptr;
    this->codes = nullptr;
  }
}

template <class T>
void BasicTape<T>::clear(SourceLine where) {
  refuse_within_steps("clear()", where);
  begin_recording();
}

template <class T>
void BasicTape<T>::enter_chunk(std::size_t chunk) {
  chunk_ = chunk;
  this->partials = reinterpret_cast<T*>(target_->chunks[chunk].begin);
  this->codes = target_->chunks[chunk].end();
  this->codes_end = this->codes;
  this->go_on(target_->chunks[chunk].written);
}

template <class T>
void BasicTape<T>::leave_chunk() {
  Chunk& chunk = target_->chunks[chunk_];
  chunk.partials_end = reinterpret_cast<std::byte*>(this->partials);
  chunk.codes_begin = this->codes;
  if (!this->forms.any()) return;
  std::fill(chunk.partials_end, chunk.codes_begin, std::byte{0});
  chunk.written = true;
}

template <class T>
void BasicTape<T>::make_room(std::size_t bytes, const SourceLine& where) {
  Chunks& chunks = target_->chunks;
  if (index_of(this->next) >= most_statements)
    fail(ErrorCode::tape_full, {.what = "a recording of more than 2^43 statements", .where = where});
  if (checks_) {
    look(where);
    if (this->codes && this->room() >= static_cast<std::ptrdiff_t>(bytes)) return;
  }
  bytes += Chunk::margin;
  const bool begun = this->codes != nullptr;
  if (std::is_same_v<T, double> && !limited()) this->forms.allow();
  if (begun) leave_chunk();
  // A chunk that is there is taken where it is large enough; those that are not are left out from here on.
  std::size_t chunk = begun ? chunk_ + 1 : 0;
  if (chunk < chunks.size() && chunks[chunk].bytes < bytes) chunks.shrink(chunk);
  if (chunk == chunks.size()) {
    std::size_t size = Chunks::next_size(chunks.bytes());
    if (limited()) {
      const auto memory = static_cast<std::size_t>(options_.memory.count);
      size = std::min(size, std::max(Chunks::smallest, std::bit_floor(memory / 32)));
      if (!fits(std::max(size, bytes))) size = Chunks::smallest;
      if (!fits(std::max(size, bytes)) && !release(std::max(size, bytes))) {
        if (!learning_ || chunks.size() == 0 || chunks[0].bytes < bytes)
          overflow(std::max(size, bytes), where);
        learning_->wrapped = true;
        learning_->bytes += chunks[chunk_].bytes;
        return enter_chunk(chunks[chunk_].bytes < bytes ? 0 : chunk_);
      }
    }
    if (size < bytes) size = static_cast<std::size_t>(align_up(static_cast<std::int64_t>(bytes), 4096));
    chunks.add(size, limited());
  }
  growth_.add(where, chunks[chunk].bytes);
  enter_chunk(chunk);
  peak_ = std::max(peak_, held());
}

template <class T>
void BasicTape<T>::overflow(std::size_t wanted, const SourceLine& where) const {
  refuse_more_steps(wanted + needed_to_reverse(), where);
  if (depth_ > 0) too_small(wanted, where);
  const std::string grew = growth_.largest();
  ErrorParts parts{
      .what = fmt::format("the tape has {} statements in {} of its {}, and needs {} more",
                          index_of(this->next) - 1, to_string(Bytes(static_cast<std::int64_t>(held()))),
                          to_string(options_.memory),
                          to_string(Bytes(static_cast<std::int64_t>(wanted + needed_to_reverse())))),
      .expected = "a recording that fits into its memory",
      .where = where.known() ? where : made_,
      .help =
          "mark what repeats, a time step or an iteration, with tape.steps(count, state, step): its "
          "statements are "
          "then recorded one step at a time. Or give the tape more memory"};
  if (!grew.empty()) parts.notes.push_back("it grew at " + grew);
  fail(ErrorCode::tape_full, std::move(parts));
}

template <class T>
std::size_t BasicTape<T>::held() const {
  std::size_t replays = replays_.capacity() * sizeof(replays_[0]);
  for (const auto& replay : replays_) replays += sizeof *replay + replay->recording.bytes();
  return recording_.bytes() + this->forms.bytes() + replays + chains_.bytes + reversal_.bytes() +
         lane_reversals_.bytes() + (checks_ ? checks_->bytes() : 0) +
         made_in_step_.capacity() * sizeof(made_in_step_[0]) + copied_.capacity() * sizeof(copied_[0]) +
         lent_;
}

// What a reversal of one adjoint takes beside what it has already.
template <class T>
std::size_t BasicTape<T>::needed_for_one() const {
  const Id ring = ring_for(limited() ? this->near_limit - 1 : reach());
  const std::size_t blocks = recording_.far.count() + 1;
  const std::size_t table = std::max<std::size_t>(recording_.far.size(), index_of(this->next) >> block_bits);
  std::size_t needed = ring * sizeof(T) + blocks * (block_size * sizeof(T) + sizeof(std::vector<T>)) +
                       (table + 2 * blocks) * sizeof(T*) + recording_.inputs.size() * sizeof(T);
  needed = needed > reversal_.bytes() ? needed - reversal_.bytes() : 0;
  for (const auto& replay : replays_) needed += replay->transient;
  return needed;
}

template <class T>
bool BasicTape<T>::fits(std::size_t bytes) const {
  return !limited() ||
         held() + needed_to_reverse() + bytes <= static_cast<std::size_t>(options_.memory.count);
}

template <class T>
std::size_t BasicTape<T>::spare() const {
  if (!limited()) return std::numeric_limits<std::size_t>::max();
  const auto memory = static_cast<std::size_t>(options_.memory.count);
  const std::size_t taken = held() + needed_to_reverse();
  return memory > taken ? memory - taken : 0;
}

template <class T>
std::size_t BasicTape<T>::sweep_bytes(std::size_t adjoint_bytes) const {
  return (needed_for_one() + reversal_.bytes()) * ((adjoint_bytes + sizeof(T) - 1) / sizeof(T));
}

template <class T>
auto BasicTape<T>::lend(std::size_t bytes, const char* what, const SourceLine& where) -> Loan {
  if (!fits(bytes) && !release(bytes)) {
    const std::size_t there = held() + needed_to_reverse();
    ErrorParts parts{
        .what = fmt::format("{} needs {} beside the {} that {} statements and their adjoints take, of the "
                            "tape's {}",
                            what, to_string(Bytes(static_cast<std::int64_t>(bytes))),
                            to_string(Bytes(static_cast<std::int64_t>(there))), index_of(this->next) - 1,
                            to_string(options_.memory)),
        .expected = fmt::format("a memory of {}", to_string(Bytes(static_cast<std::int64_t>(there + bytes)))),
        .where = where.known() ? where : made_,
        .help =
            "give the tape more memory; or take derivatives of one result at a time, with "
            "tape.reverse(result)"};
    if (const std::string grew = growth_.largest(); !grew.empty())
      parts.notes.push_back("it grew at " + grew);
    fail(ErrorCode::tape_full, std::move(parts));
  }
  return Loan(*this, limited() ? bytes : 0);
}

template <class T>
Bytes BasicTape<T>::bytes() const {
  return Bytes(static_cast<std::int64_t>(held()));
}

template <class T>
Bytes BasicTape<T>::peak_bytes() const {
  peak_ = std::max(peak_, held());
  return Bytes(static_cast<std::int64_t>(peak_));
}

template <class T>
void BasicTape<T>::refuse_of_step(const SourceLine& where) const {
  ErrorParts parts{.what = "a Real is used that a step made and that is not in the step's state",
                   .expected =
                       "results of steps from their state alone: steps run more than once, and not "
                       "always recorded",
                   .where = where.known() ? where : steps_line_,
                   .help =
                       "what a step gives to others, a running sum for one, is an entry of its state; "
                       "what it captures, it captures by value"};
  if (where.known() && steps_line_.known()) parts.notes.push_back("the steps: " + short_form(steps_line_));
  fail(ErrorCode::foreign_real, std::move(parts));
}

template <class T>
void BasicTape<T>::refuse_without_tape(const SourceLine& where) const {
  fail(ErrorCode::foreign_real,
       {.what = "a Real is used that was computed from variables where no tape was active",
        .expected = "Reals of the active tape's recording, or passive ones",
        .where = where.known() ? where : made_,
        .help = "a tape is active on the thread that made it: on another, const auto active = "
                "tape.activate(); where no derivative is wanted, value(x) is the number alone"});
}

template <class T>
void BasicTape<T>::refuse_other_outcome(const char* what) const {
  fail(ErrorCode::bad_tape_use,
       {.what = fmt::format("a step did not do the same when it ran again: {}", what),
        .expected = "a step that reads nothing but its state, its number and what it captured by value",
        .where = steps_line_,
        .help = "what a step captures by reference may change before it runs again: capture by value; what "
                "changes from step to step, a time or a generator of random numbers, belongs into the state, "
                "or follows from the step's number"});
}

template <class T>
void BasicTape<T>::see_far(Id delta) {
  if (delta == this->next - within_step)
    refuse_of_step(checks_ ? checks_->line(checks_->expected()) : SourceLine());
  if (delta == this->next - without_tape)
    refuse_without_tape(checks_ ? checks_->line(checks_->expected()) : SourceLine());
  if (delta >= index_of(this->next) && depth_ > 0 && !learning_)
    refuse_other_outcome("it read a Real that was made after it");
  if (delta >= index_of(this->next)) {
    const SourceLine expression = checks_ ? checks_->line(checks_->expected()) : SourceLine();
    ErrorParts parts{
        .what = "a Real of another recording stands in an expression",
        .expected = "Reals of the active tape's recording, or passive ones",
        .where = expression.known() ? expression : made_,
        .help = "after tape.clear(), or with another tape, make inputs anew; value(x) is the number alone"};
    if (!expression.known())
      parts.notes.push_back(
          "the tape was made there; with Tape({.check = true}) it is the expression's line");
    fail(ErrorCode::foreign_real, std::move(parts));
  }
  recording_.far.mark(index_of(this->next) - delta);
}

template <class T>
void BasicTape<T>::write_mark(code::Mark mark, const SourceLine& where) {
  require(code::most_head + sizeof(T), where);
  *--this->codes = static_cast<std::byte>(mark);
  *--this->codes = std::byte{0};
  *--this->codes = code::head(0, 0, code::longer);
  ++this->next;
}

template <class T>
auto BasicTape<T>::input(const T& value, SourceLine where) -> Real {
  refuse_within_steps("an input", where);
  require(code::most_head + sizeof(T), where);
  if (limited() && recording_.inputs.size() == recording_.inputs.capacity()) {
    const std::size_t more = recording_.inputs.size() / 8 + 64;
    require_fit((recording_.inputs.size() + more) * sizeof(Id) + more * sizeof(T), where);
    recording_.inputs.reserve(recording_.inputs.size() + more);
  }
  recording_.inputs.push_back(this->next);
  // Within a memory adjoints of inputs do not lie side by side.
  if (const Id leading = this->forms.leading();
      !limited() && this->next - this->origin == leading && leading < most_leading)
    this->forms.set_leading(leading + 1);
  *--this->codes = code::head(0, 0, 0);
  return Real(value, this->next++);
}

template <class T>
auto BasicTape<T>::inputs(std::span<const T> values, SourceLine where) -> std::vector<Real> {
  std::vector<Real> reals;
  reals.reserve(values.size());
  for (const T& value : values) reals.push_back(input(value, where));
  return reals;
}

template <class T>
void BasicTape<T>::inputs(std::span<Real> variables, SourceLine where) {
  for (Real& variable : variables) variable = input(variable.value(), where);
}

template <class T>
auto BasicTape<T>::mark() const -> Mark {
  return {chunk_,
          this->partials,
          this->codes,
          this->next,
          this->cursor,
          target_->inputs.size(),
          target_->events.size(),
          target_};
}

template <class T>
void BasicTape<T>::rewind(const Mark& mark, SourceLine where) {
  refuse_mark(mark, where);
  target_->inputs.resize(mark.inputs);
  if (target_ == &recording_) reversed_inputs_ = std::min(reversed_inputs_, mark.inputs);
  target_->drop_events(mark.events);
  open_chain_.reset();
  const Id end = std::exchange(this->next, mark.next);
  this->forms.set_leading(std::min(this->forms.leading(), mark.next - this->origin));
  this->cursor = this->read_early = mark.cursor;
  if (mark.codes) {
    chunk_ = mark.chunk;
    this->partials = mark.partials;
    this->codes = mark.codes;
    this->codes_end = target_->chunks[chunk_].end();
    this->go_on(target_->chunks[chunk_].written);
  } else if (target_->chunks.size() > 0) {
    enter_chunk(0);
  }
  if (checks_ && target_ == &recording_ && within_ == 0 && end > mark.next) leave_gap(mark, end);
}

template <class T>
void BasicTape<T>::check_own(const Real& x, const char* what, const SourceLine& where) const {
  if (this->next - x.id() < index_of(this->next) && x.id() < this->next) return;
  if (x.id() == within_step) refuse_of_step(where);
  if (x.id() == without_tape) refuse_without_tape(where);
  fail(ErrorCode::foreign_real,
       {.what = fmt::format("{} is a Real of another recording", what),
        .expected = "one of the tape's present recording",
        .where = where,
        .help = "tape.clear() begins a new recording: make inputs and compute again"});
}

template <class T>
void BasicTape<T>::reverse(const Real& result, const T& adjoint, SourceLine where) {
  const Seed seed{result, adjoint};
  reverse(std::span(&seed, 1), where);
}

template <class T>
void BasicTape<T>::reverse(std::span<const Seed> seeds, SourceLine where) {
  refuse_within_steps("reverse()", where);
  for (const Seed& seed : seeds)
    if (seed.of.id() != 0) check_own(seed.of, "a result", where);
  if (checks_) {
    look(where);
    for (const Seed& seed : seeds) refuse_forgotten(index_of(seed.of.id()), where);
  }
  const Activation paused(nullptr);
  typename Reversal<T, T>::Ranges all{mark(), {}, this->near_limit, reach()};
  all.to.codes = recording_.chunks.size() > 0 ? recording_.chunks[0].end() : nullptr;
  all.to.next = (this->next & ~index_mask) + 1;
  const Id ring = ring_for(all.near_seen);
  for (const Seed& seed : seeds)
    if (this->next - seed.of.id() >= ring && seed.of.id() != 0) recording_.far.mark(index_of(seed.of.id()));
  if (!fits(0) && !release(0)) overflow(0, where);
  try {
    reversal_.prepare(recording_, all);
    reversal_.open(all);
    for (const Seed& seed : seeds)
      if (seed.of.id() != 0) reversal_.seed(seed.of.id(), seed.adjoint);
    reversed_ = true;
    reversed_inputs_ = recording_.inputs.size();
    const auto other = [&](Event<T>& event, std::span<const T> results, Id) {
      struct Sink final : AdjointSink<T> {
        Reversal<T, T>& reversal;
        explicit Sink(Reversal<T, T>& r) : reversal(r) {}
        void add(Id operand, const T& amount) override { reversal.seed(operand, amount); }
      };
      Sink sink(reversal_);
      event.reverse(results, sink);
    };
    reversal_.sweep(recording_, all, [&](Event<T>& event, std::span<const T> results, Id k) {
      reverse_event(reversal_, event, results, k, where, other);
    });
  } catch (...) {
    reversal_.clear();
    reversed_ = false;
    throw;
  }
  if (checks_) check_reversal(seeds, where);
  peak_ = std::max(peak_, held());
}

template <class T>
std::size_t BasicTape<T>::find_input(const Real& input, const char* asked, const SourceLine& where) const {
  const auto& inputs = recording_.inputs;
  // Most often they were made one after the other.
  const Id behind = inputs.empty() ? 0 : input.id() - inputs.front();
  const auto found = behind < inputs.size() && inputs[behind] == input.id()
                         ? inputs.begin() + static_cast<std::ptrdiff_t>(behind)
                         : std::lower_bound(inputs.begin(), inputs.end(), input.id());
  if (found != inputs.end() && *found == input.id()) return static_cast<std::size_t>(found - inputs.begin());
  const bool passive = input.id() == 0;
  if (!passive) check_own(input, fmt::format("what {}", asked).c_str(), where);
  fail(ErrorCode::bad_tape_use,
       {.what = fmt::format("{} {}", asked, passive ? "a passive number" : "a Real that is no input"),
        .expected = "a Real that tape.input or tape.inputs returned",
        .where = where,
        .help = passive ? "make it one before computing with it: Real x = tape.input(2.0)"
                        : "assigning to a variable makes it another: keep the input beside it"});
}

template <class T>
T BasicTape<T>::gradient(const Real& input, SourceLine where) const {
  if (!reversed_)
    fail(ErrorCode::bad_tape_use, {.what = "a gradient is asked for, and nothing was reversed",
                                   .expected = "tape.reverse(result) before tape.gradient(input)",
                                   .where = where});
  const std::size_t number = find_input(input, "a gradient is asked of", where);
  if (number >= reversed_inputs_)
    fail(ErrorCode::bad_tape_use, {.what = "a gradient is asked of an input that was made after the reversal",
                                   .expected = "tape.reverse(result) behind the last input",
                                   .where = where});
  return reversal_.gradients()[number];
}

template <class T>
std::vector<T> BasicTape<T>::gradient(std::span<const Real> inputs, SourceLine where) const {
  std::vector<T> slopes;
  slopes.reserve(inputs.size());
  for (const Real& input : inputs) slopes.push_back(gradient(input, where));
  return slopes;
}

template <class T>
auto BasicTape<T>::record_event(std::unique_ptr<Event<T>> event, std::span<const Real> operands,
                                std::span<const T> results, SourceLine where) -> std::vector<Real> {
  require(code::most_head + sizeof(T), where);
  for (const Real& operand : operands) {
    if (operand.id() == 0) continue;
    const Id delta = this->next - operand.id();
    if (delta < this->near_limit)
      this->near_seen |= delta;
    else
      see_far(delta);
  }
  require_event(event->bytes(), where);
  target_->add_event(std::move(event), results.size());
  write_mark(code::event, where);
  std::vector<Real> reals;
  reals.reserve(results.size());
  for (const T& result : results) reals.push_back(Real(result, this->next++));
  return reals;
}

}  // namespace tidemark::scalars
