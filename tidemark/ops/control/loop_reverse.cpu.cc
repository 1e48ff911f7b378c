#include <algorithm>

#include "tidemark/ops/control/loop_reverse_cpu.h"
#include "tidemark/ops/registry.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark {
namespace {

std::shared_ptr<const void> prepare(const Call& call) {
  const auto attrs = call.attrs_as<LoopReverseAttrs>();
  const Graph& back = call.regions[1];
  auto reversal =
      std::make_shared<Reversal>(Reversal{attrs, ReversalLayout(attrs, back), {}, {}, {}, {}, {}});
  TM_CHECK(back.outputs().size() == reversal->at.results && !attrs.begins,
           "a reversal of which it is not decided how it runs");
  for (const Type& type : input_types(back)) reversal->in_bytes.push_back(type.bytes());
  for (const Type& type : output_types(back)) reversal->out_bytes.push_back(type.bytes());
  reversal->states = handed_on(call, 0);
  reversal->gradients = handed_on(call, 1);
  if (!attrs.unknown_length() && !attrs.keeps_all())
    reversal->places = snapshot_places(attrs.trips, attrs.slots);
  return reversal;
}

// Computes states again, between slots and a place of its own.
class Advancing {
 public:
  Advancing(const KernelArgs& args, const Reversal& reversal, std::int64_t trips, std::byte** pointers,
            ScratchPieces& scratch)
      : args_(args),
        r_(reversal),
        trips_(trips),
        in_(pointers),
        out_(pointers + reversal.at.carries + reversal.at.scanned + reversal.at.captured),
        handed_(args, reversal.states, in_, out_, scratch) {
    const ReversalLayout& at = r_.at;
    for (std::size_t i = 0; i < at.captured; ++i)
      in_[at.carries + at.scanned + i] = captured_value(args, r_, i);
    places_ = reinterpret_cast<Kept*>(scratch.take_notes(16 * r_.attrs.slots));
    for (std::size_t c = 0; c < at.carries; ++c) in_[c] = scratch.take(r_.in_bytes[c]);
    for (std::size_t c = 0; c < at.carries; ++c)
      copy_bytes(args, args.out[at.results + c].data, args.in[c].data, r_.in_bytes[c] * r_.attrs.slots);
    const auto known = static_cast<std::int64_t>(r_.places.size());
    const auto told = [&](std::int64_t s) {
      return fetch<std::int64_t>(args, args.in[args.in.size() - 2].data + s * 8);
    };
    for (std::int64_t s = 0; s < r_.attrs.slots; ++s) {
      const std::int64_t place = r_.attrs.unknown_length() ? told(s)
                                 : s < known               ? r_.places[static_cast<std::size_t>(s)]
                                                           : -1;
      places_[s] = {place, s};
      depth_ += place >= 0;
    }
    // Those in use first, by iteration.
    std::sort(places_, places_ + r_.attrs.slots, [](const Kept& a, const Kept& b) {
      return static_cast<std::uint64_t>(a.iteration) < static_cast<std::uint64_t>(b.iteration);
    });
  }

  // Hands every iteration's state to the gradients, from the last one on.
  void run(Gradients& gradients) {
    std::int64_t end = trips_;
    const auto reverse = [&](const auto& state) { gradients.reverse(end - 1, state), --end; };
    while (depth_ > 0) {
      const std::int64_t top = depth_ - 1, from = places_[top].iteration, steps = end - from;
      if (steps <= 1) {
        if (steps == 1) reverse([&](std::size_t c) { return slot(c, top); });
        --depth_;
        continue;
      }
      const std::int64_t left = r_.attrs.slots - top;
      const std::int64_t to = from + (left == 1 ? steps - 1 : first_advance(steps, left));
      if (to == end - 1) {
        advance(from, to, top);
        reverse([&](std::size_t c) { return in_[c]; });
      } else {
        advance(from, to, top);
        for (std::size_t c = 0; c < r_.at.carries; ++c)
          copy_bytes(args_, slot(c, depth_), in_[c], r_.in_bytes[c]);
        at_hand_ = depth_;
        places_[depth_++].iteration = to;
      }
    }
  }

 private:
  struct Kept {
    std::int64_t iteration, slot;
  };

  std::byte* slot(std::size_t c, std::int64_t depth) const {
    return args_.out[r_.at.results + c].data + places_[depth].slot * r_.in_bytes[c];
  }

  // The working state: from that of iteration `from`, at depth `source`, to that of `to`.
  void advance(std::int64_t from, std::int64_t to, std::int64_t source) {
    const ReversalLayout& at = r_.at;
    for (std::size_t c = 0; c < at.carries && source != at_hand_; ++c)
      copy_bytes(args_, in_[c], slot(c, source), r_.in_bytes[c]);
    at_hand_ = -1;
    for (std::int64_t j = from; j < to; ++j) {
      const std::int64_t slice = r_.attrs.reverse ? trips_ - 1 - j : j;
      for (std::size_t i = at.carries; i < at.carries + at.scanned; ++i)
        in_[i] = args_.in[i].data + slice * r_.in_bytes[i];
      handed_.aim();
      args_.regions[0](in_, out_);
      handed_.hand_on();
    }
  }

  const KernelArgs& args_;
  const Reversal& r_;
  const std::int64_t trips_;
  std::byte **in_, **out_;  // of the step; the carried ones among `in_` are the working state
  HandedPointers handed_;
  Kept* places_ = nullptr;  // a stack by iteration; beyond its top, the slots that are free
  std::int64_t depth_ = 0;
  std::int64_t at_hand_ = -1;  // the depth whose state is the working one, too
};

void run(const KernelArgs& args) {
  const Reversal& reversal = args.attrs<Reversal>();
  const LoopReverseAttrs& a = reversal.attrs;
  const std::int64_t trips = a.unknown_length() ? fetch<std::int64_t>(args, args.in.back().data) : a.trips;
  ScratchPieces scratch(args);
  Gradients gradients(args, reversal, trips, scratch);
  if (!a.keeps_all()) {
    Advancing(args, reversal, trips, gradients.step_pointers(), scratch).run(gradients);
  } else {
    for (std::int64_t j = a.trips - 1; j >= 0; --j) {
      const std::int64_t slot = a.reverse ? a.trips - 1 - j : j;
      gradients.reverse(j, [&](std::size_t c) { return args.in[c].data + slot * reversal.in_bytes[c]; });
    }
  }
  gradients.finish();
}

Cost cost(const Call& call) {
  if (call.planned.size() < 2) return {.bytes = bytes_moved(call), .work = WorkKind::opaque};
  const auto a = call.attrs_as<LoopReverseAttrs>();
  constexpr std::int64_t expected = 16;  // where nothing is known
  const std::int64_t steps = a.unknown_length() ? expected : a.trips;
  const auto trips = static_cast<double>(steps);
  // Beyond the sweep of the loop itself, which goes over all steps once.
  const auto advances = static_cast<double>(schedule::least_advances(steps + 1, a.slots) - steps);
  const RegionFacts &step = call.planned[0], &back = call.planned[1];
  return {.flops = advances * step.flops + trips * back.flops,
          .bytes = advances * step.bytes_moved + trips * back.bytes_moved,
          .work = WorkKind::opaque,
          .seconds = advances * step.seconds + trips * back.seconds};
}

// Pointers, and places for gradients that are carried or summed up and not written over what they were; for a
// slice of each that is stacked, in case it goes over what a step reads. Where states are computed again,
// one, with places likewise, and for each slot whose state it holds.
std::int64_t scratch(const Call& call) {
  const auto a = call.attrs_as<LoopReverseAttrs>();
  const Graph &step = call.regions[0], &back = call.regions[1];
  const std::size_t pointers =
      step.inputs().size() + step.outputs().size() + back.inputs().size() + back.outputs().size();
  std::int64_t bytes = align_up(static_cast<std::int64_t>(pointers) * 8, buffer_alignment);
  bytes += handed_on(call, 1).scratch();
  const ReversalLayout at(a, back);
  bytes += align_up(8 * a.wanted_scanned, buffer_alignment);
  for (std::size_t r = at.float_carries; r < at.stacked_end; ++r)
    bytes += align_up(back.type(back.outputs()[r]).bytes(), buffer_alignment);
  if (a.keeps_all()) return bytes;
  bytes += align_up(16 * a.slots, buffer_alignment);
  bytes += handed_on(call, 0).scratch();
  for (std::int64_t c = 0; c < a.carries; ++c)
    bytes += align_up(slice_of(call.in[static_cast<std::size_t>(c)]).bytes(), buffer_alignment);
  return bytes;
}

std::size_t float_carries(const Call& call, std::int64_t carries) {
  std::size_t count = 0;
  for (std::int64_t i = 0; i < carries; ++i) count += is_float(call.in[static_cast<std::size_t>(i)].dtype);
  return count;
}

// A gradient of what is carried over the seed it begins as, a sum over what it was so far; snapshots over
// themselves, since slots are used again. A gradient of an x over an x or a seed of a y: once an iteration
// is reversed, nobody reads its slices.
bool in_place(const Call& call, int result, int operand) {
  const auto a = call.attrs_as<LoopReverseAttrs>();
  const int carried = static_cast<int>(float_carries(call, a.carries));
  const int xs = static_cast<int>(a.carries), seeds = xs + static_cast<int>(a.scanned);
  if (result >= carried && result < carried + static_cast<int>(a.wanted_scanned)) {
    const bool is_x = operand >= xs && operand < seeds;
    const bool is_seed = operand >= seeds + carried && operand < seeds + carried + static_cast<int>(a.seeded);
    return (is_x || is_seed) && call.in[static_cast<std::size_t>(operand)].bytes() ==
                                    call.out[static_cast<std::size_t>(result)].bytes();
  }
  if (result < carried) return operand == static_cast<int>(a.carries + a.scanned) + result;
  const int sums = carried + static_cast<int>(a.wanted_scanned),
            end = sums + static_cast<int>(a.wanted_captured);
  if (result < end) {
    const int first = seeds + carried + static_cast<int>(a.seeded);
    return a.sums_given && operand == first + result - sums;
  }
  return operand < a.carries && result == end + operand;
}

// Of a loop of unknown length: which states it kept, and how many iterations there were.
HostReads host_reads(const Call& call) {
  if (!call.attrs_as<LoopReverseAttrs>().unknown_length()) return {};
  const int operands = static_cast<int>(call.in.size());
  return {.operands = {operands - 2, operands - 1}};
}

}  // namespace

const CpuKernel cpu::loop_reverse = {
    .run = run,
    .prepare = prepare,
    .facts = {.cost = cost, .scratch = scratch, .in_place = in_place, .host_reads = host_reads},
};

}  // namespace tidemark
