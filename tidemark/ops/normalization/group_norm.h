// Group normalisation of x (N, C, …): each example's channels in `groups` equal groups, each group normalised
// over its channels and all later dimensions; gain and bias (C). Statistics (N, groups) are further results
// (see normalize.h).
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct GroupNormAttrs {
  std::int64_t groups = 1;
  double eps = 1e-5;
  TM_FIELDS(GroupNormAttrs, groups, eps)
};

Var group_norm(const Var& x, const Var& gain, const Var& bias, std::int64_t groups, double eps = 1e-5);

struct NormForm;
NormForm group_norm_form(const Call& call);

}  // namespace tidemark
