// What the kernels that reverse loops share: the gradients, handed on from the last iteration to the first.
#pragma once
#include <memory>

#include "tidemark/ops/control/handed_on.h"
#include "tidemark/ops/control/loop_reverse.h"

namespace tidemark {

struct Reversal {
  LoopReverseAttrs attrs;
  ReversalLayout at;
  std::vector<std::int64_t> in_bytes, out_bytes;  // of region 1
  std::vector<std::int64_t> places;               // the iterations whose states come; empty: all
  HandedOn states, gradients;
};

inline std::byte* captured_value(const KernelArgs& args, const Reversal& r, std::size_t i) {
  return args.in[args.in.size() - (r.attrs.unknown_length() ? 2 : 0) - r.at.captured + i].data;
}

// The gradients, from the last iteration to the first. What is carried or summed begins in the result's
// memory.
class Gradients {
 public:
  Gradients(const KernelArgs& args, const Reversal& reversal, std::int64_t trips, ScratchPieces& scratch)
      : args_(args),
        r_(reversal),
        at_(reversal.at),
        trips_(trips),
        in_(scratch.take_pointers(at_.inputs + at_.results + 2 * at_.carries + at_.scanned + at_.captured)),
        out_(in_ + at_.inputs),
        handed_(args, reversal.gradients, in_, out_, scratch),
        slices_(scratch.take_pointers(at_.stacked_end - at_.float_carries)) {
    for (std::size_t r = at_.float_carries; r < at_.stacked_end; ++r)
      slices_[r - at_.float_carries] = lies_over(r) ? scratch.take(r_.out_bytes[r]) : nullptr;
    for (std::size_t i = 0; i < at_.captured; ++i)
      in_[at_.carries + at_.scanned + i] = captured_value(args, r_, i);
    for (std::size_t r = 0; r < at_.results; ++r) {
      if (at_.is_stacked(r)) continue;
      std::byte*& begin = in_[at_.input_of(r)];
      begin = args.out[r].data;
      if (r < at_.float_carries) {
        copy_bytes(args, begin, args.in[at_.carries + at_.scanned + r].data, r_.out_bytes[r]);
      } else if (r_.attrs.sums_given) {
        const std::size_t captured = args.in.size() - at_.captured;
        copy_bytes(args, begin, args.in[captured - (at_.results - r)].data, r_.out_bytes[r]);
      } else {
        clear_bytes(args, begin, r_.out_bytes[r]);
      }
    }
  }

  // `state(c)` is the carried value c before iteration j.
  template <class State>
  void reverse(std::int64_t j, const State& state) {
    const std::int64_t slice = r_.attrs.reverse ? trips_ - 1 - j : j;
    for (std::size_t c = 0; c < at_.carries; ++c) in_[c] = state(c);
    for (std::size_t i = at_.carries; i < at_.carries + at_.scanned; ++i)
      in_[i] = args_.in[i].data + slice * r_.in_bytes[i];
    const std::size_t first_seed = at_.carries + at_.scanned + at_.float_carries;
    for (std::size_t i = at_.y_seeds; i < at_.sums; ++i)
      in_[i] = args_.in[first_seed + i - at_.y_seeds].data + slice * r_.in_bytes[i];
    const auto result = [&](std::size_t r) { return args_.out[r].data + slice * r_.out_bytes[r]; };
    for (std::size_t r = at_.float_carries; r < at_.stacked_end; ++r)
      out_[r] = spare(r) ? spare(r) : result(r);
    handed_.aim();
    args_.regions[1](in_, out_);
    handed_.hand_on();
    for (std::size_t r = at_.float_carries; r < at_.stacked_end; ++r) {
      if (spare(r)) copy_bytes(args_, result(r), spare(r), r_.out_bytes[r]);
    }
  }

  std::byte** step_pointers() const { return out_ + at_.results; }

  void finish() {
    handed_.move_to([&](std::size_t r) { return args_.out[r].data; });
  }

 private:
  // Does a stacked result lie where an x or a seed of a y does, so that the step must be done with the slice
  // first?
  bool lies_over(std::size_t r) const {
    const std::size_t xs = at_.carries, seeds = xs + at_.scanned + at_.float_carries;
    const auto is_there = [&](std::size_t i) { return args_.in[i].data == args_.out[r].data; };
    for (std::size_t i = 0; i < at_.scanned; ++i) {
      if (is_there(xs + i)) return true;
    }
    for (std::size_t i = 0; i < at_.sums - at_.y_seeds; ++i) {
      if (is_there(seeds + i)) return true;
    }
    return false;
  }
  std::byte* spare(std::size_t r) const { return slices_[r - at_.float_carries]; }

  const KernelArgs& args_;
  const Reversal& r_;
  const ReversalLayout& at_;
  const std::int64_t trips_;
  std::byte **in_, **out_;
  HandedPointers handed_;
  std::byte** slices_;  // per stacked result that lies over what a step reads: a place for one slice
};

}  // namespace tidemark
