#include "tests/support/law_case.h"

#include "tests/support/region_samples.h"

namespace tidemark::testing {

std::vector<Type> LawCase::types() const {
  std::vector<Type> list;
  for (const Sample::Operand& operand : sample.in) list.push_back(operand.type);
  return list;
}

std::vector<Literal> LawCase::operands(std::uint64_t seed) const {
  std::vector<Literal> list;
  for (const Sample::Operand& operand : sample.in) list.push_back(draw(operand, seed * 1000 + list.size()));
  return list;
}

Graph LawCase::graph() const {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Type& type : types()) in.push_back(builder.input(type));
  for (const Var& result : builder.call(*op, in, sample.attrs, regions)) graph.add_output(result.id());
  return graph;
}

KernelRun LawCase::run(const std::vector<Literal>& operands, const KernelOptions& options) const {
  KernelOptions with_regions = options;
  with_regions.regions = regions;
  return run_kernel(*op, operands, sample.attrs, with_regions);
}

std::string LawCase::name() const {
  std::string text = fmt::format("{} sample {} {}:", op->name, index, name_of(dtype));
  for (const Type& type : types()) text += " " + to_string(type);
  return text;
}

namespace {

std::vector<LawCase> recast(const Op& op, const std::vector<RegionSample>& samples) {
  std::vector<LawCase> list;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const auto& [sample, regions, expands] = samples[s];
    bool recast = false;
    for (const Sample::Operand& operand : sample.in) recast = recast || operand.type.dtype == DType::f64;
    for (int t = 0; t < dtype_count; ++t) {
      const DType dtype = static_cast<DType>(t);
      if (recast ? !op.dtypes.contains(dtype) : t != 0) continue;
      if (!regions.empty() && !is_float(dtype)) continue;
      LawCase law{&op, sample, recast ? dtype : DType::f64, s};
      for (Sample::Operand& operand : law.sample.in) {
        if (operand.type.dtype == DType::f64) operand.type.dtype = dtype;
      }
      for (const std::string& text : regions) law.regions.push_back(region_in(text, dtype));
      law.expands = expands;
      list.push_back(std::move(law));
    }
  }
  return list;
}

}  // namespace

std::vector<LawCase> cases_of(const Op& op) {
  std::vector<RegionSample> samples = region_samples(op);
  if (op.samples) {
    for (Sample& sample : op.samples()) samples.push_back({std::move(sample), {}});
  }
  return recast(op, samples);
}

std::vector<LawCase> cases_of(const Op& op, const std::vector<Sample>& samples) {
  std::vector<RegionSample> list;
  for (const Sample& sample : samples) list.push_back({sample, {}});
  return recast(op, list);
}

std::vector<LawCase> smooth_cases_of(const Op& op) {
  std::vector<LawCase> list;
  if (op.derivative != Derivative::rule) return list;
  for (LawCase& law : cases_of(op)) {
    if (!law.sample.smooth || law.dtype != DType::f64) continue;
    bool float_in = false, float_out = false;
    const Graph graph = law.graph();
    for (const Type& type : law.types()) float_in = float_in || type.dtype == DType::f64;
    for (ValueId v : graph.outputs()) float_out = float_out || graph.type(v).dtype == DType::f64;
    if (float_in && float_out) list.push_back(std::move(law));
  }
  return list;
}

}  // namespace tidemark::testing
