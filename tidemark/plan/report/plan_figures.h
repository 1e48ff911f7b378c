// The figures of a plan as JSON: what `tidemark plan --json` prints and the page shows.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "tidemark/plan/plan.h"

namespace tidemark {

int repeats_of(const Plan& plan);  // runs beyond the first of each node, for want of memory

// Loops, those within others too, of whose steps some run again to get states back; how often is a matter of
// their schedules. In words "steps of 2 loops", or nothing.
std::int64_t loops_run_again(const Graph& graph);
std::string steps_run_again(const Graph& graph);

// docs/cli.md says what they mean.
nlohmann::ordered_json plan_figures(const Graph& graph, const Plan& plan);

std::string time_text(double seconds);  // "50.16 ms", from 10 seconds on "101.7 s"

// One sentence: whether it fits, the memory, the time and what it is spent on.
std::string verdict(const Graph& graph, const Plan& plan);

}  // namespace tidemark
