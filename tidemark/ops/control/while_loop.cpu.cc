#include "tidemark/ops/control/while_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory_resource>

#include "tidemark/base/error.h"
#include "tidemark/ops/control/handed_on.h"
#include "tidemark/ops/registry.h"
#include "tidemark/schedule/kinds/online.h"

namespace tidemark {
namespace {

struct While {
  WhileAttrs attrs;
  std::vector<std::int64_t> bytes;  // of what is carried
  HandedOn handed;
};

std::shared_ptr<const void> prepare(const Call& call) {
  auto loop = std::make_shared<While>();
  loop->attrs = call.attrs_as<WhileAttrs>();
  for (std::int64_t c = 0; c < loop->attrs.carries; ++c)
    loop->bytes.push_back(call.in[static_cast<std::size_t>(c)].bytes());
  loop->handed = handed_on(call, 1);
  return loop;
}

[[noreturn]] void too_many_steps(const WhileAttrs& attrs, SourceLine where) {
  fail(ErrorCode::numeric, {.what = fmt::format("a while_loop goes on after {} steps", attrs.max_steps),
                            .expected = "its condition to fail by then",
                            .where = where,
                            .help = "raise max_steps, or check the condition"});
}

void run(const KernelArgs& args) {
  const While& loop = args.attrs<While>();
  const std::size_t carries = loop.bytes.size();
  ScratchPieces scratch(args);
  std::byte** in = scratch.take_pointers(args.in.size() + carries + 1);
  std::byte **out = in + args.in.size(), **answer = out + carries;
  *answer = scratch.take(1);
  HandedPointers handed(args, loop.handed, in, out, scratch);
  for (std::size_t i = 0; i < args.in.size(); ++i) {
    in[i] = i < carries ? args.out[i].data : args.in[i].data;
    if (i < carries) copy_bytes(args, in[i], args.in[i].data, loop.bytes[i]);
  }
  const std::int64_t slots = loop.attrs.keep;
  const std::int64_t room = schedule::Online::room_for(slots);
  std::pmr::monotonic_buffer_resource memory(scratch.take_notes(room), static_cast<std::size_t>(room),
                                             std::pmr::null_memory_resource());
  schedule::Online policy(std::max<std::int64_t>(slots, 1), 0, &memory);
  if (slots > 0) policy.reserve();
  const auto tell_place = [&](std::int64_t slot, std::int64_t iteration) {
    put(args, args.out.back().data + slot * static_cast<std::int64_t>(sizeof(std::int64_t)), iteration);
  };
  for (std::int64_t slot = 0; slot < slots; ++slot) tell_place(slot, -1);
  std::int64_t trips = 0;
  for (;; ++trips) {
    args.regions[0](in, answer);
    if (fetch<std::byte>(args, *answer) == std::byte{0}) break;
    if (trips == loop.attrs.max_steps) too_many_steps(loop.attrs, args.where);
    if (slots > 0) {
      for (const schedule::Action& action : policy.visit(trips)) {
        const bool stores = action.kind == schedule::ActionKind::store;
        tell_place(action.slot, stores ? trips : -1);
        for (std::size_t c = 0; c < carries && stores; ++c)
          copy_bytes(args, args.out[carries + 1 + c].data + action.slot * loop.bytes[c], in[c],
                     loop.bytes[c]);
      }
    }
    handed.aim();
    args.regions[1](in, out);
    handed.hand_on();
  }
  handed.move_to([&](std::size_t c) { return args.out[c].data; });
  put(args, args.out[carries].data, trips);
}

constexpr double expected_trips = 16;  // where nothing is known, for costs alone

Cost cost(const Call& call) {
  if (call.planned.size() < 2) return {.bytes = bytes_moved(call), .work = WorkKind::opaque};
  const std::int64_t most = call.attrs_as<WhileAttrs>().max_steps;
  const double trips = most >= 0 ? static_cast<double>(most) : expected_trips;
  const RegionFacts &test = call.planned[0], &body = call.planned[1];
  return {.flops = trips * (test.flops + body.flops),
          .bytes = trips * (test.bytes_moved + body.bytes_moved),
          .work = WorkKind::opaque,
          .seconds = trips * (test.seconds + body.seconds)};
}

std::int64_t scratch(const Call& call) {
  const auto attrs = call.attrs_as<WhileAttrs>();
  const auto carries = static_cast<std::size_t>(attrs.carries);
  std::int64_t bytes =
      align_up(static_cast<std::int64_t>(8 * (call.in.size() + carries + 1)), buffer_alignment);
  bytes += buffer_alignment;  // the answer of the condition
  bytes += handed_on(call, 1).scratch();
  // Which states to keep.
  return bytes + align_up(schedule::Online::room_for(attrs.keep), buffer_alignment);
}

bool in_place(const Call& call, int result, int operand) {
  return result == operand && result < call.attrs_as<WhileAttrs>().carries;
}

// Whether it goes on.
HostReads host_reads(const Call&) { return {.outputs = {{.region = 0, .output = 0}}}; }

}  // namespace

const CpuKernel cpu::while_loop = {
    .run = run,
    .prepare = prepare,
    .facts = {.cost = cost, .scratch = scratch, .in_place = in_place, .host_reads = host_reads},
};

}  // namespace tidemark
