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
#include "tidemark/optim/state.h"

namespace tidemark::optim {

struct Group {
  std::string pattern;
  std::optional<Schedule> lr = {};
  std::optional<double> weight_decay = {};  // whatever the rank
  bool frozen = false;                      // neither it nor its moments change; nobody asks for its gradient
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
