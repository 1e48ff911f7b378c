// add(contract(a, b), row) → contract(a, b, row as all rows), where the product is read by the addition
// alone: a layer's bias becomes part of its product. Likewise an input of the graph or of a region, whole:
// what the inputs of a recurrent layer add to a step's product. (What is made before the product is added by
// opt/accumulate.h.) For targets whose products add for nothing (Target::adds_rows); elsewhere the addition
// is better off in a group with what reads it.
#pragma once
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph add_rows_in_products(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
