// Batch norms of columns in parts (ops/normalization/norm_columns.h), for targets that compute those best
// (Target::splits_norms): sums down the columns are kernels of their own, and what is made element by element
// joins the groups of what follows (ReLU, a residual sum) and precedes it.
//
//   batch_norm(x)                              column_statistics(x), normalize_columns(x)
//   batch_norm_params(x, g)                    column_slopes(x, g)
//   batch_norm_grad(x, g)                      column_slopes(x, g), normalize_columns_grad(x, g)
//   the last two, g = select(relu(y) > 0, h)   the same of h, where both know the mask from x
//
// Where x (rows, C) is (…, C) reshaped, as images with channels last are, all of it is made in that shape.
#pragma once
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph split_norms(const Graph& graph, const KnownOps& ops);
// Is there anything for it, in regions too?
bool has_column_norms(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
