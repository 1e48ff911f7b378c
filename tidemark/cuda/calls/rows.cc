// Ops on rows: softmax, normalisations, losses, and reductions in two passes.
#include <array>

#include "tidemark/cuda/calls/family.h"
#include "tidemark/cuda/calls/row_layout.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/group_norm.h"
#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/normalization/rms_norm.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

KernelText launch_rows(CallText& text, std::string_view body, const RowLayout& layout) {
  text.launch(body, layout.blocks(), layout.threads, layout.team > 1);
  return text.finish();
}

template <bool log>
KernelText write_softmax(const Call& call, std::string_view name) {
  CallText text(call, name, "softmax");
  const RowLayout layout =
      rows_along(call.in[0].shape, call.attrs_as<AxisAttrs>().axis, 1, 1, call.in[0].dtype);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0}, .writes = true});
  text.flag("log", log);
  return launch_rows(text, "softmax_rows", layout);
}
template <bool log>
KernelText write_softmax_grad(const Call& call, std::string_view name) {
  CallText text(call, name, "softmax");
  const RowLayout layout =
      rows_along(call.in[0].shape, call.attrs_as<AxisAttrs>().axis, 2, 1, call.in[0].dtype);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0, 1}, .writes = true});
  text.flag("log", log);
  return launch_rows(text, "softmax_grad_rows", layout);
}
bool softmax_in_place(const Call&, int, int) { return true; }

// x as (N, G, K, S), of which a row is what is normalised together.
RowLayout norm_layout(const NormForm& form, int reads, int writes, DType dtype) {
  const Shape shape = {form.n, form.g, form.k, form.s};
  const std::array in_row = {form.across_batch, false, !form.across_batch, true};
  return {shape, in_row, std::vector<Strides>(static_cast<std::size_t>(reads + writes), dense_strides(shape)),
          reads, dtype};
}
void write_norm_facts(CallText& text, const NormForm& form) {
  text.flag("centered", form.centered);
  text.flag("variance", form.variance);
  text.flag("per_element", form.per_element);
  text.real("eps", form.eps);
  text.line("  static Index affine_at(Index row, Index i) {{ return {}; }}",
            form.per_element ? "i"
            : form.across_batch
                ? "row"
                : fmt::format("row % {} * {} + i / {}", form.g, form.k, std::max<std::int64_t>(1, form.s)));
}

template <NormForm (*form_of)(const Call&)>
KernelText write_norm(const Call& call, std::string_view name) {
  const NormForm form = form_of(call);
  CallText text(call, name, "norms");
  const DType dtype = call.in[0].dtype;
  const RowLayout layout = norm_layout(form, 1, 1, dtype);
  RowOperands operands{.reads = {0}, .writes = true};
  if (form.per_element) operands.along = {1, form.centered ? 2 : 1};
  write_rows(text, layout, dtype, operands);
  write_norm_facts(text, form);
  return launch_rows(text, "norm_rows", layout);
}

template <NormForm (*form_of)(const Call&)>
KernelText write_norm_grad(const Call& call, std::string_view name) {
  const NormForm form = form_of(call);
  CallText text(call, name, "norms");
  const DType dtype = call.in[0].dtype;
  const RowLayout layout = norm_layout(form, 2, 1, dtype);
  const int gain = form.centered ? 3 : 2;
  RowOperands operands{.reads = {0, gain + 1}, .writes = true};
  if (form.per_element) operands.along = {gain};
  write_rows(text, layout, dtype, operands);
  write_norm_facts(text, form);
  return launch_rows(text, "norm_grad_rows", layout);
}

KernelText write_channel_params(const Call& call, const NormForm& form, std::string_view name) {
  CallText text(call, name, "norms");
  const Shape shape = {form.n, form.g * form.k, form.s};
  const std::array in_row = {true, false, true};
  const std::array strides = {dense_strides(shape), dense_strides(shape)};
  const RowLayout layout(shape, in_row, strides, 2, call.in[0].dtype, RowPasses::one);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0, 3}});
  write_norm_facts(text, form);
  text.flag("across_batch", form.across_batch);
  text.line("  static Index statistic_at(Index channel, Index i) {{ return i / {} * {} + channel / {}; }}",
            std::max<std::int64_t>(1, form.s), form.g, form.k);
  return launch_rows(text, "norm_channel_params", layout);
}

// Sums down the columns, of slabs of rows that follow from the shape alone.
struct ParamsSlabs {
  static constexpr int across = 32, down = 8;  // params_across and params_down of device/norms.h
  std::int64_t rows, n, kinds, slabs, slab_rows;

  explicit ParamsSlabs(const NormForm& form) : rows(form.rows()), n(form.s), kinds(form.centered ? 2 : 1) {
    constexpr std::int64_t most_slabs = 256, least_rows = 64;
    const std::int64_t wanted = std::clamp<std::int64_t>((rows + least_rows - 1) / least_rows, 1, most_slabs);
    slab_rows = std::max<std::int64_t>(1, (rows + wanted - 1) / wanted);
    slabs = std::max<std::int64_t>(1, (rows + slab_rows - 1) / slab_rows);
  }
};

template <NormForm (*form_of)(const Call&)>
KernelText write_norm_params(const Call& call, std::string_view name) {
  const NormForm form = form_of(call);
  if (!form.per_element) return write_channel_params(call, form, name);
  CallText text(call, name, "norms");
  const ParamsSlabs slabs(form);
  const DType dtype = call.in[0].dtype;
  const std::int64_t n = slabs.n, width = n == 0 ? 1 : pack_width(size_of(dtype), n);
  const std::int64_t tiles = (n + slabs.across * width - 1) / (slabs.across * width);
  constexpr int threads = ParamsSlabs::across * ParamsSlabs::down;
  text.type("T", dtype);
  text.number("width", width);
  text.flag("centered", form.centered);
  text.count("rows", slabs.rows);
  text.count("n", n);
  text.count("tiles", tiles);
  text.count("slabs", slabs.slabs);
  text.count("slab_rows", slabs.slab_rows);
  text.launch("norm_params_slabs", tiles * slabs.slabs, threads, true);
  text.launch("norm_params_totals", (slabs.kinds * n + slabs.across - 1) / slabs.across, threads, true);
  return text.finish();
}
template <NormForm (*form_of)(const Call&)>
std::int64_t norm_params_scratch(const Call& call) {
  const NormForm form = form_of(call);
  if (!form.per_element) return 0;
  const ParamsSlabs slabs(form);
  return slabs.slabs * slabs.kinds * slabs.n * (call.in[0].dtype == DType::f64 ? 8 : 4);
}

bool norm_in_place(const Call&, int result, int operand) { return result == 0 && operand == 0; }
// A row's sums are taken before its first element is written.
bool norm_grad_in_place(const Call& call, int, int o) { return o == 0 || o + 1 == std::ssize(call.in); }

void write_labels(CallText& text, const Call& call) {
  const auto attrs = call.attrs_as<CrossEntropyAttrs>();
  text.type("Label", call.in[1].dtype);
  text.flag("ignores", attrs.ignore);
  text.line("  static constexpr long long ignored = {};", attrs.ignore_index);
}
KernelText write_cross_entropy(const Call& call, std::string_view name) {
  CallText text(call, name, "row_folds");
  const Shape& shape = call.in[0].shape;
  const RowLayout layout = rows_along(shape, shape.rank() - 1, 1, 0, call.in[0].dtype, RowPasses::one);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0}});
  write_labels(text, call);
  return launch_rows(text, "cross_entropy_rows", layout);
}
KernelText write_cross_entropy_grad(const Call& call, std::string_view name) {
  CallText text(call, name, "row_folds");
  const Shape& shape = call.in[0].shape;
  const RowLayout layout = rows_along(shape, shape.rank() - 1, 1, 1, call.in[0].dtype, RowPasses::one);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0}, .writes = true});
  write_labels(text, call);
  return launch_rows(text, "cross_entropy_grad_rows", layout);
}
bool has_classes(const Call& call) { return call.in[0].shape.back() > 0; }
bool cross_entropy_in_place(const Call&, int, int operand) { return operand == 0; }

KernelText write_reduction(const Call& call, std::string_view name, std::string_view body, RowPasses passes) {
  CallText text(call, name, "row_folds");
  const Shape& shape = call.in[0].shape;
  bool in_row[max_rank] = {};
  for (const std::int64_t axis : call.attrs_as<ReduceAttrs>().axes) in_row[axis] = true;
  const Strides strides = operand_strides(call, 0);
  const RowLayout layout(shape, in_row, std::span(&strides, 1), 1, call.in[0].dtype, passes);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0}});
  return launch_rows(text, body, layout);
}
KernelText write_logsumexp(const Call& call, std::string_view name) {
  return write_reduction(call, name, "logsumexp_rows", RowPasses::one);
}
KernelText write_var(const Call& call, std::string_view name) {
  return write_reduction(call, name, "var_rows", RowPasses::several);
}

template <bool largest>
KernelText write_extreme(const Call& call, std::string_view name) {
  CallText text(call, name, "row_folds");
  bool in_row[max_rank] = {};
  in_row[call.attrs_as<AxisAttrs>().axis] = true;
  const Strides strides = operand_strides(call, 0);
  const RowLayout layout(call.in[0].shape, in_row, std::span(&strides, 1), 1, call.in[0].dtype,
                         RowPasses::one);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0}});
  text.flag("largest", largest);
  return launch_rows(text, "extreme_rows", layout);
}

KernelText write_delta(const Call& call, std::string_view name) {
  CallText text(call, name, "row_folds");
  const std::array in_row = {false, false, false, true};
  const std::array strides = {operand_strides(call, 0), operand_strides(call, 1)};
  const RowLayout layout(call.in[0].shape, in_row, strides, 2, call.in[0].dtype, RowPasses::one);
  write_rows(text, layout, call.in[0].dtype, {.reads = {0, 1}});
  return launch_rows(text, "product_rows", layout);
}

}  // namespace

std::span<const CallRow> row_calls() {
#define TM_NORM(name)                                                                                     \
  {&op::name, {.write = write_norm<name##_form>, .may_overwrite = norm_in_place}},                        \
      {&op::name##_grad, {.write = write_norm_grad<name##_form>, .may_overwrite = norm_grad_in_place}}, { \
    &op::name##_params, {                                                                                 \
      .write = write_norm_params<name##_form>, .scratch = norm_params_scratch<name##_form>                \
    }                                                                                                     \
  }
  static const CallRow rows[] = {
      {&op::softmax, {.write = write_softmax<false>, .may_overwrite = softmax_in_place}},
      {&op::log_softmax, {.write = write_softmax<true>, .may_overwrite = softmax_in_place}},
      {&op::softmax_grad, {.write = write_softmax_grad<false>, .may_overwrite = softmax_in_place}},
      {&op::log_softmax_grad, {.write = write_softmax_grad<true>, .may_overwrite = softmax_in_place}},
      TM_NORM(layer_norm),
      TM_NORM(rms_norm),
      TM_NORM(group_norm),
      TM_NORM(batch_norm),
      {&op::cross_entropy, {.write = write_cross_entropy, .can = has_classes}},
      {&op::cross_entropy_grad,
       {.write = write_cross_entropy_grad, .can = has_classes, .may_overwrite = cross_entropy_in_place}},
      {&op::reduce_logsumexp, {.write = write_logsumexp, .takes_strides = takes_any_strides}},
      {&op::reduce_var, {.write = write_var, .takes_strides = takes_any_strides}},
      {&op::argmax, {.write = write_extreme<true>, .takes_strides = takes_any_strides}},
      {&op::argmin, {.write = write_extreme<false>, .takes_strides = takes_any_strides}},
      {&op::attention_delta, {.write = write_delta, .takes_strides = takes_any_strides}},
  };
#undef TM_NORM
  return rows;
}

}  // namespace tidemark::cuda
