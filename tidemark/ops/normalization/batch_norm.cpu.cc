#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/normalize.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::batch_norm = norm_kernel<batch_norm_form>(run_channel_norm);
const CpuKernel cpu::batch_norm_grad = norm_kernel<batch_norm_form>(run_channel_norm_grad);
const CpuKernel cpu::batch_norm_params = norm_kernel<batch_norm_form>(run_channel_norm_params);

}  // namespace tidemark
