#include "tidemark/ops/control/loop.h"

#include <numeric>

#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  const auto a = call.attrs_as<LoopAttrs>();
  const auto carries = static_cast<std::size_t>(a.carries), scanned = static_cast<std::size_t>(a.scanned);
  if (a.trips < 0 || a.carries < 0 || a.scanned < 0 || a.keep < 0 || a.keep > a.trips ||
      carries + scanned > call.in.size() || call.regions.size() != 1) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("loop: {} trips with {} carries, {} scanned of {} operands, "
                              "{} snapshots and {} regions",
                              a.trips, a.carries, a.scanned, call.in.size(), a.keep, call.regions.size()),
          .where = call.where});
  }
  std::vector<Type> inputs(call.in.begin(), call.in.end());
  for (std::size_t i = carries; i < carries + scanned; ++i) {
    if (call.in[i].rank() == 0 || call.in[i].shape[0] != a.trips) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("loop: operand {} has no slice for each of {} iterations: {}", i, a.trips,
                                to_string(call.in[i])),
            .expected = fmt::format("a first dimension of {}", a.trips),
            .where = call.where});
    }
    inputs[i] = slice_of(call.in[i]);
  }
  require_region(call, 0, inputs, "the body");
  const std::vector<Type> outputs = output_types(call.regions[0]);
  if (outputs.size() < carries) {
    fail(ErrorCode::wrong_operand_count,
         {.what = fmt::format("loop: the body returns {} values", outputs.size()),
          .expected = fmt::format("at least the {} that are carried", carries),
          .where = call.where});
  }
  std::vector<Type> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i < carries && outputs[i] != call.in[i]) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("loop: carried value {} enters the body as {} and leaves it as {}", i,
                                to_string(call.in[i]), to_string(outputs[i])),
            .where = call.where,
            .help = "what is carried keeps its shape and dtype from step to step"});
    }
    if ((i >= carries || a.keep > 0) && outputs[i].rank() == max_rank) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("loop: {} cannot be stacked", to_string(outputs[i])),
            .expected = fmt::format("at most {} dimensions", max_rank - 1),
            .where = call.where});
    }
    results.push_back(i < carries ? outputs[i] : stacked(a.trips, outputs[i]));
  }
  for (std::size_t i = 0; i < carries && a.keep > 0; ++i) results.push_back(stacked(a.keep, call.in[i]));
  return results;
}

bool is_wanted(const RuleCall& rule, std::size_t operand) {
  return rule.wants(static_cast<int>(operand)) && is_float(rule.in[operand].dtype());
}

// The same loop without snapshots: those of every iteration as further ys. Autodiff sees no other kind.
struct PlainLoop {
  LoopAttrs attrs;
  Graph body;
};
PlainLoop plain(const Call& call) {
  PlainLoop loop{call.attrs_as<LoopAttrs>(), call.regions[0]};
  if (loop.attrs.keep == 0) return loop;
  TM_CHECK(loop.attrs.keep == loop.attrs.trips, "a loop that keeps some of its states is differentiated");
  loop.attrs.keep = 0;
  for (std::int64_t i = 0; i < loop.attrs.carries; ++i)
    loop.body.add_output(loop.body.inputs()[static_cast<std::size_t>(i)].value);
  return loop;
}

std::vector<Var> for_reverse(const RuleCall& rule) {
  PlainLoop loop = plain(rule.call);
  loop.attrs.keep = loop.attrs.trips;
  std::vector<Graph> regions;
  regions.push_back(std::move(loop.body));
  std::vector<Var> results = rule.builder.call(op::loop, rule.in, pack(loop.attrs), std::move(regions));
  results.resize(rule.call.out.size());
  return results;
}

std::vector<Var> vjp(const RuleCall& rule) {
  const auto a = rule.call.attrs_as<LoopAttrs>();
  const auto carries = static_cast<std::size_t>(a.carries), scanned = static_cast<std::size_t>(a.scanned);
  std::vector<Var> gradients(rule.in.size());
  if (a.trips == 0) {
    for (std::size_t i = 0; i < carries; ++i) gradients[i] = rule.seed[i];
    return gradients;
  }
  const Graph& body = rule.call.regions[0];
  const std::size_t results = body.outputs().size();
  std::vector<Var> snapshots;
  if (a.keep > 0) {
    snapshots.assign(rule.out.begin() + static_cast<std::ptrdiff_t>(results), rule.out.end());
    for (std::size_t r = results; r < rule.seed.size(); ++r)
      TM_CHECK(!rule.seed[r], "a gradient arrives at the snapshots of a loop");
  } else {
    LoopAttrs kept = a;
    kept.keep = a.trips;
    const std::vector<Var> out = rule.builder.call(op::loop, rule.in, pack(kept), {body});
    snapshots.assign(out.begin() + static_cast<std::ptrdiff_t>(results), out.end());
  }

  LoopReversal reversal{.attrs = {.trips = a.trips,
                                  .carries = a.carries,
                                  .scanned = a.scanned,
                                  .slots = a.trips,
                                  .reverse = a.reverse,
                                  .memory = a.memory,
                                  .disk = a.disk,
                                  .folder = a.folder},
                        .body = body};
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    if (i >= carries && is_wanted(rule, i)) reversal.wanted.push_back(i);
  }
  std::vector<Var> operands = snapshots;
  const auto add = [&](std::size_t begin, std::size_t end) {
    operands.insert(operands.end(), rule.in.begin() + static_cast<std::ptrdiff_t>(begin),
                    rule.in.begin() + static_cast<std::ptrdiff_t>(end));
  };
  add(carries, carries + scanned);
  for (std::size_t r = 0; r < carries; ++r) {
    if (is_float(rule.out[r].dtype()))
      operands.push_back(rule.seed[r] ? rule.seed[r] : zeros_like(rule.out[r]));
  }
  for (std::size_t r = carries; r < results; ++r) {
    if (!rule.seed[r]) continue;
    reversal.seeded.push_back(r);
    operands.push_back(rule.seed[r]);
  }
  add(carries + scanned, rule.in.size());
  std::vector<Graph> regions = reversal_regions(reversal, *rule.calculus);
  const std::vector<Var> found =
      rule.builder.call(op::loop_reverse, operands, pack(reversal.attrs), std::move(regions));
  std::size_t next = 0;
  for (std::size_t i = 0; i < carries; ++i) {
    if (is_float(rule.in[i].dtype())) gradients[i] = found[next++];
  }
  for (std::size_t i : reversal.wanted) gradients[i] = found[next++];
  return gradients;
}

// One loop over values and tangents together.
std::vector<Var> jvp(const RuleCall& rule) {
  const PlainLoop loop = plain(rule.call);
  const auto carries = static_cast<std::size_t>(loop.attrs.carries);
  const auto scanned = static_cast<std::size_t>(loop.attrs.scanned);
  const std::size_t inputs = rule.in.size(), outputs = loop.body.outputs().size();
  std::unique_ptr<bool[]> wanted(new bool[inputs]);
  for (std::size_t i = 0; i < inputs; ++i)
    wanted[i] = is_float(rule.in[i].dtype()) && (i < carries || rule.seed[i]);
  const Graph joint = rule.calculus->jvp(loop.body, {wanted.get(), inputs});

  // Kind by kind, the values and then the tangents.
  std::vector<Var> operands;
  std::vector<Type> types;
  std::vector<std::size_t> order(inputs);
  std::vector<std::size_t> tangent_place;
  const std::size_t ends[] = {carries, carries + scanned, inputs};
  std::size_t counts[3] = {0, 0, 0};
  for (std::size_t kind = 0, begin = 0; kind < 3; begin = ends[kind++]) {
    for (std::size_t i = begin; i < ends[kind]; ++i) {
      order[i] = operands.size();
      operands.push_back(rule.in[i]);
    }
    for (std::size_t i = begin; i < ends[kind]; ++i) {
      if (!wanted[i]) continue;
      tangent_place.push_back(operands.size());
      operands.push_back(rule.seed[i] ? rule.seed[i] : zeros_like(rule.in[i]));
    }
    counts[kind] = operands.size() - (kind == 0 ? 0 : counts[0] + (kind == 2 ? counts[1] : 0));
  }
  order.insert(order.end(), tangent_place.begin(), tangent_place.end());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_slice = i >= counts[0] && i < counts[0] + counts[1];
    types.push_back(is_slice ? slice_of(operands[i].type()) : operands[i].type());
  }
  std::vector<std::size_t> tangent_of(outputs, 0), chosen;
  for (std::size_t r = 0, next = outputs; r < outputs; ++r) {
    if (is_float(loop.body.type(loop.body.outputs()[r]).dtype)) tangent_of[r] = next++;
  }
  std::vector<std::size_t> place(outputs), tangent_result(outputs);  // among the new loop's results
  for (std::size_t begin = 0, end = carries, kind = 0; kind < 2; begin = carries, end = outputs, ++kind) {
    for (std::size_t r = begin; r < end; ++r) place[r] = chosen.size(), chosen.push_back(r);
    for (std::size_t r = begin; r < end; ++r) {
      if (tangent_of[r]) tangent_result[r] = chosen.size(), chosen.push_back(tangent_of[r]);
    }
  }
  LoopAttrs attrs = loop.attrs;
  attrs.carries = static_cast<std::int64_t>(counts[0]);
  attrs.scanned = static_cast<std::int64_t>(counts[1]);
  std::vector<Graph> regions;
  regions.push_back(regrouped(joint, types, order, chosen));
  const std::vector<Var> found = rule.builder.call(op::loop, operands, pack(attrs), std::move(regions));
  std::vector<Var> result(2 * outputs);
  for (std::size_t r = 0; r < outputs; ++r) {
    if (tangent_of[r]) result[r] = found[tangent_result[r]];
    result[outputs + r] = found[place[r]];
  }
  return result;
}

}  // namespace

const Op op::loop = {
    .name = "loop",
    .kind = OpKind::control,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<LoopAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .for_reverse = for_reverse,
};

}  // namespace tidemark
