// What attention and its gradient cost on the CPU.
#pragma once
#include <algorithm>

#include "tidemark/ir/target.h"
#include "tidemark/ops/attention/attention.h"

namespace tidemark {

// Query rows times the keys they see, and what strips of them compute beyond the diagonal.
inline double attention_pairs(const AttentionForm& f) {
  const double queries = static_cast<double>(f.queries), keys = static_cast<double>(f.keys);
  const double seen = f.causal ? keys - (queries - AttentionForm::strip) / 2 : keys;
  return static_cast<double>(f.batch * f.heads) * queries * std::clamp(seen, 0.0, keys);
}

template <int products>
Cost attention_cost(const Call& call) {
  const AttentionForm f = attention_form(call);
  const double drawing = f.key < 0 ? 0 : 40;  // about as long as so many additions of products
  return {.flops = attention_pairs(f) * (2.0 * products * static_cast<double>(f.width) + 20 + drawing),
          .bytes = bytes_moved(call),
          .work = WorkKind::attention};
}

}  // namespace tidemark
