// Reductions of a strided tensor over axes, in an order that depends on shape and axes alone:
//
//   elements of a result ── row-major over the reduced axes ──▶ chunks (1 or 16 Ki) ──▶ blocks (≤ 1024, 16
//   lanes)
//
// Blocks never cross from one index of the outer reduced axes to the next. Block results are combined one
// after the other inside a chunk, chunks one after the other, both in f64 (i64 for integers). Threads share
// results, or, when there are few, chunks, whose partial results lie in scratch.
#pragma once
#include "tidemark/kernel/args.h"

namespace tidemark {

enum class Reduction : std::uint8_t { sum, mean, max, min, prod, logsumexp, var };

// Bytes `reduce` may use. Depends on shape and axes alone.
std::int64_t reduce_scratch(const Shape& shape, const Dims& axes);

// `axes` ascending. `to` is dense, with the reduced dimensions left out or of size 1.
void reduce(Reduction reduction, const TensorRef& from, const Dims& axes, const TensorRef& to,
            std::byte* scratch, ThreadPool& pool);

class FusedProgram;

// The same, in the same order, of a dense tensor of `shape` whose elements `program` makes while they are
// folded, each once. One pass over the elements, and in runs: neither var nor logsumexp.
void reduce_made(Reduction reduction, const Shape& shape, const Dims& axes, const TensorRef& to,
                 const FusedProgram& program, const KernelArgs& args);
// Whether the elements of a dense tensor are folded in runs that lie side by side and are worth a tile.
bool reduces_in_runs(const Shape& shape, const Dims& axes);

}  // namespace tidemark
