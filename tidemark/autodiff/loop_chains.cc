#include "tidemark/autodiff/loop_chains.h"

#include <numeric>

#include "tidemark/autodiff/loop_records.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

std::int64_t with_chains(std::int64_t carries, const ChainedStep& step) {
  return carries + std::ssize(step.chains);
}

// Takes `count` out of a list, from `first` on.
std::vector<Var> take_out(std::vector<Var>& list, std::int64_t first, std::int64_t count) {
  const auto begin = list.begin() + first, end = begin + count;
  std::vector<Var> taken(begin, end);
  list.erase(begin, end);
  return taken;
}

}  // namespace

ChainedLoop write_chained_loop(Builder& builder, LoopAttrs attrs, std::span<const Var> operands,
                               LoopReverseAttrs reversal, const ChainedStep& step) {
  const std::int64_t carries = attrs.carries;
  std::vector<Var> in(operands.begin(), operands.begin() + carries);
  for (const LoopChain& chain : step.chains) in.push_back(full(builder, chain.type, chain.start));
  in.insert(in.end(), operands.begin() + carries, operands.end());
  attrs.carries = reversal.carries = with_chains(carries, step);
  std::vector<Graph> regions;
  regions.push_back(forward_step(reversal, step.region));
  ChainedLoop loop;
  loop.results = builder.call(op::loop, in, pack(attrs), std::move(regions));
  loop.snapshots =
      take_out(loop.results, std::ssize(loop.results) - std::ssize(step.chains), std::ssize(step.chains));
  loop.ends = take_out(loop.results, carries, std::ssize(step.chains));
  return loop;
}

ChainedReversal write_chained_reversal(Builder& builder, LoopReverseAttrs attrs,
                                       std::span<const Var> operands, const ChainedLoop& loop,
                                       const ChainedStep& step) {
  const std::int64_t carries = attrs.carries;
  attrs.carries = with_chains(carries, step);
  const ReversalLayout at(attrs, step.region);
  const auto float_carries = static_cast<std::int64_t>(at.float_carries) - std::ssize(step.chains);
  std::vector<Var> in(operands.begin(), operands.end());
  in.insert(in.begin() + carries + attrs.scanned + float_carries, loop.ends.begin(), loop.ends.end());
  in.insert(in.begin() + carries, loop.snapshots.begin(), loop.snapshots.end());

  const Graph forward = forward_step(attrs, step.region);
  std::vector<std::size_t> all(forward.inputs().size()), carried(at.carries);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::iota(carried.begin(), carried.end(), std::size_t{0});
  std::vector<Graph> regions;
  regions.push_back(for_replay(regrouped(forward, input_types(forward), all, carried)));
  regions.push_back(step.region);
  ChainedReversal reversal;
  reversal.results = builder.call(op::loop_reverse, in, pack(attrs), std::move(regions));
  reversal.ends = take_out(reversal.results, float_carries, std::ssize(step.chains));
  return reversal;
}

}  // namespace tidemark
