// add(contract(a, b), row) → contract(a, b, row as all rows), where the product is read by the addition
// alone: a layer's bias becomes part of its product. For targets whose products add a row for nothing
// (Target::adds_rows); elsewhere the addition is better off in a group with what reads it.
#pragma once
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph add_rows_in_products(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
