#include "tidemark/plan/report/explain.h"

namespace tidemark {
namespace {

constexpr double mib = 1048576.0;
constexpr std::string_view decision_names[decision_count] = {
    "argument", "result", "kept", "recomputed", "compressed", "host", "disk", "inverted", "fused", "brief"};
constexpr std::string_view basis_names[] = {"edited", "planned", "estimate", "none"};

}  // namespace

std::string_view name_of(Decision decision) { return decision_names[static_cast<std::size_t>(decision)]; }
std::string_view name_of(Basis basis) { return basis_names[static_cast<std::size_t>(basis)]; }

std::optional<double> Alternative::seconds_per_mib() const {
  if (peak_change >= 0) return {};
  return seconds_change / (static_cast<double>(-peak_change) / mib);
}

double BudgetPrice::seconds_per_mib() const {
  return change == 0 ? 0 : seconds_change / (static_cast<double>(change) / mib);
}

}  // namespace tidemark
