#include "tools/report/model_formulas.h"

#include <nlohmann/json.hpp>

#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cli {
namespace {

using Json = nlohmann::ordered_json;

Json box_json(const std::vector<SizeAxis>& axes, const SizeBox& box) {
  Json json = Json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) json[axes[i].name] = {box[i].least, box[i].most};
  return json;
}

// Terms as objects: their bytes, and the power of each size that comes in.
Json terms_json(const std::vector<SizeAxis>& axes, const SizePolynomial& polynomial) {
  Json list = Json::array();
  for (const SizeTerm& term : polynomial.terms) {
    Json powers = Json::object();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (term.powers[i] > 0) powers[axes[i].name] = term.powers[i];
    }
    list.push_back({{"bytes", term.bytes}, {"powers", std::move(powers)}});
  }
  return list;
}

}  // namespace

SizeFormulas formulas_of_model(const ModelOption& model, const std::vector<AxisOption>& axes,
                               const PlanOptions& options) {
  std::vector<SizeAxis> varied;
  for (const AxisOption& axis : axes) {
    const AxisSizes sizes = axis_sizes(model, axis);
    const bool linear = axis.axis == nn::ZooAxis::batch || axis.axis == nn::ZooAxis::layers;
    varied.push_back({.name = std::string(nn::name_of(axis.axis)),
                      .least = sizes.least,
                      .most = sizes.most,
                      .step = sizes.step,
                      .degree = linear ? 1 : 2});
  }
  const Target& target = target_of(options);
  const auto peak_at = [&](std::span<const std::int64_t> sizes) -> std::optional<SizedPeak> {
    ModelOption other = model;
    for (std::size_t i = 0; i < axes.size(); ++i) other.size(axes[i].axis) = sizes[i];
    const Graph graph = prepare_graph(other.load(), {}, nullptr, {}, target);
    return sized_peak(graph, make_plan(graph, target, options));
  };
  return size_formulas(std::move(varied), peak_at);
}

Json formulas_json(const SizeFormulas& formulas) {
  Json json = {{"plans", formulas.plans}, {"regimes", Json::array()}, {"without", Json::array()}};
  for (const SizeRegime& regime : formulas.regimes) {
    Json roles = Json::object();
    for (std::size_t r = 0; r < regime.by_role.size(); ++r)
      roles[std::string(name_of(static_cast<PeakRole>(r)))] = terms_json(formulas.axes, regime.by_role[r]);
    json["regimes"].push_back({{"sizes", box_json(formulas.axes, regime.box)},
                               {"at_peak", regime.at},
                               {"peak", terms_json(formulas.axes, regime.peak)},
                               {"peak_holds", std::move(roles)},
                               {"fitted", regime.fitted},
                               {"checked", regime.checked},
                               {"most_off", regime.most_off},
                               {"deviation_percent", 100 * regime.deviation}});
  }
  for (const SizeBox& box : formulas.without) json["without"].push_back(box_json(formulas.axes, box));
  return json;
}

}  // namespace tidemark::cli
