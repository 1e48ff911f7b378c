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

std::vector<Chosen> choose(const Settings& settings, const std::vector<std::string>& names,
                           const Tensors& parameters, const Tensor& before, SourceLine where) {
  std::vector<Chosen> chosen;
  const Tensor rate = settings.lr.at(before, where);
  for (const Tensor& w : parameters) {
    chosen.push_back(
        {.rate = rate, .weight_decay = w.rank() >= settings.decay_rank ? settings.weight_decay : 0});
  }
  for (const Group& group : settings.groups) {
    const Tensor own = group.lr ? group.lr->at(before, where) : Tensor();
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!matches_name(group.pattern, names[i])) continue;
      any = true;
      if (group.lr) chosen[i].rate = own;
      if (group.weight_decay) chosen[i].weight_decay = *group.weight_decay;
      chosen[i].frozen = chosen[i].frozen || group.frozen;
    }
    if (!any) fail_unmatched(group.pattern, names, where);
  }
  return chosen;
}

}  // namespace tidemark::optim
