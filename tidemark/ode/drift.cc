#include "tidemark/ode/drift.h"

#include <map>
#include <mutex>
#include <tuple>

#include "tidemark/base/error.h"
#include "tidemark/trace/model_functions.h"

namespace tidemark::ode {
namespace {

[[noreturn]] void drifted_away(double drift, double tolerance, SourceLine where) {
  fail(ErrorCode::numeric,
       {.what = fmt::format("odeint: integrated backwards, the state missed y0 by {:.3g}", drift),
        .expected = fmt::format("at most {:.3g} (OdeOptions::drift_tolerance)", tolerance),
        .where = where,
        .help = "the gradient would be that of another trajectory: take smaller steps or tolerances, or "
                "OdeGradient::discrete, which reads the states of the forward run"});
}

// drift -> 1, or an error. One op for each place and tolerance, as ops live as long as the process.
const Op& guard_op(const std::shared_ptr<OdeDrift>& report, double tolerance, SourceLine where) {
  static std::mutex mutex;
  static auto* made = new std::map<std::tuple<const OdeDrift*, double, std::string_view, std::uint32_t>,
                                   const Op*>;  // never freed: graphs may outlive anything
  const std::lock_guard lock(mutex);
  const Op*& op = (*made)[{report.get(), tolerance, where.file, where.line}];
  if (op) return *op;
  op = &make_custom_op(
      {.name = "ode_drift_guard",
       .infer = [](std::span<const Type> in) { return std::vector<Type>{in[0]}; },
       .kernel =
           [report, tolerance, where](std::span<const TensorRef> in, std::span<const TensorRef> out) {
             const double drift = *in[0].as<double>();
             if (report) {
               static std::mutex reporting;  // calls may run side by side
               const std::lock_guard lock(reporting);
               report->latest = drift;
               report->largest = std::max(report->largest, drift);
             }
             if (!(drift <= tolerance)) drifted_away(drift, tolerance, where);
             *out[0].as<double>() = 1;
           },
       .derivative = Derivative::zero});
  return *op;
}

}  // namespace

List guarded(const List& gradients, const List& began, const List& reconstructed, const OdeOptions& options,
             SourceLine where) {
  const Tensor missed = largest(plus(reconstructed, scaled(began, -1)));
  const Tensor drift = missed / (largest(began) + 1);
  const Tensor one =
      call(guard_op(options.drift, options.drift_tolerance, where), {cast(drift, DType::f64)}, where).front();
  List result;
  for (const Tensor& gradient : gradients) result.push_back(gradient * cast(one, gradient.dtype()));
  return result;
}

}  // namespace tidemark::ode
