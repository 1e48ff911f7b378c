#include "tidemark/cuda/target.h"

#include <map>

#include "tidemark/cuda/call_source.h"
#include "tidemark/cuda/conv_form.h"
#include "tidemark/cuda/group_source.h"
#include "tidemark/cuda/head_form.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/product_form.h"
#include "tidemark/cuda/product_source.h"
#include "tidemark/cuda/thin_product.h"
#include "tidemark/cuda/tile_layout.h"
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise_facts.h"

namespace tidemark::cuda {
namespace {

const ExecutionFacts& on_the_cpu(const Call& call) { return *cpu_target().find(*call.op); }

std::int64_t scratch(const Call& call) {
  switch (route_of(call)) {
    case Route::generated:
      return group_scratch(call);
    case Route::call:
      return call_scratch(call);
    case Route::library:
      return product_form(call)->scratch_bytes;
    case Route::convolution:
      return std::max(call_scratch(call), conv_form(call)->workspace_bytes);
    case Route::head:
      return head_form(call).scratch_bytes();
    case Route::control: {
      const auto claim = on_the_cpu(call).scratch;
      return claim ? claim(call) : 0;
    }
    case Route::product:
      return product_scratch(call);
    case Route::host:  // in the host's memory
      return 0;
  }
  return 0;
}

// An element is read before it is written, by the same thread: what the CPU's kernels may overwrite, ours
// may. On the host results have memory of their own until the call is done.
bool in_place(const Call& call, int result, int operand) {
  const Route route = route_of(call);
  if (route == Route::call) return call_may_overwrite(call, result, operand);
  if (route == Route::head || route == Route::convolution) return false;
  if (route == Route::library || route == Route::product)
    return operand == sum_operand(call) && call.is_dense_operand(operand);
  const auto fact = on_the_cpu(call).in_place;
  return fact && fact(call, result, operand);
}

bool strided(const Call& call, int operand) {
  switch (route_of(call)) {
    case Route::generated:
      return true;
    case Route::call:
      return call_takes_strides(call, operand);
    case Route::library:
      return call.op == &op::contract || operand == sum_operand(call);
    case Route::product:
      return product_takes_strides(call);
    default:
      return false;
  }
}

Fusion fusion(const Call& call) {
  if (is_group_window(call)) return Fusion::window;
  const auto fact = on_the_cpu(call).fusion;
  return fact && can_generate(*call.op) ? fact(call) : Fusion::none;
}

bool on_host(const Call& call) { return route_of(call) == Route::host; }

// On the CPU it takes the reference machine's time, which stands in for a host that nobody measured, and its
// operands and results go over the link.
Cost cost_on_host(const Call& call, Cost cost) {
  const Machine& gpu = h200_machine();
  cost.seconds = seconds_of(reference_machine(), cpu_target(), call);
  const auto add_copies = [&](int from, int to, std::span<const Type> types) {
    for (const Type& type : types)
      cost.seconds += seconds_of(*find_link(gpu, from, to), static_cast<double>(type.bytes()), false);
  };
  add_copies(0, 1, call.in);
  add_copies(1, 0, call.out);
  return cost;
}

// Products, and between them the logits, which are written, read twice and written again. Products hide their
// own bytes but not these: they count as the flops that tensor cores (or f32 without them) do meanwhile.
Cost head_cost(const Call& call) {
  const HeadForm form = head_form(call);
  const bool is_small = size_of(form.dtype) == 2;
  const double flops_meanwhile = is_small ? 180 : 12;  // per byte, on an H200
  const double logits = static_cast<double>(form.examples) * static_cast<double>(form.classes);
  const double products = 1 + (form.x_gradient ? 1 : 0) + (form.w_gradient ? 1 : 0);
  const double logit_bytes = 4.0 * static_cast<double>(size_of(form.dtype));
  return {.flops = logits * (2 * static_cast<double>(form.width) * products + flops_meanwhile * logit_bytes),
          .bytes = bytes_moved(call),
          .work = WorkKind::contraction};
}

// By steps of Llama and GPT-2: 1.8 times the rate of bf16, which is 16.5 times that of f32 (machine.cc). What
// it takes to begin and end a tile of the result, which products of bf16 hide, counts as so much more depth.
constexpr double fp8_speed = 30, fp8_depth = 375;
Cost fp8_product_cost(const Call& call, Cost counted) {
  const auto depth = static_cast<double>(call.in[0].shape[1]);
  counted.speed = fp8_speed;
  counted.flops *= (depth + fp8_depth) / depth;
  return counted;
}
// By the same steps: a scale takes two launches, the time of these bytes more; codes are read and written a
// little slower than groups do it.
constexpr double launch_bytes = 3e6, codes_bytes = 1.2;

Cost cost(const Call& call) {
  if (is_head(call)) return head_cost(call);
  const auto of_cpu = on_the_cpu(call).cost;
  Cost counted = of_cpu ? of_cpu(call) : plain_cost(call);
  if (on_host(call)) return cost_on_host(call, counted);
  if (call.op == &op::fp8_product) return fp8_product_cost(call, counted);
  if (call.op == &op::fp8_scale) counted.bytes += launch_bytes;
  if (call.op == &op::fp8_codes) counted.bytes *= codes_bytes;
  return counted;
}

// Which products are in codes must not depend on the machine at hand, nor on one that somebody measured.
double fp8_seconds(const Call& call) { return seconds_of(h200_machine(), cuda_target(), call); }

// Tensor cores take half of bf16's rate for it, and so nine times that of f32 (machine.cc).
Cost tf32_cost(const Call& call) {
  constexpr double speed = 9;
  Cost counted = cost(call);
  if (route_of(call) == Route::library && call.in[0].dtype == DType::f32) counted.speed = speed;
  return counted;
}

// Has it no kernel here, and does what it is written in have them?
bool is_expanded(const Op& op) {
  return op.expand && op.kind != OpKind::control && !can_generate(op) && !has_call_kernels(op) &&
         &op != &op::contract && &op != &op::linear_cross_entropy;
}

bool is_convolution_here(const Op& op) {
  return &op == &op::conv || &op == &op::conv_input_grad || &op == &op::conv_weight_grad ||
         &op == &op::conv_last || &op == &op::conv_last_input_grad || &op == &op::conv_last_weight_grad;
}
Cost convolution_cost(const Call& call) {
  const ConvForm form = *conv_form(call);
  const auto count = [](std::int64_t x) { return static_cast<double>(x); };
  const double per_output = count(form.w.count()) / count(std::max<std::int64_t>(form.w.size[0], 1));
  const bool is_pointwise = form.w.size[2] * form.w.size[3] * form.w.size[4] == 1;
  return {.flops = 2 * per_output * count(form.y.count()),
          .bytes = bytes_moved(call),
          .work = form.group_in() == 1 ? WorkKind::depthwise
                  : is_pointwise       ? WorkKind::contraction
                                       : WorkKind::convolution};
}

// Elementwise ops that the CPU expands: those of norms in parts.
Cost element_cost(const Call& call) {
  constexpr double per_element = 8;  // additions
  return {.flops = per_element * static_cast<double>(call.out[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}
// A call's kernels that the CPU expands: gradients of pools, sums of norms in parts.
Cost expanded_cost(const Call& call) {
  Cost cost = plain_cost(call);
  for (const Type& type : call.in) cost.flops += static_cast<double>(type.count());
  return cost;
}

const ExecutionFacts* find(const Op& op) {
  const bool known = cpu_target().runs(op) || has_call_kernels(op) || can_generate(op);
  if (!known || is_expanded(op)) return nullptr;
  // Facts are the same functions for all ops, but for what the CPU's row says of costs and of the host.
  static const auto* const facts = [] {
    auto* const table = new std::map<const Op*, ExecutionFacts>;
    for (const Op* listed : all_ops()) {
      const ExecutionFacts* of_cpu = cpu_target().find(*listed);
      if (is_convolution_here(*listed)) {
        table->emplace(listed, ExecutionFacts{.cost = convolution_cost, .scratch = scratch});
        continue;
      }
      if (!of_cpu) {
        if (can_generate(*listed)) {
          table->emplace(listed, ExecutionFacts{.cost = element_cost,
                                                .scratch = scratch,
                                                .in_place = elementwise_in_place,
                                                .strided = strided,
                                                .fusion = is_pointwise});
        } else if (has_call_kernels(*listed)) {
          table->emplace(listed, ExecutionFacts{.cost = expanded_cost, .scratch = scratch});
        }
        continue;
      }
      table->emplace(listed, ExecutionFacts{.cost = cost,
                                            .scratch = scratch,
                                            .in_place = in_place,
                                            .strided = strided,
                                            .fusion = fusion,
                                            .shift = window_shift,
                                            .host_reads = of_cpu->host_reads,
                                            .on_host = on_host});
    }
    return table;
  }();
  const auto found = facts->find(&op);
  if (found != facts->end()) return &found->second;
  static const ExecutionFacts custom{
      .cost = cost, .in_place = in_place, .on_host = on_host};  // an op made of the user's code
  return &custom;
}

const ExecutionFacts* find_tf32(const Op& op) {
  static const ExecutionFacts product = [] {
    ExecutionFacts facts = *find(op::contract);
    facts.cost = tf32_cost;
    return facts;
  }();
  return &op == &op::contract ? &product : find(op);
}

}  // namespace

Route route_of(const Call& call) {
  if (!call.regions.empty()) return Route::control;
  // A step of a kernel is one formula for all elements.
  const bool is_table = call.op == &op::constant && call.out[0].count() != 1;
  if (can_generate(*call.op) && !is_table) return Route::generated;
  if (is_head(call)) return Route::head;
  if (is_convolution_here(*call.op)) return Route::convolution;
  if (has_call_kernel(call)) return Route::call;
  if (thin_product(call)) return Route::product;
  if (product_form(call)) return Route::library;
  if (has_product_kernel(call)) return Route::product;
  return Route::host;
}

std::string_view name_of(Route route) {
  constexpr std::string_view names[] = {"group",       "call", "library", "product",
                                        "convolution", "head", "control", "host"};
  return names[static_cast<std::size_t>(route)];
}

const Target& cuda_target() {
  static constexpr Target cuda{.name = "cuda",
                               .alignment = 256,
                               .find = find,
                               .adds_rows = true,
                               .channels_last = true,
                               .splits_norms = true,
                               .reads_windows = true,
                               .most_halo = most_tile_halo,
                               .tile_bytes = most_tile_bytes};
  return cuda;
}

const Target& cuda_tf32_target() {
  static const Target tf32 = [] {
    Target target = cuda_target();
    target.name = "cuda_tf32";
    target.find = find_tf32;
    target.arithmetic = "products of f32 in TF32: operands rounded to 11 bits, sums in f32";
    return target;
  }();
  return tf32;
}

const Target& cuda_fp8_target(bool tf32) {
  const auto made = [](const Target& without, std::string_view name, std::string_view arithmetic) {
    Target target = without;
    target.name = name;
    target.fp8_seconds = fp8_seconds;
    target.arithmetic = arithmetic;
    return target;
  };
  static const Target plain =
      made(cuda_target(), "cuda_fp8",
           "large products of 16-bit floats in fp8: operands rounded to 4 bits, sums in f32");
  static const Target with_tf32 =
      made(cuda_tf32_target(), "cuda_tf32_fp8",
           "large products of 16-bit floats in fp8: operands rounded to 4 bits; of f32 in TF32: to 11 bits; "
           "sums in f32");
  return tf32 ? with_tf32 : plain;
}

bool uses_tf32(const Target& target) { return target.find == find_tf32; }

}  // namespace tidemark::cuda
