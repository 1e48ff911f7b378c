#include "tidemark/optim/groups.h"

#include "tidemark/trace/functions.h"
#include "tidemark/trace/name_pattern.h"

namespace tidemark::optim {
namespace {

[[noreturn]] void fail_unmatched(const std::string& pattern, const std::vector<std::string>& names,
                                 SourceLine where) {
  constexpr std::size_t most = 60;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) list += fmt::format(" and {} more", names.size() - most);
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("the pattern '{}' of a group matches no parameter", pattern),
        .expected = "one that matches some of " + list,
        .where = where,
        .help = "`*` stands for any text, `?` for one character; names are the paths of TM_FIELDS"});
}

// Which parameters the group is about.
std::vector<std::size_t> members_of(const Group& group, const std::vector<std::string>& names,
                                    SourceLine where) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (matches_name(group.pattern, names[i])) members.push_back(i);
  }
  if (members.empty()) fail_unmatched(group.pattern, names, where);
  return members;
}

bool is_frozen(const std::vector<bool>& frozen, std::size_t i) { return i < frozen.size() && frozen[i]; }

}  // namespace

Tensor Chosen::rate_in(DType dtype) const { return cast(rate, dtype); }

Tensor Chosen::decayed(const Tensor& w) const {
  if (weight_decay == 0) return w;
  const Tensor share = rate * weight_decay;
  return w * cast(1.0 - share, w.dtype());
}

Tensor Chosen::with_decay(const Tensor& g, const Tensor& w) const {
  return weight_decay == 0 ? g : g + w * weight_decay;
}

std::vector<bool> frozen_among(const Groups& groups, const std::vector<std::string>& names,
                               SourceLine where) {
  std::vector<bool> frozen(names.size(), false);
  for (const Group& group : groups) {
    for (const std::size_t i : members_of(group, names, where)) frozen[i] = group.frozen.value_or(frozen[i]);
  }
  return frozen;
}

void check_trained(const std::vector<bool>& frozen, const std::vector<std::string>& names,
                   const Tensors& parameters, SourceLine where) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& w = parameters[i];
    if (frozen[i] || w.empty() || is_float(w.dtype())) continue;
    fail(
        ErrorCode::not_differentiable,
        {.what = fmt::format("the parameter `{}` is {} and cannot be trained", names[i], to_string(w.type())),
         .expected = "floating-point tensors, or frozen ones",
         .where = where,
         .help = fmt::format("freeze it: .groups = {{{{.pattern = \"{}\", .frozen = true}}}}", names[i])});
  }
}

Tensors trained_of(const Tensors& all, const std::vector<bool>& frozen) {
  Tensors trained;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_frozen(frozen, i)) trained.push_back(all[i]);
  }
  return trained;
}

Tensors with_trained(Tensors all, const Tensors& trained, const std::vector<bool>& frozen) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_frozen(frozen, i)) all[i] = trained.at(next++);
  }
  return all;
}

std::vector<Chosen> choose(const Settings& settings, const std::vector<std::string>& names,
                           const Tensors& parameters, const Tensor& before, SourceLine where) {
  require_rate(settings.weight_decay, "weight_decay", where);
  const std::vector<bool> frozen = frozen_among(settings.groups, names, where);
  check_trained(frozen, names, parameters, where);
  std::vector<Chosen> chosen;
  const Tensor rate = settings.lr.at(before, where);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool decays = parameters[i].rank() >= settings.decay_rank;
    chosen.push_back({.rate = rate, .weight_decay = decays ? settings.weight_decay : 0, .frozen = frozen[i]});
  }
  for (const Group& group : settings.groups) {
    if (group.weight_decay) require_rate(*group.weight_decay, "weight_decay", where);
    const Tensor own = group.lr ? group.lr->at(before, where) : Tensor();
    for (const std::size_t i : members_of(group, names, where)) {
      if (group.lr) chosen[i].rate = own;
      if (group.weight_decay) chosen[i].weight_decay = *group.weight_decay;
    }
  }
  return chosen;
}

}  // namespace tidemark::optim
