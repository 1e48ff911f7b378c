// Functions of KernelArgs that are compiled once per SIMD target, as functions and kernels that call the
// machine's. For the part of a file under HWY_ONCE, in namespace tidemark; `function` is the name within
// HWY_NAMESPACE. The file itself brings hwy/highway.h, after hwy/foreach_target.h.
#pragma once
#include "tidemark/ops/cpu_kernel.h"

#define TM_DISPATCHED(name, function) \
  HWY_EXPORT(function);               \
  void name(const KernelArgs& args) { HWY_DYNAMIC_DISPATCH(function)(args); }

// What follows the function are the kernel's facts: `.cost = cost, .in_place = in_place`.
#define TM_DISPATCHED_KERNEL(op, attributes, function, ...) \
  namespace {                                               \
  TM_DISPATCHED(run_kernel_of_##op, function)               \
  }                                                         \
  const CpuKernel cpu::op = cpu_kernel<attributes>(run_kernel_of_##op, {__VA_ARGS__})
