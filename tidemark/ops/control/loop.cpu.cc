#include <algorithm>

#include "tidemark/ops/control/handed_on.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/control/stacked_carries.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

struct Loop {
  LoopAttrs attrs;
  std::size_t carries, scanned, inputs, outputs;
  std::vector<std::int64_t> in_bytes, out_bytes;  // of the body's inputs and outputs
  std::vector<std::int64_t> places;               // of the snapshots; empty when every state is kept
  HandedOn handed;
  std::vector<StackedCarry> stacked;
};

std::shared_ptr<const void> prepare(const Call& call) {
  auto loop = std::make_shared<Loop>();
  const Graph& body = call.regions[0];
  loop->attrs = call.attrs_as<LoopAttrs>();
  loop->carries = static_cast<std::size_t>(loop->attrs.carries);
  loop->scanned = static_cast<std::size_t>(loop->attrs.scanned);
  loop->inputs = body.inputs().size();
  loop->outputs = body.outputs().size();
  for (const Type& type : input_types(body)) loop->in_bytes.push_back(type.bytes());
  for (const Type& type : output_types(body)) loop->out_bytes.push_back(type.bytes());
  if (!loop->attrs.keeps_all()) loop->handed = handed_on(call, 0);
  loop->stacked = stacked_carries(call);
  if (loop->attrs.keep > 0 && loop->attrs.keep < loop->attrs.trips)
    loop->places = snapshot_places(loop->attrs.trips, loop->attrs.keep);
  return loop;
}

void run(const KernelArgs& args) {
  const Loop& loop = args.attrs<Loop>();
  const LoopAttrs& a = loop.attrs;
  const std::size_t carries = loop.carries, ys = loop.outputs;
  ScratchPieces scratch(args);
  std::byte** in = scratch.take_pointers(loop.inputs + loop.outputs);
  std::byte** out = in + loop.inputs;
  for (std::size_t i = carries + loop.scanned; i < loop.inputs; ++i) in[i] = args.in[i].data;
  const bool keeps_all = a.keeps_all();
  const std::size_t snapshots = ys;
  const auto snapshot = [&](std::size_t c, std::int64_t slot) {
    return args.out[snapshots + c].data + slot * loop.in_bytes[c];
  };
  if (a.trips == 0) {
    for (std::size_t c = 0; c < carries; ++c)
      copy_bytes(args, args.out[c].data, args.in[c].data, loop.in_bytes[c]);
    return;
  }
  const auto slice = [&](std::int64_t j) { return a.reverse ? a.trips - 1 - j : j; };
  HandedPointers places(args, loop.handed, in, out, scratch);
  // Where a stacked carry is handed to iteration j, and where that leaves the next state.
  const auto stack = [&](const StackedCarry& s, std::int64_t j) {
    return args.out[s.output].data + slice(j) * loop.out_bytes[s.output];
  };
  for (std::size_t c = 0; c < carries; ++c) in[c] = keeps_all ? snapshot(c, slice(0)) : args.out[c].data;
  for (const StackedCarry& s : loop.stacked) in[s.carry] = s.after ? args.in[s.carry].data : stack(s, 0);
  for (std::size_t c = 0; c < carries; ++c) copy_bytes(args, in[c], args.in[c].data, loop.in_bytes[c]);
  std::size_t next_place = 0;
  for (std::int64_t j = 0; j < a.trips; ++j) {
    if (next_place < loop.places.size() && loop.places[next_place] == j) {
      for (std::size_t c = 0; c < carries; ++c)
        copy_bytes(args, snapshot(c, static_cast<std::int64_t>(next_place)), in[c], loop.in_bytes[c]);
      ++next_place;
    }
    const std::int64_t s = slice(j);
    for (std::size_t i = carries; i < carries + loop.scanned; ++i)
      in[i] = args.in[i].data + s * loop.in_bytes[i];
    for (std::size_t r = carries; r < ys; ++r) out[r] = args.out[r].data + s * loop.out_bytes[r];
    if (keeps_all) {
      for (std::size_t c = 0; c < carries; ++c)
        out[c] = j + 1 < a.trips ? snapshot(c, slice(j + 1)) : args.out[c].data;
    }
    for (const StackedCarry& c : loop.stacked)
      out[c.carry] = c.after ? stack(c, j) : j + 1 < a.trips ? stack(c, j + 1) : args.out[c.carry].data;
    places.aim();
    args.regions[0](in, out);
    if (keeps_all) std::copy_n(out, carries, in);
    for (const StackedCarry& c : loop.stacked) in[c.carry] = out[c.carry];
    places.hand_on();
  }
  for (const StackedCarry& c : loop.stacked)
    copy_bytes(args, args.out[c.carry].data, in[c.carry], loop.in_bytes[c.carry]);
  places.move_to([&](std::size_t c) { return args.out[c].data; });
}

Cost cost(const Call& call) {
  if (call.planned.empty()) return {.bytes = bytes_moved(call), .work = WorkKind::opaque};
  const auto trips = static_cast<double>(call.attrs_as<LoopAttrs>().trips);
  return {.flops = trips * call.planned[0].flops,
          .bytes = trips * call.planned[0].bytes_moved,
          .work = WorkKind::opaque,
          .seconds = trips * call.planned[0].seconds};
}

// Pointers to the body's inputs and outputs, and places for carried values that the body does not write over
// what it was given. With all states kept they go from snapshot to snapshot instead.
std::int64_t scratch(const Call& call) {
  const auto a = call.attrs_as<LoopAttrs>();
  const auto pointers = static_cast<std::int64_t>(call.in.size() + call.regions[0].outputs().size());
  std::int64_t bytes = align_up(pointers * 8, buffer_alignment);
  return a.keeps_all() ? bytes : bytes + handed_on(call, 0).scratch();
}

bool in_place(const Call& call, int result, int operand) {
  return result == operand && result < call.attrs_as<LoopAttrs>().carries;
}

}  // namespace

const CpuKernel cpu::loop = {
    .run = run, .prepare = prepare, .facts = {.cost = cost, .scratch = scratch, .in_place = in_place}};

}  // namespace tidemark
