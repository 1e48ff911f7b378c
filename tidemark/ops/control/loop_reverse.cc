#include "tidemark/ops/control/loop_reverse.h"

#include <algorithm>
#include <numeric>

#include "tidemark/ir/effects.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  const auto a = call.attrs_as<LoopReverseAttrs>();
  const auto carries = static_cast<std::size_t>(a.carries), scanned = static_cast<std::size_t>(a.scanned);
  const auto seeded = static_cast<std::size_t>(a.seeded);
  const auto refuse = [&](std::string what) {
    fail(ErrorCode::malformed_graph, {.what = "loop_reverse: " + what, .where = call.where});
  };
  const bool unknown = a.unknown_length();
  const std::size_t told = unknown ? 2 : 0;  // operands that say what happened
  const std::size_t last = told + (a.begins ? carries : 0);
  if (a.begins && !unknown) refuse("only a loop of unknown length says what it began with");
  if (unknown ? a.scanned != 0 || a.seeded != 0 : a.trips < 1 || a.slots > a.trips)
    refuse("trips and slots disagree");
  if (a.sums_given && unknown) refuse("only a loop of known length goes on with sums");
  if (a.slots < 1 || a.carries < 0 || a.scanned < 0 || a.seeded < 0 || a.wanted_scanned < 0 ||
      a.wanted_scanned > a.scanned || a.wanted_captured < 0 || call.regions.size() != 2 ||
      call.in.size() < carries + scanned + seeded + last)
    refuse("attributes and operands disagree");
  std::vector<Type> carry, x, captured, carry_seeds, y_seeds;
  for (std::size_t i = 0; i < carries; ++i) {
    if (call.in[i].rank() == 0 || call.in[i].shape[0] != a.slots)
      refuse("a snapshot for each slot is needed");
    carry.push_back(slice_of(call.in[i]));
    if (is_float(carry.back().dtype)) carry_seeds.push_back(carry.back());
  }
  std::size_t next = carries;
  const auto slice = [&](std::vector<Type>& list) {
    if (call.in[next].rank() == 0 || call.in[next].shape[0] != a.trips)
      refuse("a slice for each trip is needed");
    list.push_back(slice_of(call.in[next++]));
  };
  for (std::size_t i = 0; i < scanned; ++i) slice(x);
  if (call.in.size() < next + carry_seeds.size() + seeded + last) refuse("seeds are missing");
  if (unknown &&
      (call.in[call.in.size() - 2] != Type{DType::i64, {a.slots}} || call.in.back() != Type{DType::i64, {}}))
    refuse("slots and trips are not told");
  for (const Type& type : carry_seeds) {
    if (call.in[next++] != type) refuse("a seed is not of its carried value's type");
  }
  for (std::size_t i = 0; i < seeded; ++i) slice(y_seeds);
  const std::size_t given = a.sums_given ? static_cast<std::size_t>(a.wanted_captured) : 0, first_sum = next;
  if (call.in.size() < next + given + last) refuse("sums are missing");
  next += given;
  captured.assign(call.in.begin() + static_cast<std::ptrdiff_t>(next),
                  call.in.end() - static_cast<std::ptrdiff_t>(last));
  if (a.begins && !std::equal(carry.begin(), carry.end(), call.in.end() - static_cast<std::ptrdiff_t>(last)))
    refuse("it began with values of other types");
  if (a.begins &&
      (std::ssize(a.summed) != a.wanted_captured ||
       std::ranges::any_of(a.summed, [&](std::int64_t i) { return i < 0 || i >= std::ssize(captured); })))
    refuse("captured values that get a gradient are not named");

  std::vector<Type> inputs = carry;
  inputs.insert(inputs.end(), x.begin(), x.end());
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  require_region(call, 0, inputs, "the step");
  if (output_types(call.regions[0]) != carry) refuse("the step does not return what is carried");
  inputs.insert(inputs.end(), carry_seeds.begin(), carry_seeds.end());
  inputs.insert(inputs.end(), y_seeds.begin(), y_seeds.end());
  const std::vector<Type> out = output_types(call.regions[1]);
  const std::size_t float_carries = carry_seeds.size(), dxs = static_cast<std::size_t>(a.wanted_scanned),
                    sums = static_cast<std::size_t>(a.wanted_captured);
  if (out.size() < float_carries + dxs + sums) refuse("the reverse of the step returns too little");
  inputs.insert(inputs.end(), out.begin() + static_cast<std::ptrdiff_t>(float_carries + dxs),
                out.begin() + static_cast<std::ptrdiff_t>(float_carries + dxs + sums));
  require_region(call, 1, inputs, "the reverse of the step");
  if (!std::equal(inputs.end() - static_cast<std::ptrdiff_t>(given), inputs.end(),
                  call.in.begin() + static_cast<std::ptrdiff_t>(first_sum)))
    refuse("a sum so far is not of its gradient's type");
  if (!std::equal(carry_seeds.begin(), carry_seeds.end(), out.begin()))
    refuse("the reverse of the step does not return gradients of what is carried");

  std::vector<Type> results(out.begin(),
                            out.begin() + static_cast<std::ptrdiff_t>(float_carries + dxs + sums));
  for (std::size_t i = float_carries; i < float_carries + dxs; ++i) results[i] = stacked(a.trips, results[i]);
  if (!a.keeps_all())
    results.insert(results.end(), call.in.begin(), call.in.begin() + static_cast<std::ptrdiff_t>(carries));
  return results;
}

// A loop over the stacked states, backwards: what is carried are the gradients and the sums.
std::vector<Var> as_loop(const RuleCall& rule, bool keeps) {
  const auto a = rule.call.attrs_as<LoopReverseAttrs>();
  TM_CHECK(!a.unknown_length() && a.keeps_all(), "a reversal in fewer slots than steps is expanded");
  const Graph& back = rule.call.regions[1];
  const ReversalLayout at(a, back);
  std::vector<Var> carried, scanned;
  for (std::size_t i = 0; i < at.float_carries; ++i) carried.push_back(rule.in[at.carries + at.scanned + i]);
  const std::size_t captured_at = rule.in.size() - at.captured;
  for (std::size_t i = at.sums; i < at.inputs; ++i)
    carried.push_back(a.sums_given ? rule.in[captured_at - (at.inputs - i)]
                                   : zeros(rule.builder, back.type(back.inputs()[i].value)));
  const std::size_t first_y_seed = at.carries + at.scanned + at.float_carries;
  for (std::size_t i = 0; i < at.carries + at.scanned; ++i) scanned.push_back(rule.in[i]);
  for (std::size_t i = at.y_seeds; i < at.sums; ++i)
    scanned.push_back(rule.in[first_y_seed + i - at.y_seeds]);

  LoopAttrs attrs{.trips = a.trips,
                  .carries = static_cast<std::int64_t>(carried.size()),
                  .scanned = static_cast<std::int64_t>(scanned.size()),
                  .reverse = !a.reverse,
                  .keep = keeps ? a.trips : 0,
                  .memory = a.memory,
                  .disk = a.disk,
                  .folder = a.folder};
  std::vector<Var> operands = carried;
  operands.insert(operands.end(), scanned.begin(), scanned.end());
  operands.insert(operands.end(), rule.in.end() - static_cast<std::ptrdiff_t>(at.captured), rule.in.end());
  std::vector<Type> types;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_slice = i >= carried.size() && i < carried.size() + scanned.size();
    types.push_back(is_slice ? slice_of(operands[i].type()) : operands[i].type());
  }
  // Where the new body's inputs find themselves among those of region 1.
  std::vector<std::size_t> order(at.inputs);
  for (std::size_t i = 0; i < at.carries + at.scanned; ++i) order[i] = carried.size() + i;
  for (std::size_t i = 0; i < at.captured; ++i)
    order[at.carries + at.scanned + i] = carried.size() + scanned.size() + i;
  for (std::size_t i = 0; i < at.float_carries; ++i) order[at.carry_seeds + i] = i;
  for (std::size_t i = at.y_seeds; i < at.sums; ++i)
    order[i] = carried.size() + at.carries + at.scanned + i - at.y_seeds;
  for (std::size_t i = at.sums; i < at.inputs; ++i) order[i] = at.float_carries + i - at.sums;
  std::vector<std::size_t> chosen;
  const auto dxs = static_cast<std::size_t>(a.wanted_scanned);
  for (std::size_t r = 0; r < at.float_carries; ++r) chosen.push_back(r);
  for (std::size_t r = at.float_carries + dxs; r < at.results; ++r) chosen.push_back(r);
  for (std::size_t r = at.float_carries; r < at.float_carries + dxs; ++r) chosen.push_back(r);
  std::vector<Graph> regions;
  // The steps run again, from the states that are there.
  const Graph again = replayed(gradients_alone(back, a), at.carry_seeds, rule.call.where,
                               "the derivative of a loop's gradient runs its steps again",
                               "call it before the loop and pass in what it returns");
  regions.push_back(regrouped(again, types, order, chosen));
  const std::vector<Var> found = rule.builder.call(op::loop, operands, pack(attrs), std::move(regions));
  std::vector<Var> results(at.results);
  for (std::size_t r = 0; r < at.results; ++r) results[chosen[r]] = found[r];
  return results;
}
std::vector<Var> expand_reverse(const RuleCall& rule) { return as_loop(rule, false); }

bool is_unknown(const Call& call) { return call.attrs_as<LoopReverseAttrs>().unknown_length(); }

// Of known length, what is differentiated is that loop.
std::vector<Var> for_reverse(const RuleCall& rule) {
  if (!is_unknown(rule.call)) return as_loop(rule, true);
  return rule.builder.call(op::loop_reverse, rule.in, *rule.call.attrs,
                           {rule.call.regions.begin(), rule.call.regions.end()});
}

std::vector<Var> jvp(const RuleCall& rule) {
  if (is_unknown(rule.call)) return while_reverse_jvp(rule);
  Graph loop;
  Builder builder(loop);
  builder.set_where(rule.call.where);
  std::vector<Var> in, arguments(rule.in.begin(), rule.in.end());
  std::unique_ptr<bool[]> wanted(new bool[rule.in.size()]);
  for (std::size_t i = 0; i < rule.in.size(); ++i) {
    in.push_back(builder.input(rule.in[i].type()));
    wanted[i] = static_cast<bool>(rule.seed[i]);
    if (wanted[i]) arguments.push_back(rule.seed[i]);
  }
  const RuleCall inside{.builder = builder, .call = rule.call, .in = in, .out = {}, .seed = {}};
  for (const Var& result : as_loop(inside, false)) loop.add_output(result.id());
  std::vector<Var> found =
      inline_graph(rule.builder, rule.calculus->jvp(loop, {wanted.get(), in.size()}), arguments);
  std::rotate(found.begin(), found.begin() + std::ssize(rule.out), found.end());  // tangents first
  return found;
}

}  // namespace

ReversalLayout::ReversalLayout(const LoopReverseAttrs& attrs, const Graph& region)
    : carries(static_cast<std::size_t>(attrs.carries)), scanned(static_cast<std::size_t>(attrs.scanned)) {
  float_carries = 0;
  for (std::size_t i = 0; i < carries; ++i)
    float_carries += is_float(region.type(region.inputs()[i].value).dtype);
  inputs = region.inputs().size();
  sums = inputs - static_cast<std::size_t>(attrs.wanted_captured);
  y_seeds = sums - static_cast<std::size_t>(attrs.seeded);
  carry_seeds = y_seeds - float_carries;
  captured = carry_seeds - carries - scanned;
  stacked_end = float_carries + static_cast<std::size_t>(attrs.wanted_scanned);
  results = stacked_end + static_cast<std::size_t>(attrs.wanted_captured);
}

Graph gradients_alone(const Graph& region, const LoopReverseAttrs& attrs) {
  const ReversalLayout at(attrs, region);
  std::vector<std::size_t> order(at.inputs), outputs(at.results);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::iota(outputs.begin(), outputs.end(), std::size_t{0});
  return regrouped(region, input_types(region), order, outputs);
}

std::vector<Graph> reversal_regions(LoopReversal& reversal, const Calculus& calculus) {
  const Graph& body = reversal.body;
  LoopReverseAttrs& a = reversal.attrs;
  const auto carries = static_cast<std::size_t>(a.carries), scanned = static_cast<std::size_t>(a.scanned);
  const std::size_t inputs = body.inputs().size(), outputs = body.outputs().size();
  std::unique_ptr<bool[]> wanted(new bool[inputs]), summed(new bool[inputs]);
  std::size_t gradients = 0, sums = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    const bool named = std::ranges::count(reversal.wanted, i) > 0;
    const bool carried = i < carries && is_float(body.type(body.inputs()[i].value).dtype);
    wanted[i] = carried || named;
    summed[i] = named && i >= carries + scanned;
    gradients += wanted[i], sums += summed[i];
  }
  a.seeded = static_cast<std::int64_t>(reversal.seeded.size());
  a.wanted_captured = static_cast<std::int64_t>(sums);
  a.wanted_scanned = static_cast<std::int64_t>(reversal.wanted.size() - sums);
  const Graph joint = calculus.vjp(body, {wanted.get(), inputs}, {summed.get(), inputs});

  // The joint graph wants a seed for each floating-point output; ys that nobody asks about get zeros.
  Graph back;
  Builder builder(back);
  std::vector<Var> in, seeds, sum_inputs;
  for (const Type& type : input_types(body)) in.push_back(builder.input(type));
  const std::vector<Type> out_types = output_types(body);
  seeds.resize(outputs);
  for (std::size_t r = 0; r < carries; ++r) {
    if (is_float(out_types[r].dtype)) seeds[r] = builder.input(out_types[r]);
  }
  for (std::size_t r : reversal.seeded) seeds[r] = builder.input(out_types[r]);
  for (std::size_t i = 0; i < inputs; ++i) {
    if (summed[i]) sum_inputs.push_back(builder.input(in[i].type()));
  }
  for (std::size_t r = 0; r < outputs; ++r) {
    if (is_float(out_types[r].dtype)) in.push_back(seeds[r] ? seeds[r] : zeros(builder, out_types[r]));
  }
  in.insert(in.end(), sum_inputs.begin(), sum_inputs.end());
  const std::vector<Var> found = inline_graph(builder, joint, in);
  for (std::size_t g = 0; g < gradients; ++g) back.add_output(found[outputs + g].id());
  for (std::size_t r = 0; r < outputs; ++r) back.add_output(found[r].id());

  std::vector<std::size_t> all(inputs), carried(carries);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::iota(carried.begin(), carried.end(), std::size_t{0});
  std::vector<Graph> regions;
  regions.push_back(for_replay(regrouped(body, input_types(body), all, carried)));
  regions.push_back(std::move(back));
  return regions;
}

const Op op::loop_reverse = {
    .name = "loop_reverse",
    .kind = OpKind::control,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<LoopReverseAttrs>,
    .infer = infer,
    .vjp = while_reverse_vjp,
    .jvp = jvp,
    .expand = expand_reverse,
    .for_reverse = for_reverse,
    .replays =
        [](const Call& call, std::size_t region) {
          return region == 0 && !call.attrs_as<LoopReverseAttrs>().keeps_all();
        },
};

}  // namespace tidemark
