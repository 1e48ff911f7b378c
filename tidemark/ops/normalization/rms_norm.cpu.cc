#include "tidemark/ops/normalization/rms_norm.h"
#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::rms_norm = norm_kernel<rms_norm_form>(run_norm);
const CpuKernel cpu::rms_norm_grad = norm_kernel<rms_norm_form>(run_norm_grad);
const CpuKernel cpu::rms_norm_params = norm_kernel<rms_norm_form>(run_norm_params);

}  // namespace tidemark
