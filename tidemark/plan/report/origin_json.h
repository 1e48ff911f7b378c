// The origin of a plan as part of its file.
#pragma once
#include <nlohmann/json.hpp>

#include "tidemark/base/json_reader.h"
#include "tidemark/plan/report/plan_origin.h"

namespace tidemark {

nlohmann::ordered_json origin_json(const PlanOrigin& origin);
PlanOrigin read_origin(const JsonReader& reader);

}  // namespace tidemark
