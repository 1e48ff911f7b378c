#include "tidemark/ode/drift.h"

#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "tidemark/base/error.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/trace/model_functions.h"

namespace tidemark::ode {
namespace {

struct Worst {
  double drift = 0;
  std::size_t piece = 0;  // counted from t0
};

// The piece at t0 comes last. NaN is worse than any number.
Worst worst_of(std::span<const double> drifts) {
  Worst worst{drifts.back(), 0};
  for (std::size_t piece = 1; piece < drifts.size() && !std::isnan(worst.drift); ++piece) {
    const double drift = drifts[drifts.size() - 1 - piece];
    if (!(drift <= worst.drift)) worst = {drift, piece};
  }
  return worst;
}

[[noreturn]] void drifted_away(const Worst& worst, double tolerance, SourceLine where) {
  const std::string missed = worst.piece == 0 ? "y0" : fmt::format("kept state {}", worst.piece);
  fail(ErrorCode::numeric,
       {.what =
            fmt::format("odeint: integrated backwards, the state missed {} by {:.3g}", missed, worst.drift),
        .expected = fmt::format("at most {:.3g} (OdeOptions::drift_tolerance)", tolerance),
        .where = where,
        .help =
            "the gradient would be that of another trajectory: take smaller steps or tolerances, more "
            "kept_states with OdeGradient::adjoint, or OdeGradient::discrete, which reads the states of the "
            "forward run"});
}

// drifts -> 1, or an error. One op for each place and tolerance, as ops live as long as the process.
const Op& guard_op(const std::shared_ptr<OdeDrift>& report, double tolerance, SourceLine where) {
  static std::mutex mutex;
  static auto* made = new std::map<std::tuple<const OdeDrift*, double, std::string_view, std::uint32_t>,
                                   const Op*>;  // never freed: graphs may outlive anything
  const std::lock_guard lock(mutex);
  const Op*& op = (*made)[{report.get(), tolerance, where.file, where.line}];
  if (op) return *op;
  op = &make_custom_op(
      {.name = "ode_drift_guard",
       .infer =
           [](std::span<const Type> in) {
             return std::vector<Type>{{in[0].dtype, {}}};
           },
       .kernel =
           [report, tolerance, where](std::span<const TensorRef> in, std::span<const TensorRef> out) {
             const std::span<const double> drifts(in[0].as<double>(),
                                                  static_cast<std::size_t>(in[0].count()));
             const Worst worst = worst_of(drifts);
             if (report) {
               static std::mutex reporting;  // calls may run side by side
               const std::lock_guard lock(reporting);
               report->latest = worst.drift;
               report->largest = std::max(report->largest, worst.drift);
               report->pieces.assign(drifts.rbegin(), drifts.rend());
             }
             if (!(worst.drift <= tolerance)) drifted_away(worst, tolerance, where);
             *out[0].as<double>() = 1;
           },
       .derivative = Derivative::zero});
  return *op;
}

}  // namespace

Tensor drift_from(const List& expected, const List& reconstructed) {
  const Tensor missed = largest(plus(reconstructed, scaled(expected, -1)));
  return cast(missed / (largest(expected) + 1), DType::f64);
}

List guarded(const List& gradients, const Tensor& drifts, const OdeOptions& options, SourceLine where) {
  const Tensor one = call(guard_op(options.drift, options.drift_tolerance, where), {drifts}, where).front();
  List result;
  for (const Tensor& gradient : gradients) result.push_back(gradient * cast(one, gradient.dtype()));
  return result;
}

}  // namespace tidemark::ode
