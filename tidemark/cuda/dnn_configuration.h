// Engines of cuDNN's with their knobs set: those that it advises for an operation, and one by its numbers.
#pragma once
#include <optional>
#include <vector>

#include "tidemark/cuda/dnn_library.h"
#include "tidemark/cuda/engine_choice.h"
#include "tidemark/ir/type.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {

// What the heuristics advise for a graph of operations, best first.
std::vector<DnnDescription> advised(const DnnFunctions& functions, const DnnDescription& graph,
                                    cudnnBackendHeurMode_t mode);

DnnDescription engine_of(const DnnFunctions& functions, const DnnDescription& configuration);
// The library's own; -1: it does not say.
std::int64_t number_of(const DnnFunctions& functions, const DnnDescription& engine);

// Does the engine keep our promises: sums in a fixed order, nothing rounded on the way?
bool keeps_promises(const DnnFunctions& functions, const DnnDescription& engine, DType dtype);

// The numbers of a configuration; none: the library does not say all of them.
std::optional<EngineChoice> choice_of(const DnnFunctions& functions, const DnnDescription& configuration);

// The configuration of these numbers; not good() where this library has none such for the graph.
struct DnnConfiguration {
  DnnDescription engine;
  std::vector<DnnDescription> knobs;
  DnnDescription configuration;
  bool good() const { return configuration.good(); }
};
DnnConfiguration configuration_of(const DnnFunctions& functions, const DnnDescription& graph,
                                  const EngineChoice& choice);

}  // namespace tidemark::cuda

#endif
