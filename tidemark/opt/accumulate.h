// add(s, contract(a, b)) → contract(a, b, s), and take_add likewise: where the product is read by the
// addition alone and s exists before it, the product can be added to s in place, and needs no memory of its
// own. So gradients that arrive on several paths are added up: those of a table that is both embedding and
// head are a product and a take_add. Exact: either op with a third operand is defined as the addition after
// it, bit for bit.
#pragma once
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph accumulate(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
