// Built-in models as graphs of one training step (loss, gradients, plain gradient descent, parameters donated): what
// `tidemark plan NAME` plans, what golden plans pin down. Built from types alone: no parameter is ever allocated.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tidemark/ir/graph.h"

namespace tidemark::nn {

struct ZooModel {
  std::string_view name;
  std::string_view about;
  std::int64_t default_batch;
  Graph (*training_step)(std::int64_t batch);
};

std::span<const ZooModel> zoo();
const ZooModel* find_in_zoo(std::string_view name);  // nullptr when there is none

}  // namespace tidemark::nn
