#include "tidemark/ops/registry.h"

namespace tidemark {

// Expanded before anything runs here.
const CpuKernel cpu::conv_last = {};
const CpuKernel cpu::conv_last_input_grad = {};
const CpuKernel cpu::conv_last_weight_grad = {};
const CpuKernel cpu::max_pool_grad = {};

}  // namespace tidemark
