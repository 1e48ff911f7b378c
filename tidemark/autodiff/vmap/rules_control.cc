// Rules of loops, branches and calls with a derivative of the user's. What steers them and is the same for
// all examples steers all of them at once; where it differs, examples are taken one by one, so that each runs
// its own steps and its own branch and nothing else.
#include <algorithm>

#include "tidemark/autodiff/vmap/map_graph.h"
#include "tidemark/autodiff/vmap/rules.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/reduction/reduce.h"

namespace tidemark::vmap_rule_of {
namespace {

std::vector<bool> mapped_operands(const VmapCall& call) {
  std::vector<bool> mapped;
  for (const MappedVar& operand : call.in) mapped.push_back(operand.mapped());
  return mapped;
}

// The body of a loop whose inputs are `mapped`. What is carried is mapped if it comes in so or any step makes
// it so, which `mapped` then says too.
MappedRegion map_body(const Graph& body, std::vector<bool>& mapped, std::size_t carries, std::int64_t size) {
  for (;;) {
    std::vector<bool> whole(body.outputs().size(), false);
    std::copy_n(mapped.begin(), carries, whole.begin());
    MappedRegion region = map_region(body, mapped, size, whole);
    if (std::equal(mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(carries),
                   region.mapped.begin()))
      return region;
    std::copy_n(region.mapped.begin(), carries, mapped.begin());
  }
}

int axis_if(bool mapped, int axis) { return mapped ? axis : -1; }

std::vector<Graph> one_region(Graph graph) {
  std::vector<Graph> regions;
  regions.push_back(std::move(graph));
  return regions;
}

}  // namespace

std::vector<MappedVar> loop(const VmapCall& call) {
  const auto attrs = call.call.attrs_as<LoopAttrs>();
  const auto carries = static_cast<std::size_t>(attrs.carries),
             scanned = static_cast<std::size_t>(attrs.scanned);
  std::vector<bool> mapped = mapped_operands(call);
  MappedRegion body = map_body(call.call.regions[0], mapped, carries, call.size);
  std::vector<Var> operands;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const bool is_scanned = i >= carries && i < carries + scanned;
    // Behind the steps, so that a slice has its examples in front.
    operands.push_back(mapped[i] ? call.whole(i, is_scanned ? 1 : 0) : call.in[i].var);
  }
  const std::vector<Var> found = call.again(operands, *call.call.attrs, one_region(std::move(body.graph)));
  std::vector<MappedVar> results;
  const std::size_t made = body.mapped.size();
  for (std::size_t r = 0; r < found.size(); ++r) {
    const bool is_mapped = r < made ? body.mapped[r] : mapped[r - made];  // after what is made, states kept
    results.push_back({found[r], axis_if(is_mapped, r < carries ? 0 : 1)});
  }
  return results;
}

// As long as a gradient has examples only where its value has, the reversal is one of the mapped loop, and it
// is decided with the plan how that one is reversed. Otherwise it is the loop that it is written in.
std::vector<MappedVar> loop_reverse(const VmapCall& call) {
  const auto attrs = call.call.attrs_as<LoopReverseAttrs>();
  if (attrs.unknown_length() || !attrs.keeps_all()) return one_by_one(call);
  if (attrs.sums_given) return {};
  const Graph &step = call.call.regions[0], &back = call.call.regions[1];
  const ReversalLayout at(attrs, back);
  // Operands are states, xs, seeds, captured; inputs of the reverse of a step have the captured before seeds.
  const std::size_t seeds = at.sums - at.carry_seeds, before_seeds = at.carries + at.scanned;
  const auto operand_of = [&](std::size_t input) {
    if (input < before_seeds) return input;
    return input < at.carry_seeds ? input + seeds : input - at.captured;
  };
  std::vector<bool> mapped(at.inputs, false);
  for (std::size_t i = 0; i < at.sums; ++i) mapped[i] = call.is_mapped(operand_of(i));
  for (std::size_t i = 0, seed = at.carry_seeds; i < at.carries; ++i) {
    if (!is_float(back.type(back.inputs()[i].value).dtype)) continue;
    if (mapped[seed] && !mapped[i]) return {};
    mapped[seed++] = mapped[i];
  }
  for (;;) {
    std::vector<bool> whole(back.outputs().size(), false);
    for (std::size_t r = 0; r < at.results; ++r) whole[r] = !at.is_stacked(r) && mapped[at.input_of(r)];
    // What the step makes comes along for whoever makes one loop of it and the loop itself.
    for (std::size_t c = 0; c < at.carries && at.results + c < whole.size(); ++c)
      whole[at.results + c] = mapped[c];
    MappedRegion region = map_region(back, mapped, call.size, whole);
    bool again = false;
    for (std::size_t r = 0; r < at.results; ++r) {
      if (at.is_stacked(r) || region.mapped[r] == mapped[at.input_of(r)]) continue;
      if (r < at.float_carries) return {};
      mapped[at.input_of(r)] = again = true;
    }
    if (again) continue;
    for (std::size_t c = 0; c < at.carries && at.results + c < region.mapped.size(); ++c) {
      if (region.mapped[at.results + c] != mapped[c]) return {};
    }
    std::vector<bool> of_step(mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(at.carry_seeds));
    const std::vector<bool> carried(mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(at.carries));
    MappedRegion forward = map_region(step, of_step, call.size, carried);
    if (forward.mapped != carried) return {};
    std::vector<Var> operands(call.in.size());
    for (std::size_t i = 0; i < at.sums; ++i) {
      const std::size_t o = operand_of(i);
      const bool sliced = i < before_seeds || i >= at.y_seeds;
      operands[o] = mapped[i] ? call.whole(o, sliced ? 1 : 0) : call.in[o].var;
    }
    std::vector<Graph> regions = one_region(std::move(forward.graph));
    regions.push_back(std::move(region.graph));
    const std::vector<Var> found = call.again(operands, *call.call.attrs, std::move(regions));
    std::vector<MappedVar> results;
    for (std::size_t r = 0; r < found.size(); ++r)
      results.push_back({found[r], axis_if(region.mapped[r], at.is_stacked(r) ? 1 : 0)});
    return results;
  }
}

std::vector<MappedVar> while_loop(const VmapCall& call) {
  const auto attrs = call.call.attrs_as<WhileAttrs>();
  const auto carries = static_cast<std::size_t>(attrs.carries);
  std::vector<bool> mapped = mapped_operands(call);
  MappedRegion body = map_body(call.call.regions[1], mapped, carries, call.size);
  MappedRegion test = map_region(call.call.regions[0], mapped, call.size);
  if (test.mapped[0]) return one_by_one(call);
  std::vector<Var> operands;
  for (std::size_t i = 0; i < call.in.size(); ++i)
    operands.push_back(mapped[i] ? call.whole(i) : call.in[i].var);
  std::vector<Graph> regions = one_region(std::move(test.graph));
  regions.push_back(std::move(body.graph));
  const std::vector<Var> found = call.again(operands, *call.call.attrs, std::move(regions));
  std::vector<MappedVar> results;
  // What is carried, the number of steps, the states kept of what is carried, and of which steps they are.
  for (std::size_t r = 0; r < found.size(); ++r) {
    const bool is_state = r > carries && r <= 2 * carries;
    const bool is_mapped = r < carries ? mapped[r] : is_state && mapped[r - carries - 1];
    results.push_back({found[r], axis_if(is_mapped, is_state ? 1 : 0)});
  }
  return results;
}

std::vector<MappedVar> cond(const VmapCall& call) {
  if (call.is_mapped(0)) return one_by_one(call);
  std::vector<bool> mapped = mapped_operands(call);
  mapped.erase(mapped.begin());
  MappedRegion branches[2];
  std::vector<bool> whole(call.call.out.size(), false);
  for (std::size_t b = 0; b < 2; ++b) {
    branches[b] = map_region(call.call.regions[b], mapped, call.size);
    for (std::size_t r = 0; r < whole.size(); ++r) whole[r] = whole[r] || branches[b].mapped[r];
  }
  std::vector<Graph> regions;
  for (std::size_t b = 0; b < 2; ++b) {
    // Both return the same types.
    if (branches[b].mapped != whole) branches[b] = map_region(call.call.regions[b], mapped, call.size, whole);
    regions.push_back(std::move(branches[b].graph));
  }
  std::vector<Var> operands;
  for (std::size_t i = 0; i < call.in.size(); ++i) operands.push_back(call.front(i));
  const std::vector<Var> found = call.again(operands, *call.call.attrs, std::move(regions));
  std::vector<MappedVar> results;
  for (std::size_t r = 0; r < found.size(); ++r) results.push_back({found[r], axis_if(whole[r], 0)});
  return results;
}

// The pullback of all examples is theirs side by side. What all of them share gets the sum of what each says.
std::vector<MappedVar> custom_vjp_call(const VmapCall& call) {
  const Graph &f = call.call.regions[0], &pullback = call.call.regions[1];
  std::vector<bool> mapped = mapped_operands(call);
  const std::size_t inputs = mapped.size();
  MappedRegion forward = map_region(f, mapped, call.size);
  mapped.insert(mapped.end(), forward.mapped.begin(), forward.mapped.end());
  for (std::size_t r = 0; r < forward.mapped.size(); ++r) {
    if (is_float(f.type(f.outputs()[r]).dtype)) mapped.push_back(forward.mapped[r]);
  }
  const MappedRegion pulled = map_region(pullback, mapped, call.size, mapped);
  Graph back;
  Builder builder(back);
  builder.set_where(call.call.where);
  std::vector<Var> in;
  for (const Type& type : input_types(pulled.graph)) in.push_back(builder.input(type));
  const std::vector<Var> gradients = inline_graph(builder, pulled.graph, in);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    TM_CHECK(i < inputs, "a pullback gives more gradients than there are operands");
    const bool shared = pulled.mapped[i] && !mapped[i];
    back.add_output((shared ? reduce_sum(gradients[i], {0}) : gradients[i]).id());
  }
  std::vector<Var> operands;
  for (std::size_t i = 0; i < inputs; ++i) operands.push_back(call.front(i));
  std::vector<Graph> regions = one_region(std::move(forward.graph));
  regions.push_back(std::move(back));
  const std::vector<Var> found = call.again(operands, *call.call.attrs, std::move(regions));
  std::vector<MappedVar> results;
  for (std::size_t r = 0; r < found.size(); ++r) results.push_back({found[r], axis_if(forward.mapped[r], 0)});
  return results;
}

}  // namespace tidemark::vmap_rule_of
