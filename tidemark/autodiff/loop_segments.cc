#include "tidemark/autodiff/loop_segments.h"

#include <algorithm>

#include "tidemark/ops/movement/movement.h"
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

}  // namespace

LoopSegments write_forward_segments(Builder& builder, const LoopRecords& records, const LoopAttrs& attrs,
                                    std::span<const Var> operands, std::int64_t count,
                                    const std::vector<bool>& outlive) {
  const std::size_t carries = records.at.carries, scanned = records.at.scanned;
  LoopSegments segments;
  count = std::clamp<std::int64_t>(count, 1, attrs.trips);
  std::vector<Var> in(operands.begin(), operands.end());
  const std::size_t ys = records.joint.outputs().size() - records.at.results - carries;
  segments.results.resize(carries + ys);
  for (std::int64_t k = 0, begin = 0; k < count; ++k) {
    const std::int64_t end = attrs.trips * (k + 1) / count;
    const Window window = window_of_steps(begin, end, attrs.trips, attrs.reverse);
    for (std::size_t i = carries; i < carries + scanned; ++i) in[i] = part_of(operands[i], window);
    LoopAttrs own = attrs;
    own.trips = end - begin;
    segments.kept.push_back(write_forward(builder, records, own, in));
    const std::vector<Var>& made = segments.kept.back();
    std::copy_n(made.begin(), carries, in.begin());
    for (std::size_t y = carries; y < carries + ys; ++y)
      put(segments.results[y], made[y], window, attrs.trips);
    segments.ends.push_back(begin = end);
  }
  std::copy_n(in.begin(), carries, segments.results.begin());
  for (std::size_t k = 0; k < segments.kept.size(); ++k) {
    const Window window =
        window_of_steps(k == 0 ? 0 : segments.ends[k - 1], segments.ends[k], attrs.trips, attrs.reverse);
    for (std::size_t y = 0; y < ys; ++y) {
      if (outlive[y]) segments.kept[k][carries + y] = part_of(segments.results[carries + y], window);
    }
  }
  return segments;
}

std::vector<Var> write_backward_segments(Builder& builder, const LoopRecords& records,
                                         const LoopReverseAttrs& attrs, std::span<const Var> operands,
                                         const LoopSegments& segments) {
  const ReversalLayout& at = records.at;
  const std::size_t seeds = at.carries + at.scanned, y_seeds = seeds + at.float_carries;
  const auto seeded = static_cast<std::size_t>(attrs.seeded);
  const std::vector<Var> invariants = write_invariants(builder, records, operands);
  std::vector<Var> in(operands.begin(), operands.end()), gradients(at.results), sums;
  for (std::size_t k = segments.kept.size(); k-- > 0;) {
    const std::int64_t begin = k == 0 ? 0 : segments.ends[k - 1], end = segments.ends[k];
    const Window window = window_of_steps(begin, end, attrs.trips, attrs.reverse);
    for (std::size_t i = at.carries; i < seeds; ++i) in[i] = part_of(operands[i], window);
    for (std::size_t i = y_seeds; i < y_seeds + seeded; ++i) in[i] = part_of(operands[i], window);
    LoopReverseAttrs own = attrs;
    own.trips = end - begin;
    const std::vector<Var> found =
        write_backward(builder, records, own, in, segments.kept[k], {.invariants = invariants, .sums = sums});
    for (std::size_t r = 0; r < at.results; ++r) {
      if (at.is_stacked(r)) {
        put(gradients[r], found[r], window, attrs.trips);
      } else {
        gradients[r] = found[r];
      }
    }
    std::copy_n(found.begin(), at.float_carries, in.begin() + static_cast<std::ptrdiff_t>(seeds));
    sums.assign(found.begin() + static_cast<std::ptrdiff_t>(at.stacked_end), found.end());
  }
  return gradients;
}

}  // namespace tidemark
