// A bar over any range: how far a training run is, what it says of itself, and the memory it keeps to.
//
//   auto bar = td::progress(batches, {.name = "train"});
//   for (const auto& batch : bar) {
//     auto [next, loss] = step(state, batch);
//     bar.show("loss", loss.item()).show(step);
//   }
//
//   train  42% ━━━━━━━━╸─────────── 420/1000  loss 2.314  31.2 it/s  mem 61.3/64.0 MiB  recompute 12%
//
// On a terminal the line is drawn over and over, at most ten times a second; elsewhere (a file, a pipe) a
// line is added when a tenth of the way is done, or every half minute where the end is not known.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tidemark/engine/compile.h"

namespace tidemark {

struct ProgressOptions {
  std::string name = {};
  std::optional<std::int64_t> total = {};  // of rounds; none: what the range says, if it knows
  std::int64_t done = 0;                   // before this run, where one goes on
  std::ostream* out = nullptr;             // none: the standard error stream
  std::optional<int> columns = {};         // of the terminal; 0: it is none. None: asked of the system
  double (*seconds)() = nullptr;           // a clock; none: the system's steady one
};

class ProgressBar {
 public:
  explicit ProgressBar(ProgressOptions options);
  ~ProgressBar();  // the last line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // A number beside the bar, until it is shown anew.
  ProgressBar& show(std::string_view name, double value);
  // The memory of a function's latest plan, its budget, and how much of its time it computes things again.
  template <class F>
  ProgressBar& show(const Compiled<F>& step) {
    const PlannedGraph planned = step.plan();
    return show_plan(planned.plan);
  }
  ProgressBar& show_plan(const Plan& plan);

  void advance();  // a round is over
  void finish();   // the last line; what follows is not drawn
  std::string line() const;

 private:
  struct Shown {
    std::string name;
    double value;
  };
  double elapsed() const;
  bool is_due() const;
  void draw(bool last);

  ProgressOptions options_;
  std::int64_t done_ = 0;
  double start_ = 0, drawn_at_ = 0;
  std::int64_t drawn_done_ = 0;
  std::vector<Shown> shown_;
  std::string memory_;
  bool finished_ = false;
};

// A range with a bar. A range that is a temporary is kept inside.
template <class Range>
class Progress : public ProgressBar {
 public:
  Progress(Range&& range, ProgressOptions options)
      : ProgressBar(with_total(range, std::move(options))), range_(std::forward<Range>(range)) {}

  class End {};
  class Iterator {
   public:
    using Inner = decltype(std::begin(std::declval<std::remove_reference_t<Range>&>()));
    using Last = decltype(std::end(std::declval<std::remove_reference_t<Range>&>()));
    Iterator(Progress& bar, Inner at, Last end) : bar_(bar), at_(std::move(at)), end_(std::move(end)) {}
    decltype(auto) operator*() { return *at_; }
    Iterator& operator++() {
      ++at_;
      bar_.advance();
      return *this;
    }
    bool operator!=(End) {
      if (at_ != end_) return true;
      bar_.finish();
      return false;
    }

   private:
    Progress& bar_;
    Inner at_;
    Last end_;
  };
  Iterator begin() { return {*this, std::begin(range_), std::end(range_)}; }
  End end() { return {}; }

 private:
  static ProgressOptions with_total(const std::remove_reference_t<Range>& range, ProgressOptions options) {
    if constexpr (requires { range.left(); }) {  // a loader: an epoch may be half over when the loop begins
      if (!options.total) {
        options.total = options.done + range.size();
        options.done += range.size() - range.left();
      }
    } else if constexpr (requires { std::size(range); }) {
      if (!options.total) options.total = options.done + static_cast<std::int64_t>(std::size(range));
    }
    return options;
  }

  Range range_;  // a reference where the range was one
};

template <class Range>
Progress<Range> progress(Range&& range, ProgressOptions options = {}) {
  return {std::forward<Range>(range), std::move(options)};
}

}  // namespace tidemark
