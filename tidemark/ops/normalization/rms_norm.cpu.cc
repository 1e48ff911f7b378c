#include "tidemark/ops/normalization/rms_norm.h"
#include "tidemark/ops/normalization/normalize_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

using Kernels = NormKernels<rms_norm_form>;

const CpuKernel cpu::rms_norm = Kernels::forward(run_norm);
const CpuKernel cpu::rms_norm_grad = Kernels::gradient(run_norm_grad);
const CpuKernel cpu::rms_norm_params = Kernels::parameters(run_norm_params);

}  // namespace tidemark
