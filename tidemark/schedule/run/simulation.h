// The executor's view of a simulation: one working state, one working record, records in slots, an adjoint.
// Types end here; behind it are bytes.
#pragma once
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "tidemark/schedule/stepper.h"

namespace tidemark::schedule {

class Simulation {
 public:
  virtual ~Simulation() = default;
  virtual void advance(Steps range) = 0;
  virtual void seed() = 0;

  // Records: the working one, and those kept as objects in slots.
  virtual void record(Step step) = 0;
  virtual std::size_t record_into(int level, std::int32_t slot, Step step) = 0;  // its bytes
  virtual void reverse(Step step) = 0;
  virtual void reverse_from(int level, std::int32_t slot, Step step) = 0;
  virtual void drop_record(int level, std::int32_t slot) = 0;

  virtual std::size_t state_bytes() const = 0;
  virtual void save_state(std::span<std::byte> to) const = 0;
  virtual void load_state(std::span<const std::byte> from) = 0;

  virtual bool records_have_bytes() const = 0;   // a working record can be saved and loaded
  virtual std::size_t record_bytes() const = 0;  // of the working record; sizeof where it has no snapshot
  virtual void save_record(std::span<std::byte> to) const = 0;
  virtual void load_record(std::span<const std::byte> from) = 0;

  virtual bool adjoint_has_bytes() const = 0;
  virtual std::size_t adjoint_bytes() const = 0;
  virtual void save_adjoint(std::span<std::byte> to) const = 0;
  virtual void load_adjoint(std::span<const std::byte> from) = 0;

  // What replays are compared by, where the stepper compares for itself; no bytes: by the bits of the state.
  virtual std::size_t summary_bytes() const { return 0; }
  virtual void save_summary(std::span<std::byte>) const {}
  virtual double deviation(std::span<const std::byte>, std::span<const std::byte>) const { return 0; }

  StepLog log;
};

// A stepper whose adjoint is made from the final state by a function beside it.
template <class S, class State, class Adjoint, class Final>
struct SeededBy {
  S& stepper;
  Final& final;
  void advance(State& state, Steps range, StepLog& log) {
    if constexpr (requires { stepper.advance(state, range, log); })
      stepper.advance(state, range, log);
    else
      stepper.advance(state, range);
  }
  auto record(State& state, Step i, StepLog& log) { return detail::record_of(stepper, state, i, log); }
  auto summary(const State& state) const requires ComparesReplays<S, State> { return stepper.summary(state); }
  double deviation(const auto& first, const auto& again) const requires ComparesReplays<S, State> {
    return stepper.deviation(first, again);
  }
  void reverse(const auto& record, Adjoint& adjoint, Step i) { stepper.reverse(record, adjoint, i); }
  void seed(const State& state, Adjoint& adjoint) { adjoint = final(state); }
};

template <class S, class State, class Adjoint>
class BoundSimulation final : public Simulation {
  using Record = std::remove_cvref_t<RecordOf<S, State>>;
  static constexpr bool saves_records = Snapshotter<Record> && std::default_initializable<Record>;

 public:
  BoundSimulation(S& stepper, State& state, Adjoint& adjoint)
      : stepper_(stepper), state_(state), adjoint_(adjoint) {}

  void advance(Steps range) override {
    if constexpr (requires { stepper_.advance(state_, range, log); })
      stepper_.advance(state_, range, log);
    else
      stepper_.advance(state_, range);
  }
  void seed() override {
    if constexpr (SeedsAdjoint<S, State, Adjoint>) stepper_.seed(std::as_const(state_), adjoint_);
  }

  void record(Step step) override { keep(record_, step); }
  std::size_t record_into(int level, std::int32_t slot, Step step) override {
    std::optional<Record>& into = slot_of(level, slot);
    keep(into, step);
    return bytes_of(*into);
  }
  void reverse(Step step) override { stepper_.reverse(*record_, adjoint_, step); }
  void reverse_from(int level, std::int32_t slot, Step step) override {
    stepper_.reverse(*slot_of(level, slot), adjoint_, step);
  }
  void drop_record(int level, std::int32_t slot) override { slot_of(level, slot).reset(); }

  std::size_t state_bytes() const override { return Snapshot<State>::size(state_); }
  void save_state(std::span<std::byte> to) const override { Snapshot<State>::save(state_, to); }
  void load_state(std::span<const std::byte> from) override { Snapshot<State>::load(state_, from); }

  bool records_have_bytes() const override { return saves_records; }
  std::size_t record_bytes() const override { return bytes_of(*record_); }
  void save_record([[maybe_unused]] std::span<std::byte> to) const override {
    if constexpr (saves_records) Snapshot<Record>::save(*record_, to);
  }
  void load_record([[maybe_unused]] std::span<const std::byte> from) override {
    if constexpr (saves_records) {
      if (!record_) record_.emplace();
      Snapshot<Record>::load(*record_, from);
    }
  }

  std::size_t summary_bytes() const override {
    if constexpr (ComparesReplays<S, State>)
      return sizeof(Summary<S, State>);
    else
      return 0;
  }
  void save_summary([[maybe_unused]] std::span<std::byte> to) const override {
    if constexpr (ComparesReplays<S, State>) {
      const Summary<S, State> summary = stepper_.summary(std::as_const(state_));
      std::memcpy(to.data(), &summary, sizeof summary);
    }
  }
  double deviation([[maybe_unused]] std::span<const std::byte> first,
                   [[maybe_unused]] std::span<const std::byte> again) const override {
    if constexpr (ComparesReplays<S, State>) {
      Summary<S, State> before, now;
      std::memcpy(&before, first.data(), sizeof before);
      std::memcpy(&now, again.data(), sizeof now);
      return stepper_.deviation(before, now);
    } else {
      return 0;
    }
  }

  bool adjoint_has_bytes() const override { return Snapshotter<Adjoint>; }
  std::size_t adjoint_bytes() const override {
    if constexpr (Snapshotter<Adjoint>)
      return Snapshot<Adjoint>::size(adjoint_);
    else
      return 0;
  }
  void save_adjoint([[maybe_unused]] std::span<std::byte> to) const override {
    if constexpr (Snapshotter<Adjoint>) Snapshot<Adjoint>::save(adjoint_, to);
  }
  void load_adjoint([[maybe_unused]] std::span<const std::byte> from) override {
    if constexpr (Snapshotter<Adjoint>) Snapshot<Adjoint>::load(adjoint_, from);
  }

 private:
  static std::size_t bytes_of(const Record& record) {
    if constexpr (Snapshotter<Record>)
      return Snapshot<Record>::size(record);
    else
      return sizeof(Record);
  }
  // Assigning keeps a vector's capacity where the record is copied or swapped; emplace is for types without
  // it.
  void keep(std::optional<Record>& into, Step step) {
    if constexpr (std::is_move_assignable_v<Record>) {
      into = detail::record_of(stepper_, state_, step, log);
    } else {
      into.reset();
      into.emplace(detail::record_of(stepper_, state_, step, log));
    }
  }
  std::optional<Record>& slot_of(int level, std::int32_t slot) {
    const auto l = static_cast<std::size_t>(level), s = static_cast<std::size_t>(slot);
    if (l >= slots_.size()) slots_.resize(l + 1);
    if (s >= slots_[l].size()) slots_[l].resize(s + 1);
    return slots_[l][s];
  }

  S& stepper_;
  State& state_;
  Adjoint& adjoint_;
  std::optional<Record> record_;
  std::vector<std::vector<std::optional<Record>>> slots_;  // by level
};

}  // namespace tidemark::schedule
