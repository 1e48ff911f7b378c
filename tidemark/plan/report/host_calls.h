// Calls of a plan that the device hands to the CPU (Target::on_host): slow, so that a report names each with
// its line and what is copied for it.
#pragma once
#include <string>
#include <vector>

#include "tidemark/base/source.h"

namespace tidemark {

class Graph;
struct Plan;
struct Target;

// Calls of one op on one line.
struct HostCall {
  std::string op;
  SourceLine where = {};
  std::int64_t runs = 0;   // in one run of the plan; those of a loop's body count once
  std::int64_t bytes = 0;  // copied there and back, by all of these
  bool in_region = false;  // some of them are run by a loop or a branch, as often as it says
};

// The one that copies most first; regions' calls too.
std::vector<HostCall> host_calls(const Graph& graph, const Plan& plan, const Target& target);

// A line of the summary, empty where there is none:
//   no kernel there   3 calls run on the CPU, with copies of 1.2 MiB: svd (model.cc:12), …
std::string to_text(const std::vector<HostCall>& calls);

}  // namespace tidemark
