// The kernels that layer, rms, group and batch normalisation share, and what the planner knows of them.
#pragma once
#include "tidemark/ops/cpu_kernel.h"
#include "tidemark/ops/normalization/normalize.h"

namespace tidemark {

// KernelArgs::attributes is the NormForm. Those of a trailing form, and those with gain and bias per channel.
void run_norm(const KernelArgs& args);
void run_norm_grad(const KernelArgs& args);
void run_norm_params(const KernelArgs& args);
void run_channel_norm(const KernelArgs& args);
void run_channel_norm_grad(const KernelArgs& args);
void run_channel_norm_params(const KernelArgs& args);

Cost cost_norm(const Call& call, const NormForm& form);
Cost cost_norm_grad(const Call& call, const NormForm& form);
Cost cost_norm_params(const Call& call, const NormForm& form);

// The kernels of one family, from the function that reads a NormForm off a call of any of its three ops.
template <NormForm (*form)(const Call&)>
struct NormKernels {
  static constexpr CpuKernel forward(void (*run)(const KernelArgs&)) {
    return formed_kernel<form>(
        run, {.cost = [](const Call& call) { return cost_norm(call, form(call)); },
              .in_place = [](const Call&, int result, int operand) { return result == 0 && operand == 0; }});
  }
  static constexpr CpuKernel gradient(void (*run)(const KernelArgs&)) {
    return formed_kernel<form>(
        run,
        {.cost = [](const Call& call) { return cost_norm_grad(call, form(call)); },
         // A row's sums are taken before its first element is written.
         .in_place = [](const Call& call, int, int o) { return o == 0 || o + 1 == std::ssize(call.in); }});
  }
  static constexpr CpuKernel parameters(void (*run)(const KernelArgs&)) {
    return formed_kernel<form>(run,
                               {.cost = [](const Call& call) { return cost_norm_params(call, form(call)); }});
  }
};

}  // namespace tidemark
