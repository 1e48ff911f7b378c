// What layer, rms, group and batch normalisation share. Each is the same formula on x seen as (N, G, K, S):
//
//             normalised over   statistics   gain and bias
//   layer     S                 (N)          (S)             N rows of S elements; G = K = 1
//   rms       S, about zero     (N)          (S)
//   group     K, S              (N, G)       (G, K)          K channels of S elements in each of G groups
//   batch     N, S              (G)          (G)             G channels; K = 1
//
//   y = (x - mean) rstd gain + bias,   rstd = 1/√(variance + eps)
//
// The statistics are results, so a gradient reads x and two numbers per row instead of a normalised copy of
// x; the gradients of x and of gain and bias are ops of their own, so a plan may run them apart. Variance in
// two passes.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct NormForm {
  std::int64_t n = 1, g = 1, k = 1, s = 1;
  bool across_batch = false;  // over N too (batch)
  bool per_element = false;   // gain and bias run along S; otherwise along (G, K)
  bool centered = true;       // rms: no mean is taken off, and there is no bias
  bool variance = false;      // the second statistic is the variance instead of rstd
  double eps = 0;
  Shape statistics = {}, affine = {};  // as the op's results and operands have them

  std::int64_t rows() const { return across_batch ? g : n * g; }
  std::int64_t segments() const { return across_batch ? n : k; }  // a row: `segments` runs of s neighbours
  std::int64_t count() const { return segments() * s; }           // elements of a row
  std::int64_t row_stride() const { return across_batch ? s : k * s; }
  std::int64_t segment_stride() const { return across_batch ? g * s : s; }
};

// The form of x normalised over its last dimensions, and of x (N, C, …) with gain and bias per channel C.
// They check the attributes and that x is floating-point.
NormForm trailing_form(const Call& call, bool centered);  // its attributes are LayerNormAttrs
NormForm channel_form(const Call& call, double eps);

// The type rules. `form` was taken from the call and checked what is particular to the op.
//   forward:  x, gain[, bias]                     → y[, mean], rstd or variance
//   gradient: x[, mean], second, gain, ȳ          → x̄
//   params:   x[, mean], second, ȳ                → gain gradient[, bias gradient]
std::vector<Type> infer_norm(const Call& call, const NormForm& form);
std::vector<Type> infer_norm_grad(const Call& call, const NormForm& form);
std::vector<Type> infer_norm_params(const Call& call, const NormForm& form);

std::vector<Var> expand_norm(const RuleCall& r, const NormForm& form);
std::vector<Var> expand_norm_grad(const RuleCall& r, const NormForm& form);
std::vector<Var> expand_norm_params(const RuleCall& r, const NormForm& form);
std::vector<Var> vjp_norm(const RuleCall& r, const NormForm& form, const Op& grad, const Op& params);

// Samples of a family, given one forward call: x, gain and statistics by type.
struct NormSample {
  Type x;
  Shape statistics, affine;
  Attrs attrs;
};
std::vector<Sample> forward_samples(const std::vector<NormSample>& list, bool centered);
std::vector<Sample> grad_samples(const std::vector<NormSample>& list, bool centered);
std::vector<Sample> params_samples(const std::vector<NormSample>& list, bool centered);
const std::vector<NormSample>& trailing_cases();  // for ops of a trailing_form

// The ops of one family, from the function that reads a NormForm off a call of any of its three ops. The
// gradient ops take 16-bit data too, but then statistics in f32, a mixture that samples cannot say: their
// `dtypes` are the others.
template <class A, NormForm (*form)(const Call&), const Op& grad, const Op& params,
          const std::vector<NormSample>& (*cases)(), bool centered = true>
struct NormFamily {
  static constexpr Op forward(std::string_view name) {
    return {.name = name,
            .results = centered ? 3 : 2,
            .schema = &schema_of<A>,
            .infer = [](const Call& call) { return infer_norm(call, form(call)); },
            .vjp = [](const RuleCall& r) { return vjp_norm(r, form(r.call), grad, params); },
            .expand = [](const RuleCall& r) { return expand_norm(r, form(r.call)); },
            .tolerant = true,
            .samples = [] { return forward_samples(cases(), centered); }};
  }
  static constexpr Op gradient(std::string_view name) {
    return {.name = name,
            .dtypes = wide_floats,
            .schema = &schema_of<A>,
            .infer = [](const Call& call) { return infer_norm_grad(call, form(call)); },
            .expand = [](const RuleCall& r) { return expand_norm_grad(r, form(r.call)); },
            .samples = [] { return grad_samples(cases(), centered); }};
  }
  static constexpr Op parameters(std::string_view name) {
    return {.name = name,
            .dtypes = wide_floats,
            .results = centered ? 2 : 1,
            .schema = &schema_of<A>,
            .infer = [](const Call& call) { return infer_norm_params(call, form(call)); },
            .expand = [](const RuleCall& r) { return expand_norm_params(r, form(r.call)); },
            .samples = [] { return params_samples(cases(), centered); }};
  }
};

}  // namespace tidemark
