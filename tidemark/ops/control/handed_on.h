// What a loop hands on from one run of its region to the next, and where it lies meanwhile: in as few places
// as the region's plan allows. An output that the plan makes in the memory of an input handed on takes over
// that input's place, whichever value it was of; for the others there are spare places, which change hands
// with those that were read.
#pragma once
#include <algorithm>

#include "tidemark/ir/graph.h"
#include "tidemark/ops/control/loop_cpu.h"

namespace tidemark {

struct HandedOn {
  struct Value {
    std::size_t output, input;  // of the region
    std::int64_t bytes;
    int over = -1;   // the value whose place the output takes over; -1: none, a spare one is needed
    int frees = -1;  // then, the value whose place is spare afterwards
  };
  std::vector<Value> values;

  // For the spare places and pointers to them.
  std::int64_t scratch() const;
};

// In the order of handed_inputs (loop.h), which are the region's first outputs but for those that are
// stacked.
HandedOn handed_on(const Call& call, std::size_t region);

// Drives the pointers of a region's inputs and outputs. The caller sets in[input] of each value once, to
// memory that may be written; then aim, run, hand_on, as often as it likes.
class HandedPointers {
 public:
  HandedPointers(const KernelArgs& args, const HandedOn& handed, std::byte** in, std::byte** out,
                 ScratchPieces& scratch)
      : args_(args),
        handed_(handed),
        in_(in),
        out_(out),
        spare_(scratch.take_pointers(handed.values.size())) {
    for (std::size_t k = 0; k < handed.values.size(); ++k) {
      if (handed.values[k].over < 0) spare_[k] = scratch.take(handed.values[k].bytes);
    }
  }

  void aim() const {
    for (std::size_t k = 0; k < handed_.values.size(); ++k) {
      const HandedOn::Value& value = handed_.values[k];
      out_[value.output] = value.over >= 0 ? place(value.over) : spare_[k];
    }
  }
  void hand_on() const {
    for (std::size_t k = 0; k < handed_.values.size(); ++k) {
      if (handed_.values[k].over < 0) spare_[k] = place(handed_.values[k].frees);
    }
    for (const HandedOn::Value& value : handed_.values) in_[value.input] = out_[value.output];
  }

  // Moves each value to the place that target(its output) names; these are places that have been given.
  template <class Target>
  void move_to(const Target& target) const {
    for (const HandedOn::Value& value : handed_.values) {
      std::byte* wanted = target(value.output);
      if (in_[value.input] == wanted || value.bytes == 0) continue;
      const auto there = std::ranges::find_if(handed_.values, [&](const HandedOn::Value& other) {
        return in_[other.input] == wanted && other.bytes > 0;
      });
      if (there == handed_.values.end()) {
        copy_bytes(args_, wanted, in_[value.input], value.bytes);
      } else {
        swap_bytes(args_, wanted, in_[value.input], value.bytes);
        in_[there->input] = in_[value.input];
      }
      in_[value.input] = wanted;
    }
  }

 private:
  std::byte* place(int value) const { return in_[handed_.values[static_cast<std::size_t>(value)].input]; }

  const KernelArgs& args_;
  const HandedOn& handed_;
  std::byte **in_, **out_, **spare_;
};

}  // namespace tidemark
