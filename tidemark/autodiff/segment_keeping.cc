// What segments of a loop keep (loop_segments.h): records, or states.
#include <algorithm>

#include "tidemark/autodiff/loop_segments.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

class RecordsKept final : public SegmentKeeping {
 public:
  explicit RecordsKept(const LoopRecords& records) : records_(records) {}

  std::vector<Var> forward(Builder& builder, const LoopAttrs& attrs,
                           std::span<const Var> operands) const override {
    return write_forward(builder, records_, attrs, operands);
  }
  std::vector<Var> again(Builder& builder, const LoopAttrs& attrs,
                         std::span<const Var> operands) const override {
    return write_forward(builder, records_, attrs, operands, /*replays=*/true);
  }
  std::vector<Var> invariants(Builder& builder, std::span<const Var> operands) const override {
    return write_invariants(builder, records_, operands);
  }
  std::vector<Var> backward(Builder& builder, const LoopReverseAttrs& attrs, std::span<const Var> operands,
                            std::span<const Var> kept, const BackwardStart& start) const override {
    return write_backward(builder, records_, attrs, operands, kept, start);
  }

 private:
  const LoopRecords& records_;
};

class StatesKept final : public SegmentKeeping {
 public:
  StatesKept(Graph step, ReversedRegions regions, std::int64_t slots)
      : step_(std::move(step)), regions_(std::move(regions)), slots_(slots) {}

  std::vector<Var> forward(Builder& builder, const LoopAttrs& attrs,
                           std::span<const Var> operands) const override {
    return run(builder, step_, attrs, operands);
  }
  std::vector<Var> again(Builder& builder, const LoopAttrs& attrs,
                         std::span<const Var> operands) const override {
    return run(builder, regions_.step, attrs, operands);
  }
  std::vector<Var> invariants(Builder&, std::span<const Var>) const override { return {}; }
  std::vector<Var> backward(Builder& builder, const LoopReverseAttrs& attrs, std::span<const Var> operands,
                            std::span<const Var> kept, const BackwardStart& start) const override {
    const auto carries = static_cast<std::size_t>(attrs.carries);
    const ReversalLayout at(attrs, regions_.back);
    LoopReverseAttrs own = attrs;
    own.slots = std::min(slots_, attrs.trips);
    own.sums_given = !start.sums.empty();
    std::vector<Var> in(operands.begin(), operands.end());
    std::ranges::copy(kept.last(carries), in.begin());
    in.insert(in.end() - static_cast<std::ptrdiff_t>(at.captured), start.sums.begin(), start.sums.end());
    std::vector<Var> found = builder.call(op::loop_reverse, in, pack(own), {regions_.step, regions_.back});
    found.resize(at.results);
    return found;
  }

 private:
  std::vector<Var> run(Builder& builder, const Graph& step, LoopAttrs attrs,
                       std::span<const Var> operands) const {
    attrs.keep = std::min(slots_, attrs.trips);
    return builder.call(op::loop, operands, pack(attrs), {step});
  }

  const Graph step_;
  const ReversedRegions regions_;
  const std::int64_t slots_;
};

}  // namespace

std::unique_ptr<SegmentKeeping> keeping_records(const LoopRecords& records) {
  return std::make_unique<RecordsKept>(records);
}

std::unique_ptr<SegmentKeeping> keeping_states(Graph step, ReversedRegions regions, std::int64_t slots) {
  return std::make_unique<StatesKept>(std::move(step), std::move(regions), slots);
}

}  // namespace tidemark
