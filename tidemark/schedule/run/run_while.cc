// Runs of a length that is not known before: the online policy keeps states while the loop goes, and is
// finished when it ends. The end is written to the journal, so that it is never asked for twice.
#include <fmt/format.h>

#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/online.h"
#include "tidemark/schedule/run/run_session.h"

namespace tidemark::schedule::detail {

namespace {

// The policy as one stream: step by step until `end` is called, then the reversal.
class OnlineStream final : public ActionStream {
 public:
  explicit OnlineStream(std::int64_t slots) : online_(slots) {}

  bool between_steps() const { return at_ == step_actions_.size(); }
  Step step() const { return step_; }  // the next to be taken
  void end(Step steps) { length_ = steps; }
  Step advances_to_finish() const { return online_.advances_to_finish(*length_); }

  bool next(Action& action) override {
    if (between_steps() && !reversal_) begin_step();
    if (reversal_) return reversal_->next(action);
    action = step_actions_[at_++];
    return true;
  }

 private:
  void begin_step() {
    if (length_ && step_ == *length_) {
      reversal_ = online_.finish(step_);
      return;
    }
    const std::span<const Action> kept = online_.visit(step_);
    step_actions_.assign(kept.begin(), kept.end());
    step_actions_.push_back({ActionKind::advance, working, 0, step_, step_ + 1});
    at_ = 0;
    ++step_;
  }

  Online online_;
  Step step_ = 0;
  std::optional<Step> length_;
  std::vector<Action> step_actions_;
  std::size_t at_ = 0;
  std::unique_ptr<ActionStream> reversal_;
};

constexpr const char* plan = "{}";  // the levels say it all

std::int64_t slots_of(const Simulation& simulation, const RunOptions& options) {
  if (options.levels.size() != 1 || (options.levels[0].slots < 1 && options.levels[0].bytes.count < 0))
    fail(ErrorCode::bad_run_option, {.what = "a loop of unknown length keeps its states on one level",
                                     .expected = "one level, with slots or bytes"});
  if (options.levels[0].slots > 0) return options.levels[0].slots;
  const auto state =
      options.state_bytes > 0 ? options.state_bytes : static_cast<std::int64_t>(simulation.state_bytes());
  const std::int64_t slots = options.levels[0].bytes.count / std::max<std::int64_t>(state, 1);
  if (slots < 1)
    fail(ErrorCode::infeasible_budget,
         {.what = fmt::format("{} hold no state", to_string(options.levels[0].bytes)),
          .expected = fmt::format("at least {}", to_string(Bytes(state)))});
  return slots;
}

}  // namespace

Report run_while(Simulation& simulation, const std::function<bool(Step)>& more, const RunOptions& options) {
  refuse_memory_left(options, "a loop of unknown length");
  const std::int64_t slots = slots_of(simulation, options);
  RunFolders folders(options);
  const Resumable resumable = look_for_run(simulation, -1, options, folders);
  Promise promise;
  promise.kind = Kind::online;
  promise.slots = {slots};
  Session session(simulation, promise, options, folders);

  OnlineStream stream(slots), scout(slots);
  std::optional<Step> length = resumable.journaled ? resumable.journaled->length : std::nullopt;
  if (resumable.journaled && resumable.journaled->plan != plan)
    refuse_journal(folders.journal(), "it is of a run whose length was known");
  const auto known = [&](Step steps) {
    length = steps;
    stream.end(steps);
    Promise& promised = session.report().promise;
    promised.steps = promised.recorded = steps;
  };
  if (length) {
    scout.end(*length);
    known(*length);
  }
  Lookahead lookahead(stream, session.in_files());
  try {
    if (length)
      session.start(
          resumable, plan, scout, [&](Action& action) { return lookahead.next(action); },
          [&] { return lookahead.peek(); });
    else  // nothing is loaded before the end is known
      session.start(
          resumable, plan, scout, [&](Action& action) { return stream.next(action); },
          []() -> const Action* { return nullptr; });
    while (!length) {
      if (stream.between_steps() && !more(stream.step())) {
        known(stream.step());
        session.ended(*length);
        break;
      }
      Action action;
      stream.next(action);
      session.perform(action);
    }
    if (*length == 0)
      simulation.seed();
    else
      session.perform(lookahead);
  } catch (...) {
    session.abandon();
    throw;
  }
  if (*length > 0) session.report().promise.advances = *length + stream.advances_to_finish();
  return session.close();
}

}  // namespace tidemark::schedule::detail
