// What the page of a plan shows (page.h), as compact JSON: tables as columns, texts once, numbers as the
// functions give them that the summary and the command use. docs/page.md describes the page.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark {

struct Machine;
struct Target;

// A plan among those that the page's slider goes over.
struct PagePlan {
  const Graph& graph;
  const Plan& plan;
};

struct PageContent {
  std::string title = {};               // the model, or the function
  std::vector<PagePlan> plans = {};     // by peaks, rising; none: the page is about its staircases
  std::size_t current = 0;              // the one that was asked for
  const Target* target = nullptr;       // of all of them
  const Machine* machine = nullptr;     // whose times count
  std::vector<std::string> notes = {};  // for people, below the verdict
  // Objects of JSON as others write them: the staircases of loops, or of a schedule (schedule/staircase.h);
  // of the current plan, its explanation and a profile of its runs. Empty: there is none.
  std::vector<std::string> staircases = {};
  std::string explanation = {}, profile = {};
};

nlohmann::ordered_json page_data(const PageContent& content);

}  // namespace tidemark
