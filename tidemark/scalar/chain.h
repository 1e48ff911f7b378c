// Steps that can run again, and those of their states that are kept: what a tape has of a loop in place of
// its statements. States are values alone. All but the first are there to save time: a tape that needs the
// memory takes them away (evict), and they are computed again.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tidemark/base/check.h"
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/recording.h"
#include "tidemark/schedule/kinds/online.h"

namespace tidemark::scalars {

// A step, which takes the state before it to the state behind it, in place.
template <class T>
class StepFunction {
 public:
  virtual ~StepFunction() = default;
  virtual void run(std::span<BasicReal<T>> state, std::int64_t step) const = 0;
  virtual std::size_t bytes() const = 0;
};

template <class T, class F>
class HeldStep final : public StepFunction<T> {
 public:
  explicit HeldStep(F function) : function_(std::move(function)) {}
  void run(std::span<BasicReal<T>> state, [[maybe_unused]] std::int64_t step) const override {
    if constexpr (std::is_invocable_v<const F&, std::span<BasicReal<T>>, std::int64_t>)
      function_(state, step);
    else
      function_(state);
  }
  std::size_t bytes() const override { return sizeof *this; }

 private:
  F function_;
};

template <class T>
class Chain;

// The chains of one tape, and the bytes of all of them.
template <class T>
struct Chains {
  std::vector<Chain<T>*> all;
  std::size_t bytes = 0;
};

template <class T>
class Chain {
 public:
  using Real = BasicReal<T>;

  Chain(Chains<T>& chains, std::span<const Real> state, const SourceLine& where)
      : chains_(chains), where_(where), size_(state.size()) {
    chains_.all.push_back(this);
    account(sizeof *this);
    keep(0, state);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  ~Chain() {
    std::erase(chains_.all, this);
    chains_.bytes -= bytes_;
  }

  std::size_t size() const { return size_; }  // of a state
  std::size_t state_bytes() const { return size_ * sizeof(T) + sizeof(Kept); }
  const SourceLine& where() const { return where_; }  // the user's loop
  std::int64_t steps() const { return steps_; }
  std::size_t parts() const { return parts_.size(); }  // loops or single steps, each a function
  std::size_t bytes() const { return bytes_; }
  std::size_t optional() const { return kept_.size() - 1; }  // states that can be evicted
  std::int64_t last_kept() const { return kept_.back().step; }
  // Where a step has a statement for each entry, entries are always as far away; where it has more, they fall
  // behind, and what repeats are the steps from one to the next (forms.h).
  void set_step_statements(std::size_t count) { goes_over_its_state_ = count > size_ + size_ / 2; }
  bool goes_over_its_state() const { return goes_over_its_state_; }
  // Whether a step has events, and may have loops of its own.
  void set_loops_within(bool any) { loops_within_ = any; }
  bool loops_within() const { return loops_within_; }
  // What it takes to record `unit` steps at once, by the largest that was seen: an eighth more, since steps
  // differ and chunks are not filled to the last byte.
  void see_step(std::size_t bytes) { step_bytes_ = std::max(step_bytes_, bytes); }
  std::size_t record_bytes(std::int64_t unit) const {
    return static_cast<std::size_t>(unit) * (step_bytes_ + step_bytes_ / 8);
  }

  // `count` further steps, each by this function.
  void append(std::unique_ptr<const StepFunction<T>> function, std::int64_t count) {
    account(function->bytes() + 2 * sizeof(Part));
    parts_.push_back({steps_, std::move(function)});
    steps_ += count;
  }
  void pop_step() {
    steps_ = parts_.back().begin;
    unaccount(parts_.back().function->bytes() + 2 * sizeof(Part));
    parts_.pop_back();
  }
  void run(std::span<Real> state, std::int64_t step) const {
    const auto behind = std::upper_bound(parts_.begin(), parts_.end(), step,
                                         [](std::int64_t s, const Part& part) { return s < part.begin; });
    std::prev(behind)->function->run(state, step);
  }

  // State `step`, behind all that are kept.
  void keep(std::int64_t step, std::span<const Real> state) {
    TM_CHECK(kept_.empty() || step > kept_.back().step);
    Kept kept{step, std::make_unique_for_overwrite<T[]>(size_)};
    for (std::size_t i = 0; i < size_; ++i) kept.values[i] = state[i].value();
    kept_.push_back(std::move(kept));
    account(state_bytes());
  }
  // The last one that is kept, for steps that run without being recorded.
  void load(std::span<Real> state) const {
    for (std::size_t i = 0; i < size_; ++i) state[i] = Real(kept_.back().values[i], within_step);
  }
  // Forgets those behind state `step`.
  void drop_behind(std::int64_t step) {
    while (kept_.back().step > step) drop(kept_.size() - 1);
  }
  void drop_state(std::int64_t step) {
    for (std::size_t i = 1; i < kept_.size(); ++i)
      if (kept_[i].step == step) return drop(i);
  }
  // The one between the nearest neighbours goes.
  void evict() {
    TM_CHECK(optional() > 0);
    std::size_t least = 1;
    std::int64_t least_span = 0;
    for (std::size_t i = 1; i < kept_.size(); ++i) {
      const std::int64_t next = i + 1 < kept_.size() ? kept_[i + 1].step : std::max(steps_, kept_[i].step);
      const std::int64_t span = next - kept_[i - 1].step;
      if (i == 1 || span < least_span) {
        least = i;
        least_span = span;
      }
    }
    drop(least);
  }

  // For steps whose number is not known: what of the states is to be kept, by a policy for so many.
  void follow_online(std::int64_t slots) {
    online_.emplace(slots);
    account(static_cast<std::size_t>(schedule::Online::room_for(slots)));
  }
  schedule::Online* online() { return online_ ? &*online_ : nullptr; }

  // The state behind the last step, for who goes on with it.
  void set_end(std::span<const Real> state) {
    if (!end_) {
      end_ = std::make_unique_for_overwrite<T[]>(size_);
      account(size_ * sizeof(T));
    }
    for (std::size_t i = 0; i < size_; ++i) end_[i] = state[i].value();
  }
  bool ends_with(std::span<const Real> state) const {
    if (!end_ || state.size() != size_) return false;
    for (std::size_t i = 0; i < size_; ++i)
      if (std::memcmp(&end_[i], &state[i].value(), sizeof(T)) != 0) return false;
    return true;
  }
  // Nobody goes on with it.
  void close() {
    if (end_) unaccount(size_ * sizeof(T));
    end_.reset();
    if (online_) unaccount(static_cast<std::size_t>(schedule::Online::room_for(online_->slots())));
    online_.reset();
  }

 private:
  struct Part {
    std::int64_t begin = 0;
    std::unique_ptr<const StepFunction<T>> function;
  };
  struct Kept {
    std::int64_t step = 0;
    std::unique_ptr<T[]> values;
  };
  void account(std::size_t bytes) {
    bytes_ += bytes;
    chains_.bytes += bytes;
  }
  void unaccount(std::size_t bytes) {
    bytes_ -= bytes;
    chains_.bytes -= bytes;
  }
  void drop(std::size_t i) {
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    unaccount(state_bytes());
  }

  Chains<T>& chains_;
  SourceLine where_;
  std::size_t size_, bytes_ = 0;
  std::int64_t steps_ = 0;
  bool goes_over_its_state_ = false, loops_within_ = false;
  std::size_t step_bytes_ = 1;
  std::vector<Part> parts_;
  std::vector<Kept> kept_;  // by step; the first is state 0
  std::optional<schedule::Online> online_;
  std::unique_ptr<T[]> end_;
};

// Steps [first, first + count) of a chain, as an event. A tape reverses it (BasicTape::reverse_event).
template <class T>
class LoopEvent final : public Event<T> {
 public:
  LoopEvent(std::shared_ptr<Chain<T>> chain, std::int64_t first, std::int64_t count,
            std::span<const BasicReal<T>> operands)
      : chain_(std::move(chain)), first_(first), count_(count) {
    bool consecutive = true;
    for (std::size_t i = 0; i < operands.size(); ++i)
      consecutive &= operands[0].id() != 0 && operands[i].id() == operands[0].id() + i;
    if (!operands.empty()) base_ = operands[0].id();
    if (consecutive) return;
    ids_ = std::make_unique_for_overwrite<Id[]>(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) ids_[i] = operands[i].id();
  }
  void reverse(std::span<const T>, AdjointSink<T>&) override {
    TM_CHECK(false, "steps are reversed by their tape");
  }
  std::size_t bytes() const override {
    return sizeof *this + (ids_ ? chain_->size() * sizeof(Id) : std::size_t{0});
  }

  Chain<T>& chain() { return *chain_; }
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return first_ + count_; }
  Id operand(std::size_t i) const { return ids_ ? ids_[i] : base_ + i; }  // the state before the first step

  std::int64_t unit = 1;         // so many steps are recorded at once
  std::uint64_t end_digest = 0;  // of the state behind the last of them (state_digest.h)

 private:
  std::shared_ptr<Chain<T>> chain_;
  std::int64_t first_, count_;
  Id base_ = 0;
  std::unique_ptr<Id[]> ids_;  // none: consecutive
};

}  // namespace tidemark::scalars
