// The CPU implementation of an op: the function, how its attributes are unpacked once before a plan runs, and
// what the planner knows of it.
//   const CpuKernel cpu::flip = cpu_kernel<AxesAttrs>(run, {.strided = takes_any_strides});  // in
//   flip.cpu.cc
#pragma once
#include <memory>

#include "tidemark/base/attrs.h"
#include "tidemark/ir/target.h"
#include "tidemark/kernel/args.h"
#include "tidemark/kernel/tile.h"

namespace tidemark {

struct FusedReduction;                   // kernel/fused.h
void run_fused(const KernelArgs& args);  // likewise

struct CpuKernel {
  void (*run)(const KernelArgs&) = nullptr;  // nullptr: the op can be planned, but runs only once expanded
  std::shared_ptr<const void> (*prepare)(const Call&) = nullptr;  // what KernelArgs::attributes points at
  TileCode (*tile)(const Call&) = nullptr;                        // of calls whose fusion is pointwise
  FusedReduction (*reduction)(const Call&) = nullptr;  // of calls whose fusion is reduction; no places
  ExecutionFacts facts = {};
};

template <class A>
constexpr CpuKernel cpu_kernel(void (*run)(const KernelArgs&), const ExecutionFacts& facts = {},
                               TileCode (*tile)(const Call&) = nullptr) {
  return {.run = run,
          .prepare = [](const Call& call) -> std::shared_ptr<const void> {
            return std::make_shared<const A>(unpack<A>(*call.attrs));
          },
          .tile = tile,
          .facts = facts};
}

// The same for a kernel whose attributes are what `form` makes of the call.
template <auto form>
constexpr CpuKernel formed_kernel(void (*run)(const KernelArgs&), const ExecutionFacts& facts = {}) {
  return {.run = run,
          .prepare = [](const Call& call) -> std::shared_ptr<const void> {
            return std::make_shared<const decltype(form(call))>(form(call));
          },
          .facts = facts};
}

// One call as a program of one instruction.
std::shared_ptr<const void> prepare_tile(const Call& call, TileCode code);

// The kernel of a pointwise op: alone or in a group, `tile` does the work.
template <TileCode (*tile)(const Call&)>
constexpr CpuKernel tile_kernel(const ExecutionFacts& facts) {
  return {.run = run_fused,
          .prepare = [](const Call& call) -> std::shared_ptr<const void> {
            return prepare_tile(call, tile(call));
          },
          .tile = tile,
          .facts = facts};
}

// Facts that kernels share.
bool takes_any_strides(const Call& call, int operand);  // strided: every operand as it lies
Fusion is_pointwise(const Call& call);                  // fusion: every call

}  // namespace tidemark
