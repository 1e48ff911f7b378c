#include "tests/support/region_samples.h"

#include "tidemark/ir/parse.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/custom/custom_vjp.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

Sample::Operand real(const Shape& shape) { return {.type = {DType::f64, shape}, .low = -1, .high = 1}; }
Sample::Operand exactly(std::int64_t value) {
  return {.type = {DType::i64, {}}, .low = static_cast<double>(value), .high = static_cast<double>(value)};
}

// Carried, scanned, captured; a y of another shape than the carry.
const char* const body = R"(graph(%h: f64[3], %x: f64[3], %w: f64[3]) -> (f64[3], f64[]) {
  %1 = mul(%h, %w) : f64[3]
  %2 = sin(%1) : f64[3]
  %3 = add(%2, %x) : f64[3]
  %4 = mul(%3, %x) : f64[3]
  %5 = reduce_sum(%4) {axes = [0]} : f64[]
  return %3, %5
})";
// An integer carried beside.
const char* const counting = R"(graph(%h: f64[2], %i: i64[], %w: f64[2]) -> (f64[2], i64[]) {
  %1 = cast(%i) {dtype = f64} : f64[]
  %2 = mul(%h, %w) : f64[2]
  %3 = add(%2, %1) : f64[2]
  %4 = sin(%3) : f64[2]
  %5 = constant() {value = i64[] 1} : i64[]
  %6 = add(%i, %5) : i64[]
  return %4, %6
})";
const char* const below_five = R"(graph(%h: f64[2], %i: i64[], %w: f64[2]) -> (bool[]) {
  %1 = constant() {value = i64[] 5} : i64[]
  %2 = less(%i, %1) : bool[]
  return %2
})";
const char* const below_fifty = R"(graph(%h: f64[2], %w: f64[2]) -> (bool[]) {
  %1 = mul(%h, %h) : f64[2]
  %2 = reduce_sum(%1) {axes = [0]} : f64[]
  %3 = constant() {value = f64[] 50} : f64[]
  %4 = less(%2, %3) : bool[]
  return %4
})";
const char* const tripling = R"(graph(%h: f64[2], %w: f64[2]) -> (f64[2]) {
  %1 = constant() {value = f64[] 3} : f64[]
  %2 = mul(%h, %1) : f64[2]
  %3 = mul(%h, %w) : f64[2]
  %4 = sin(%3) : f64[2]
  %5 = add(%2, %4) : f64[2]
  return %5
})";

std::vector<RegionSample> loops() {
  const std::vector<Sample::Operand> in = {real({3}), real({4, 3}), real({3})};
  const auto sample = [&](LoopAttrs attrs, bool smooth) {
    attrs.trips = 4, attrs.carries = 1, attrs.scanned = 1;
    return RegionSample{{.in = in, .attrs = pack(attrs), .smooth = smooth}, {body}};
  };
  const LoopAttrs counted{.trips = 3, .carries = 2}, none{.trips = 0, .carries = 2};
  const std::vector<Sample::Operand> with_count = {real({2}), exactly(1), real({2})};
  return {sample({}, true), sample({.reverse = true}, true),
          // Snapshots are for reversals; no derivative of theirs is defined.
          sample({.keep = 2}, false), sample({.reverse = true, .keep = 4}, false),
          RegionSample{{.in = with_count, .attrs = pack(counted)}, {counting}},
          RegionSample{{.in = with_count, .attrs = pack(none)}, {counting}}};
}

std::vector<RegionSample> while_loops() {
  const std::vector<Sample::Operand> with_count = {real({2}), exactly(1), real({2})};
  std::vector<Sample::Operand> growing = {real({2}), real({2})};
  growing[0].low = 0.5, growing[0].high = 0.7;  // far from where it would take a step more
  const WhileAttrs counted{.carries = 2}, kept{.carries = 2, .keep = 3}, data{.carries = 1, .max_steps = 20};
  return {RegionSample{{.in = with_count, .attrs = pack(counted)}, {below_five, counting}},
          RegionSample{{.in = growing, .attrs = pack(data)}, {below_fifty, tripling}},
          // As above. All slots are used: what the others hold is not said.
          RegionSample{{.in = with_count, .attrs = pack(kept), .smooth = false}, {below_five, counting}}};
}

std::vector<RegionSample> conds() {
  const std::string product = R"(graph(%x: f64[3], %y: f64[3]) -> (f64[3], f64[]) {
    %1 = mul(%x, %y) : f64[3]
    %2 = reduce_sum(%x) {axes = [0]} : f64[]
    return %1, %2
  })";
  const std::string wave = R"(graph(%x: f64[3], %y: f64[3]) -> (f64[3], f64[]) {
    %1 = sin(%y) : f64[3]
    %2 = constant() {value = f64[] 2} : f64[]
    return %1, %2
  })";
  const Sample sample{.in = {{.type = {DType::boolean, {}}}, real({3}), real({3})}};
  return {{sample, {product, wave}}, {sample, {wave, product}}};  // each branch is taken in one of them
}

// The reverse of `body`, and of one step of `tripling` with its sum.
std::vector<RegionSample> reversals() {
  const std::string step = R"(graph(%h: f64[3], %x: f64[3], %w: f64[3]) -> (f64[3]) {
    %1 = mul(%h, %w) : f64[3]
    %2 = sin(%1) : f64[3]
    %3 = add(%2, %x) : f64[3]
    return %3
  })";
  const std::string back =
      R"(graph(%h: f64[3], %x: f64[3], %w: f64[3], %s: f64[3], %t: f64[], %sum: f64[3]) -> (f64[3], f64[3], f64[3]) {
    %1 = mul(%h, %w) : f64[3]
    %2 = cos(%1) : f64[3]
    %3 = mul(%t, %x) : f64[3]
    %4 = add(%s, %3) : f64[3]
    %5 = mul(%4, %2) : f64[3]
    %6 = mul(%5, %w) : f64[3]
    %7 = mul(%5, %h) : f64[3]
    %8 = add(%sum, %7) : f64[3]
    return %6, %4, %8
  })";
  const auto known = [&](std::int64_t slots, bool reverse, bool sums_given = false) {
    const LoopReverseAttrs attrs{.trips = 4,
                                 .carries = 1,
                                 .scanned = 1,
                                 .seeded = 1,
                                 .wanted_scanned = 1,
                                 .wanted_captured = 1,
                                 .slots = slots,
                                 .reverse = reverse,
                                 .sums_given = sums_given};
    std::vector<Sample::Operand> in = {real({slots, 3}), real({4, 3}), real({3}), real({4}), real({3})};
    if (sums_given) in.push_back(real({3}));
    // In fewer slots it is decided how it runs, and no longer differentiated.
    return RegionSample{{.in = in, .attrs = pack(attrs), .smooth = slots == 4}, {step, back}, slots == 4};
  };
  const std::string back_of_tripling =
      R"(graph(%h: f64[2], %w: f64[2], %s: f64[2], %sum: f64[2]) -> (f64[2], f64[2]) {
    %1 = mul(%h, %w) : f64[2]
    %2 = cos(%1) : f64[2]
    %3 = mul(%s, %2) : f64[2]
    %4 = mul(%3, %w) : f64[2]
    %5 = constant() {value = f64[] 3} : f64[]
    %6 = mul(%s, %5) : f64[2]
    %7 = add(%4, %6) : f64[2]
    %8 = mul(%3, %h) : f64[2]
    %9 = add(%sum, %8) : f64[2]
    return %7, %9
  })";
  // Of unknown length, with one slot, which holds the state it began with: five steps. Its derivatives are
  // laws of while_loop: alone it is none of what it began with.
  const LoopReverseAttrs unknown{.trips = -1, .carries = 1, .wanted_captured = 1, .slots = 1};
  Sample::Operand places = exactly(0);
  places.type.shape = {1};
  const std::vector<Sample::Operand> in = {real({1, 2}), real({2}), real({2}), places, exactly(5)};
  return {
      known(4, false),
      known(4, true),
      known(2, false),
      known(1, true),
      known(4, false, true),
      known(2, true, true),
      RegionSample{{.in = in, .attrs = pack(unknown), .smooth = false}, {tripling, back_of_tripling}, false}};
}

std::vector<RegionSample> custom_vjps() {
  const std::string wave = "graph(%x: f64[3]) -> (f64[3]) { %1 = sin(%x) : f64[3] return %1 }";
  const std::string pullback = R"(graph(%x: f64[3], %y: f64[3], %s: f64[3]) -> (f64[3]) {
    %1 = cos(%x) : f64[3]
    %2 = mul(%s, %1) : f64[3]
    return %2
  })";
  return {{{.in = {real({3})}, .attrs = pack(CustomVjpAttrs{.differentiable = 1})}, {wave, pullback}}};
}

}  // namespace

std::vector<RegionSample> region_samples(const Op& op) {
  if (&op == &op::loop) return loops();
  if (&op == &op::while_loop) return while_loops();
  if (&op == &op::cond) return conds();
  if (&op == &op::loop_reverse) return reversals();
  if (&op == &op::custom_vjp_call) return custom_vjps();
  return {};
}

Graph region_in(const std::string& text, DType dtype) {
  std::string recast = text;
  for (std::size_t at = 0; (at = recast.find("f64", at)) != std::string::npos; ++at)
    recast.replace(at, 3, name_of(dtype));
  return parse(recast, {.find = find_op});
}

}  // namespace tidemark::testing
