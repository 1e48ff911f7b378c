// A relaxation of recomputation that falls apart into one small problem per item, and so bounds the cost from
// below.
//
// Probes are tasks whose first runs come in one order in every sequence. They cut a sequence into stages;
// stage k ends with the first run of probe k:
//
//   stage     0        1           2       …    K
//   ├────────p0┼───────p1┼─────────p2┼─ … ┼────────┤
//   item x      ├ made ──┤ dropped  ├ made again, for a use in stage 2
//
// Per item and stage: is it alive when the stage begins, is it made again within? Two kinds of rows tie items
// together, and both are priced instead of kept (Lagrange): what is alive at a probe fits into the budget;
// what makes an item again has its operands in the same stage. Any prices give a bound; good ones are found
// by subgradient steps. With every task a probe the best prices give the bound of the linear program of
// Checkmate (MLSys 2020), without its size.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tidemark/solve/remat/problem.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {

class RematRelaxation {
 public:
  // Probes in the order of their first runs. The first `prior` tasks have run before all stages and need
  // not run again; of their results those marked present are alive at the start. Without `operands` only the
  // budget is priced: less work for large problems, and a weaker bound.
  RematRelaxation(const RematProblem& problem, std::span<const int> probes, bool operands = true,
                  int prior = 0);

  // Looks for better prices, spending about `work` visits of an item in a stage. `target`: the cost of
  // repeated runs in some sequence, if one is known. Returns the best bound on that cost so far; infinity if
  // the budget cannot be met.
  double improve(std::int64_t work, double target = std::numeric_limits<double>::infinity(),
                 SearchControl* control = nullptr);
  double bound() const { return best_ * (1 - 1e-10) * scale_; }
  // Visits of one evaluation.
  std::int64_t size() const { return static_cast<std::int64_t>(again_.size() + prices_.operand.size()); }

  // The bound, had all from stage k on been fixed and left a set of items to be present in stage k: a
  // constant per k and an addend per item of the set. Two such bounds: with and without prices for operands
  // in stage k.
  class Potentials {
   public:
    double constant(int which, int k) const { return constant_[at(which)][at(k)]; }
    double wanted(int which, int k, int item) const {
      return wanted_[at(which)][at(k) * at(items_) + at(item)];
    }

   private:
    friend class RematRelaxation;
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    int items_ = 0;
    std::vector<double> constant_[2], wanted_[2];
  };
  Potentials potentials();

 private:
  struct Span {
    int made = 0;                    // the stage in which it is there for nothing; -1: before all stages
    int last = -1;                   // the last stage of interest
    int until = -1;                  // the last stage in which it may be made again
    bool at_start = true;            // if made before all stages: is it alive then?
    bool charged_when_made = false;  // counts at the probe that ends stage `made`
    std::size_t cell = 0;            // of the stage after `made`
    double bytes = 0;                // as a part of the budget
    double cost = 0;                 // its part of its maker's, as a part of all tasks'
    std::size_t first_link = 0, last_link = 0;
  };
  struct Link {                            // an operand of the item's maker
    int operand = 0, first = 0, last = 0;  // stages in which the row exists
    std::size_t price = 0;                 // of the first of them
  };
  struct Prices {
    std::vector<double> memory;   // per probe
    std::vector<double> operand;  // per link and stage
  };

  void make_spans(const RematProblem& problem, std::span<const int> probes, int prior);
  void make_links(const RematProblem& problem);
  void make_rows(const RematProblem& problem, std::span<const int> probes);
  void price_cells();
  double evaluate();
  void climb(std::int64_t rounds, double target, SearchControl* control);
  double at_first(const Span& span) const;
  double item_value(const Span& span);
  void trace(const Span& span);
  double length_of(const Prices& mean) const;
  double blend(Prices& mean, double weight) const;
  std::size_t cell(const Span& span, int stage) const {
    return span.cell + static_cast<std::size_t>(stage - span.made - 1);
  }

  int probes_ = 0;
  bool operands_ = true;                // price them?
  double scale_ = 1;                    // of costs
  double memory_scale_ = 1;             // of the budget's rows: a typical item
  std::vector<int> earliest_, latest_;  // per task: stages its first run may be in
  std::vector<Span> spans_;
  std::vector<Link> links_;
  std::vector<double> over_;            // per probe: what it takes itself, less the budget
  std::vector<unsigned char> forced_;   // per cell: there is a use
  std::vector<unsigned char> charged_;  // per cell: counts at the probe that ends the stage
  std::vector<unsigned char> choice_, present_, remade_;
  std::vector<double> again_, credit_;  // per cell: price of making it again; worth of being present
  Prices prices_, best_prices_, slope_;
  double best_ = 0;
};

}  // namespace tidemark
