// vmap as a graph-to-graph transformation.
//
//   f: (x…) → (y…)        vmap_graph(f, axes, size): (x…, with a dimension more where they are mapped) → (y…
//                         of all examples)
//
// A call that reads a mapped value is written for all examples at once by its op's rule (rules.h); without
// one, by the rules of what its op is written in (Op::expand); and where there is neither, as a loop over the
// examples, which every op has.
#pragma once
#include "tidemark/autodiff/vmap/mapped.h"

namespace tidemark {

// `axes`: per input the dimension of the examples, -1 for one that is the same for all. Every output has its
// examples along `out_axis`, which counts from the end if it is negative.
Graph vmap_graph(const Graph& f, std::span<const int> axes, std::int64_t size, int out_axis = 0);

// The outputs of f, written to the builder's graph; `in` stands for its inputs.
std::vector<MappedVar> map_examples(Builder& builder, const Graph& f, std::span<const MappedVar> in,
                                    std::int64_t size);

// The call as a loop over the examples.
std::vector<MappedVar> one_by_one(const VmapCall& call);

// A region for all examples: what is mapped has its examples in front. Outputs that are in `whole` are mapped
// in any case.
struct MappedRegion {
  Graph graph;
  std::vector<bool> mapped;  // per output
};
MappedRegion map_region(const Graph& region, const std::vector<bool>& mapped, std::int64_t size,
                        const std::vector<bool>& whole = {});

}  // namespace tidemark
