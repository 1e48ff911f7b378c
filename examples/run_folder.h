// The checkpoints of an example's run, where `--folder` names a place for them. 12_gpt_on_text.cc does the
// same by hand.
#pragma once
#include <fmt/core.h>

#include <optional>
#include <string>

#include "tidemark/train/checkpoints.h"

class RunFolder {
 public:
  explicit RunFolder(const std::string& folder) {
    if (!folder.empty()) checkpoints_.emplace(folder);
  }

  // How many steps are done; the state is that behind them, the loader at the batch after them.
  template <class State, class Loader>
  std::int64_t resume(State& state, Loader& loader) const {
    const auto found = checkpoints_ ? checkpoints_->resume(state) : std::nullopt;
    if (!found) return 0;
    loader.seek(*found->position);
    fmt::print("goes on behind step {} of {}\n", found->step, found->path);
    return found->step;
  }

  template <class State, class Loader>
  void save(const State& state, const Loader& loader, std::int64_t done) const {
    if (checkpoints_) checkpoints_->save(state, {.step = done, .position = loader.position()});
  }

 private:
  std::optional<tidemark::TrainingCheckpoints> checkpoints_;
};
