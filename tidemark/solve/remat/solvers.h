// The searches for recomputation by name: which there are and why, which of them are asked, and what each
// contributed. All of them together are the portfolio (portfolio.cc); leaving some out shows what the others
// are worth.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

struct SolverInfo {
  std::string_view name;
  std::string_view needs;  // when it is asked at all
  std::string_view why;    // it stands where it stands
};
// In the order in which they are asked.
std::vector<SolverInfo> solver_list();

// Which solvers are asked: all, unless said otherwise.
class SolverChoice {
 public:
  SolverChoice() = default;
  // Those in `only`, or all where it is empty, but none in `without`. Throws Error for a name that no solver
  // has.
  SolverChoice(const std::vector<std::string>& only, const std::vector<std::string>& without);

  bool has(std::size_t row) const { return (left_out_ >> row & 1) == 0; }  // as numbered in solver_list()

 private:
  std::uint32_t left_out_ = 0;  // bit by bit
};

// What a solver did, in one search or in several.
struct SolverRecord {
  std::string_view name;
  bool chosen = true;
  std::int64_t runs = 0;
  std::int64_t work_units = 0;  // about a microsecond each
  std::int64_t improved = 0;    // how often it found the cheapest sequence so far
  // Of the cheapest sequence before and after the latest run that improved it. None before: that run found
  // the first.
  std::optional<double> cost_before = {}, cost_after = {};
};
using SolverLog =
    std::vector<SolverRecord>;  // one per solver, in their order; or empty: nothing was searched

SolverLog empty_log(const SolverChoice& choice);
void add_to_log(SolverLog& log, const SolverLog& later);

}  // namespace tidemark
