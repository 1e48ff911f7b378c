#include "tidemark/engine/gradient_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/engine/program.h"

namespace tidemark {
namespace {

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double x : values) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  return largest;
}

// Infinite where only one of two elements is a number, or both are not and differ.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = std::abs(a[i] - b[i]);
    largest =
        std::max(largest, std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity());
  }
  return largest;
}

double relative(double difference, double magnitude) { return difference == 0 ? 0 : difference / magnitude; }

LossyValue described(const Residual& residual, const Form& form) {
  const Graph& graph = *residual.graph;
  const Value& value = graph[residual.value];
  return {.name = value.name,
          .where = value.producer.valid() ? graph[value.producer].where : SourceLine(),
          .form = form,
          .type = value.type,
          .copies = residual.copies,
          .plain = Bytes(residual.copies * value.type.bytes()),
          .small = Bytes(residual.copies * bytes_of(form, value.type)),
          .bound = error_of(form, value.type.dtype)};
}

}  // namespace

GradientError gradient_error_of(Graph traced, std::span<const Tensor> inputs, const BackwardValues& values,
                                const std::vector<std::string>& skip, const std::shared_ptr<Device>& device,
                                const Target& target, SourceLine where) {
  for (Input& input : traced.inputs()) input.donated = false;
  const auto run = [&](const Graph& graph, const Target* as) {
    const ProgramOptions options{.skip_optimisations = skip, .plan = {.target = as}};
    return Program(graph, options, device).run(inputs, where);
  };
  ResidualChoice forms = values.forms;
  for (std::optional<Form>& form : forms) {
    if (form && is_exact(*form)) form.reset();
  }
  const std::vector<Tensor> exact = run(lower_backward_values(traced, {}), nullptr);
  std::vector<Drift> drifts;
  const Graph marked = lower_inverses(traced, values.undone, values.drift, &drifts);
  const std::vector<Tensor> lossy = run(lower_residuals(marked, forms, true), &target);

  GradientError error{.arithmetic = std::string(target.arithmetic)};
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!is_float(exact[i].type().dtype)) continue;
    const std::vector<double> right = exact[i].to_vector(), given = lossy[i].to_vector();
    error.results.push_back(relative(largest_difference(right, given), largest_magnitude(right)));
    error.largest = std::max(error.largest, error.results.back());
  }
  std::size_t next = exact.size();
  const auto measured = [&] {
    const double difference = lossy[next].to_vector()[0], magnitude = lossy[next + 1].to_vector()[0];
    next += 2;
    return relative(difference, magnitude);
  };
  for (const Drift& drift : drifts) {
    const Value& value = traced[drift.value];
    error.undone.push_back({.name = value.name,
                            .where = value.producer.valid() ? traced[value.producer].where : SourceLine(),
                            .type = value.type,
                            .bound = drift.bound,
                            .measured = measured()});
  }
  const std::vector<Residual> residuals = residuals_of(marked);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    // A smaller batch may be traced to another graph than the one that forms were chosen for.
    const bool lossy_form = i < forms.size() && forms[i] && may_wait_in(residuals[i], *forms[i]);
    if (!lossy_form) continue;
    LossyValue value = described(residuals[i], *forms[i]);
    if (residuals[i].is_measured) value.measured = measured();
    error.values.push_back(std::move(value));
  }
  return error;
}

std::string GradientError::text() const {
  if (values.empty() && undone.empty() && arithmetic.empty())
    return "nothing waits for the backward pass in a lossy form: gradients are exact\n";
  std::string text = fmt::format("{:<18}{:.2e} of a result's largest magnitude\n", "gradient error", largest);
  if (!arithmetic.empty()) text += fmt::format("{:<18}{}\n", "arithmetic", arithmetic);
  if (!undone.empty()) {
    DriftedValue worst;
    for (const DriftedValue& value : undone) {
      worst.bound = std::max(worst.bound, value.bound);
      worst.measured = std::max(worst.measured, value.measured);
    }
    text += fmt::format("{:<18}{} values up to rounding: error at most {:.1e} as stated, measured {:.1e}\n",
                        "computed back", undone.size(), worst.bound, worst.measured);
  }
  if (values.empty()) return text;
  Bytes plain, small;
  for (const LossyValue& value : values) plain = plain + value.plain, small = small + value.small;
  text += fmt::format("{:<18}{} values wait in {} instead of {}\n", "compressed", values.size(),
                      to_string(small), to_string(plain));
  for (const LossyValue& value : values) {
    text += fmt::format("  {:<5} {:<20} {} → {}", name_of(value.form), to_string(value.type),
                        to_string(value.plain), to_string(value.small));
    if (std::isfinite(value.bound)) text += fmt::format(", error at most {:.1e}", value.bound);
    if (value.measured) text += fmt::format(", measured {:.1e}", *value.measured);
    if (!value.name.empty()) text += fmt::format(", `{}`", value.name);
    if (value.where.known()) text += fmt::format(" ({})", short_form(value.where));
    text += "\n";
  }
  return text;
}

}  // namespace tidemark
