// Groups of parameters, by the names that they have in their tree: another rate, another decay, none at all.
//
// Example, as in docs/optimizers.md:
//   const optim::AdamW adamw{.lr = 1e-3,
//                            .groups = {{.pattern = "*.gain", .weight_decay = 0},
//                                       {.pattern = "embedding.*", .lr = 1e-4}}};
//
// Patterns are those of trace/name_pattern.h. Where several match, each setting is that of the last. A
// pattern that matches nothing is an error.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/optim/schedule.h"
#include "tidemark/optim/settings.h"
#include "tidemark/optim/state.h"

namespace tidemark::optim {

struct Group {
  std::string pattern;
  std::optional<Schedule> lr = {};
  std::optional<double> weight_decay = {};  // whatever the rank
  // Neither it nor its moments change, and its gradient is not computed. `false` trains again what a group
  // before froze.
  std::optional<bool> frozen = {};
};
using Groups = std::vector<Group>;

// What an optimizer's settings come to for one parameter at one update.
struct Chosen {
  Tensor rate;  // f64, rank 0
  double weight_decay = 0;
  bool frozen = false;

  Tensor rate_in(DType dtype) const;
  // w (1 - rate · weight_decay); w where nothing decays.
  Tensor decayed(const Tensor& w) const;
  // g + weight_decay · w, for optimizers whose decay is part of the gradient.
  Tensor with_decay(const Tensor& g, const Tensor& w) const;
};

// Which parameters are frozen, in the order of their tree.
std::vector<bool> frozen_among(const Groups& groups, const std::vector<std::string>& names, SourceLine where);
template <class Parameters>
std::vector<bool> frozen_of(const Groups& groups, const Parameters& parameters, SourceLine where) {
  return frozen_among(groups, parameter_lists(parameters).names(), where);
}
// Throws Error `not_differentiable` for a tensor that is not frozen and not of floating point.
void check_trained(const std::vector<bool>& frozen, const std::vector<std::string>& names,
                   const Tensors& parameters, SourceLine where);

// Those of a list like the parameters that are not frozen, and the list with others in their place.
Tensors trained_of(const Tensors& all, const std::vector<bool>& frozen);
Tensors with_trained(Tensors all, const Tensors& trained, const std::vector<bool>& frozen);

// Of an optimizer, or of the one inside: clip_norm, with_ema and scale_loss have none of their own.
template <class Optimizer>
const Groups& groups_of(const Optimizer& optimizer) {
  if constexpr (requires { requires std::is_same_v<const Groups&, decltype((optimizer.groups))>; }) {
    return optimizer.groups;
  } else if constexpr (requires { optimizer.optimizer; }) {
    return groups_of(optimizer.optimizer);
  } else {
    static const Groups none;
    return none;
  }
}

// The settings that all optimizers have. Tensors of fewer dimensions than decay_rank (biases, gains) do not
// decay, unless a group says so. `before`: updates made before this one.
struct Settings {
  const Schedule& lr;
  double weight_decay = 0;
  int decay_rank = 2;
  const Groups& groups;
};
std::vector<Chosen> choose(const Settings& settings, const std::vector<std::string>& names,
                           const Tensors& parameters, const Tensor& before, SourceLine where);

}  // namespace tidemark::optim
