#include "tidemark/engine/memory_prices.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/engine/inverse_search.h"

namespace tidemark {
namespace {

constexpr std::int64_t part = 16;

std::int64_t sixteenth(std::int64_t bytes) { return std::max<std::int64_t>(1, bytes / part); }

// An amount of memory that people count in, at least as large as any single step of the bytes given.
struct PriceUnit {
  std::string_view name;
  double bytes;
};
PriceUnit price_unit_of(std::int64_t bytes) {
  PriceUnit unit{"KiB", 1024};
  for (const PriceUnit& larger : {PriceUnit{"MiB", 1048576.0}, PriceUnit{"GiB", 1073741824.0}}) {
    if (static_cast<double>(bytes) >= larger.bytes) unit = larger;
  }
  return unit;
}

}  // namespace

std::vector<MemoryPrice> memory_prices(const Graph& traced, const std::optional<Lossy>& lossy,
                                       const std::vector<std::string>& skip, const PlanOptions& options,
                                       SourceLine where) {
  PlanOptions quick = options;
  quick.one_round = true;
  quick.effort = quick.effort.at_most(Effort::quick);
  quick.floor = false;
  quick.after = {};
  quick.warm_start.clear();
  PlanWithValues base = plan_with_values(traced, lossy, skip, quick);
  if (!base.plan) {  // with little effort
    quick.effort = options.effort;
    quick.floor = options.floor;
    base = plan_with_values(traced, lossy, skip, quick);
    if (!base.plan) throw InfeasibleBudget(base.graph, base.plan.error(), where);
  }
  const double seconds = base.plan.value().seconds;
  std::vector<MemoryPrice> prices;
  const auto price = [&](std::string name, std::int64_t budget, const PlanOptions& more) {
    const PlanWithValues found = plan_with_values(traced, lossy, skip, more);
    // What fits fits in more.
    const double then = found.plan ? std::min(seconds, found.plan.value().seconds) : seconds;
    prices.push_back({.memory = std::move(name),
                      .budget = Bytes(budget),
                      .more = Bytes(sixteenth(budget)),
                      .seconds = seconds,
                      .seconds_saved = seconds - then});
  };
  PlanOptions more = quick;
  more.memory = *quick.memory + sixteenth(*quick.memory);
  price(std::string(first_memory_name), *quick.memory, more);
  for (std::size_t k = 0; k < quick.tiers.size(); ++k) {
    const std::int64_t bytes = quick.tiers[k].bytes;
    more = quick;
    more.tiers[k].bytes = bytes + sixteenth(bytes);
    price(quick.tiers[k].memory, bytes, more);
  }
  return prices;
}

std::string to_text(const std::vector<MemoryPrice>& prices) {
  std::string text;
  for (const MemoryPrice& price : prices) {
    const PriceUnit unit = price_unit_of(price.budget.count);
    const double share = price.seconds > 0 ? price.seconds_saved / price.seconds : 0;
    text += fmt::format("{:<18}{} more of {} saves {:.2f}% of the time: {:.3g} ms for each {}\n",
                        text.empty() ? "prices" : "", to_string(price.more), price.memory, 100 * share,
                        1e3 * price.seconds_per_byte() * unit.bytes, unit.name);
  }
  return text;
}

}  // namespace tidemark
