#include "tidemark/autodiff/loop_segments.h"

#include <algorithm>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

// Where the slices of steps [begin, end) lie.
struct Window {
  std::int64_t first = 0, last = 0;
};
Window window_of_steps(std::int64_t begin, std::int64_t end, std::int64_t trips, bool reverse) {
  return reverse ? Window{trips - end, trips - begin} : Window{begin, end};
}

Var part_of(const Var& stack, const Window& window) {
  if (window.last - window.first == stack.shape()[0]) return stack;
  return slice_axis(stack, 0, window.first, window.last);
}

// Puts a segment's part into the stack of all steps, which begins with the first part that comes.
void put(Var& stack, const Var& part, const Window& window, std::int64_t trips) {
  const int rank = part.shape().rank();
  Dims start = Dims::filled(rank, 0);
  start[0] = window.first;
  if (stack) {
    stack = update_slice(stack, part, start, Dims::filled(rank, 1));
  } else if (part.shape()[0] == trips) {
    stack = part;
  } else {
    Dims behind = Dims::filled(rank, 0);
    behind[0] = trips - window.last;
    const Var zero = zeros(part.builder(), {part.dtype(), {}});
    stack = pad(part, zero, start, behind, Dims::filled(rank, 0));
  }
}

// Values of little size stay where they are.
void ask_for_disk(Builder& builder, std::span<const Var> values) {
  for (const Var& value : values) {
    if (value.type().bytes() > buffer_alignment)
      builder.graph().add_hint(
          {.kind = HintKind::offload, .value = value.id(), .where = builder.where(), .format = {}});
  }
}

// What waits for the reverse of all segments but the last: the stacks, or the states that those begin with
// which make theirs again. What the whole loop begins with is there anyway.
void ask_for_disk(Builder& builder, const LoopSegments& segments, std::size_t carries) {
  const std::size_t made = segments.results.size();  // what is carried, the ys
  for (std::size_t k = 0; k + 1 < segments.kept.size(); ++k) {
    const std::span<const Var> kept = segments.kept[k], begin = segments.begin[k];
    if (!kept.empty()) {
      ask_for_disk(builder, kept.subspan(made));
    } else if (k > 0) {
      ask_for_disk(builder, begin.first(carries));
    }
  }
}

}  // namespace

std::int64_t segment_length(std::int64_t trips, std::int64_t count) {
  return (trips + count - 1) / std::max<std::int64_t>(1, count);
}

LoopSegments write_forward_segments(Builder& builder, const SegmentKeeping& keeping, const LoopAttrs& attrs,
                                    std::span<const Var> operands, const SegmentCut& cut) {
  const auto carries = static_cast<std::size_t>(attrs.carries);
  const std::size_t scans_end = carries + static_cast<std::size_t>(attrs.scanned), ys = cut.outlive.size();
  const std::int64_t count = std::clamp<std::int64_t>(cut.count, 1, attrs.trips);
  LoopSegments segments;
  segments.attrs = attrs;
  segments.results.resize(carries + ys);
  std::vector<Var> in(operands.begin(), operands.end());
  for (std::int64_t k = 0, begin = 0; k < count; ++k) {
    const std::int64_t end = attrs.trips * (k + 1) / count;
    const Window window = window_of_steps(begin, end, attrs.trips, attrs.reverse);
    for (std::size_t i = carries; i < scans_end; ++i) in[i] = part_of(operands[i], window);
    LoopAttrs own = attrs;
    own.trips = end - begin;
    own.keep = 0;
    segments.begin.push_back(in);
    const bool keeps = k >= cut.again || k + 1 == count;
    const std::vector<Var> made =
        keeps ? keeping.forward(builder, own, in) : builder.call(op::loop, in, pack(own), {*cut.step});
    segments.kept.push_back(keeps ? made : std::vector<Var>());
    std::copy_n(made.begin(), carries, in.begin());
    for (std::size_t y = carries; y < carries + ys; ++y)
      put(segments.results[y], made[y], window, attrs.trips);
    segments.ends.push_back(begin = end);
  }
  std::copy_n(in.begin(), carries, segments.results.begin());
  if (cut.on_disk) ask_for_disk(builder, segments, carries);
  for (std::size_t k = 0; k < segments.kept.size(); ++k) {
    const Window window =
        window_of_steps(k == 0 ? 0 : segments.ends[k - 1], segments.ends[k], attrs.trips, attrs.reverse);
    for (std::size_t y = 0; y < ys && !segments.kept[k].empty(); ++y) {
      if (cut.outlive[y]) segments.kept[k][carries + y] = part_of(segments.results[carries + y], window);
    }
  }
  return segments;
}

std::vector<Var> write_backward_segments(Builder& builder, const SegmentKeeping& keeping,
                                         const LoopReverseAttrs& attrs, const ReversalLayout& at,
                                         std::span<const Var> operands, const LoopSegments& segments) {
  const std::size_t seeds = at.carries + at.scanned, y_seeds = seeds + at.float_carries;
  const auto seeded = static_cast<std::size_t>(attrs.seeded);
  const std::vector<Var> invariants = keeping.invariants(builder, operands);
  std::vector<Var> in(operands.begin(), operands.end()), gradients(at.results), sums;
  for (std::size_t k = segments.kept.size(); k-- > 0;) {
    const std::int64_t begin = k == 0 ? 0 : segments.ends[k - 1], end = segments.ends[k];
    const Window window = window_of_steps(begin, end, attrs.trips, attrs.reverse);
    for (std::size_t i = at.carries; i < seeds; ++i) in[i] = part_of(operands[i], window);
    for (std::size_t i = y_seeds; i < y_seeds + seeded; ++i) in[i] = part_of(operands[i], window);
    LoopAttrs forward = segments.attrs;
    LoopReverseAttrs own = attrs;
    own.trips = forward.trips = end - begin;
    forward.keep = 0;
    own.whole = segments.kept.size() > 1 ? attrs.trips : 0;
    own.again = segments.kept[k].empty();
    const std::vector<Var> kept =
        own.again ? keeping.again(builder, forward, segments.begin[k]) : segments.kept[k];
    const std::vector<Var> found =
        keeping.backward(builder, own, in, kept, {.invariants = invariants, .sums = sums});
    for (std::size_t r = 0; r < at.results; ++r) {
      if (at.is_stacked(r)) {
        put(gradients[r], found[r], window, attrs.trips);
      } else {
        gradients[r] = found[r];
      }
    }
    std::copy_n(found.begin(), at.float_carries, in.begin() + static_cast<std::ptrdiff_t>(seeds));
    sums.assign(found.begin() + static_cast<std::ptrdiff_t>(at.stacked_end),
                found.begin() + static_cast<std::ptrdiff_t>(at.results));
  }
  return gradients;
}

}  // namespace tidemark
