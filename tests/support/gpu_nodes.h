// How many things a GPU is told to do by a plan: kernels, copies, clears and swaps, counted by running the
// commands without a GPU. Loops are run by their own kernels, on addresses that nobody follows.
#pragma once
#include <map>
#include <string>

#include "tidemark/plan/verify/verify.h"

namespace tidemark::testing {

struct GpuNodes {
  std::int64_t kernels = 0, products = 0, copies = 0, clears = 0, swaps = 0, host = 0;
  std::map<std::string, std::int64_t> by_name = {};  // what each computes, and how often

  std::int64_t all() const { return kernels + products + copies + clears + swaps + host; }
};

GpuNodes count_gpu_nodes(const Graph& graph, const VerifiedPlan& plan);

}  // namespace tidemark::testing
