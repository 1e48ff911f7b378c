// The explanation of a plan as JSON. Figures that `tidemark plan --json` has too are under the same names.
#include <nlohmann/json.hpp>

#include "tidemark/plan/report/explain.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::optional<Decision>& decision) {
  return decision ? Json(name_of(*decision)) : Json(nullptr);
}
double percent_above(double seconds, double least) { return least > 0 ? 100 * (seconds / least - 1) : 0; }

Json call_json(const ExplainedCall& call) {
  return {{"node", call.node}, {"op", call.op}, {"where", call.where}, {"backward", call.backward}};
}

Json alternative_json(const Alternative& other) {
  const bool has_plan = other.basis == Basis::edited || other.basis == Basis::planned;
  return {{"decision", name_of(other.decision)},
          {"basis", name_of(other.basis)},
          {"fits", has_plan ? Json(other.fits) : Json(nullptr)},
          {"peak", has_plan ? Json(other.peak) : Json(nullptr)},
          {"peak_change", has_plan ? Json(other.peak_change) : Json(nullptr)},
          {"seconds_change", other.basis == Basis::none ? Json(nullptr) : Json(other.seconds_change)},
          {"seconds_per_mib", or_null(other.seconds_per_mib())},
          {"why", other.why}};
}

Json value_json(const ExplainedValue& value) {
  Json json = {{"value", value.value},
               {"name", value.name},
               {"type", value.type},
               {"bytes", value.bytes},
               {"role", name_of(value.role)},
               {"region", value.region},
               {"producer", value.producer ? call_json(*value.producer) : Json(nullptr)},
               {"consumers", Json::array()},
               {"crosses", value.crosses},
               {"at_peak", value.at_peak},
               {"decision", name_of(value.decision)},
               {"runs", value.runs},
               {"waiting_bytes", value.waiting_bytes},
               {"seconds", value.seconds},
               {"cost_seconds", value.cost_seconds},
               {"why", value.why},
               {"alternatives", Json::array()},
               {"with_less", or_null(value.with_less)},
               {"with_more", or_null(value.with_more)}};
  for (const ExplainedCall& call : value.consumers) json["consumers"].push_back(call_json(call));
  for (const Alternative& other : value.alternatives) json["alternatives"].push_back(alternative_json(other));
  return json;
}

Json hint_json(const HintReport& hint) {
  return {{"kind", name_of(hint.kind)},    {"name", hint.name},     {"where", short_form(hint.where)},
          {"honoured", hint.honoured},     {"reason", hint.reason}, {"bytes", hint.bytes},
          {"kept_bytes", hint.kept_bytes}, {"runs", hint.runs},     {"seconds", hint.seconds}};
}

}  // namespace

std::string to_json(const Explanation& explanation) {
  const ExplainedHead& head = explanation.head;
  Json json = {{"budget", or_null(head.budget)},
               {"peak", head.peak},
               {"lower_bound", head.lower_bound},
               {"order_free_bound", head.order_free_bound},
               {"smallest", or_null(head.smallest)},
               {"free_peak", or_null(head.free_peak)},
               {"predicted_seconds", head.seconds},
               {"least_seconds", head.least_seconds},
               {"overhead_percent", percent_above(head.seconds, head.least_seconds)},
               {"lower_bound_percent", percent_above(head.seconds_bound, head.least_seconds)},
               {"plan_hash", head.plan_hash},
               {"device", head.target},
               {"peak_holds", Json::object()},
               {"prices", Json::array()},
               {"regions", Json::array()},
               {"values", Json::array()},
               {"left_out", explanation.left_out},
               {"hints", Json::array()}};
  for (int r = 0; r < peak_role_count; ++r) {
    const auto role = static_cast<PeakRole>(r);
    json["peak_holds"][std::string(name_of(role))] = head.holds.of(role);
  }
  for (const BudgetPrice& price : explanation.prices) {
    json["prices"].push_back({{"change", price.change},
                              {"fits", price.fits},
                              {"seconds_change", price.fits ? Json(price.seconds_change) : Json(nullptr)},
                              {"seconds_per_mib", price.fits ? Json(price.seconds_per_mib()) : Json(nullptr)},
                              {"changed", price.changed}});
  }
  for (const ExplainedRegion& region : explanation.regions)
    json["regions"].push_back({{"name", region.name}, {"path", region.path}});
  for (const ExplainedValue& value : explanation.values) json["values"].push_back(value_json(value));
  for (const HintReport& hint : explanation.hints) json["hints"].push_back(hint_json(hint));
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);  // names may be no UTF-8
}

}  // namespace tidemark
