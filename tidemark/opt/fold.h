// Constant folding: a node whose operands are all constants becomes a constant, if that does not make the
// graph larger. opt cannot run kernels, so the caller brings the evaluator (the engine passes
// cpu/interpret.h).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

// The results of an op on data. May throw Error (no kernel, a singular matrix, …): the node is then left
// alone.
using Evaluator = std::function<std::vector<Literal>(const Op&, std::span<const Literal>, const Attrs&)>;

inline constexpr std::int64_t max_folded_bytes = 4096;           // of all results of one node
inline constexpr std::int64_t max_fold_operand_bytes = 1 << 20;  // keeps folding quick
// Up to here a result is folded even if its operands have other uses; beyond, only in place of as many bytes
// of constants that nobody else reads. So a broadcast or iota is never written out.
inline constexpr std::int64_t always_folded_bytes = 16;

Graph fold(const Graph& graph, const KnownOps& ops, const Evaluator& evaluate);

}  // namespace tidemark
