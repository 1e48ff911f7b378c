// The text page of a plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/packed.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/plan_figures.h"
#include "tidemark/plan/report/plan_hash.h"

namespace tidemark {
namespace {

std::string bytes(std::int64_t n) { return to_string(Bytes(n)); }

// The value that each buffer holds once the step has run: one kernel writes over what another made.
std::vector<ValueId> held_after(const Plan& plan, std::int32_t step) {
  std::vector<ValueId> held;
  for (const Buffer& buffer : plan.buffers) held.push_back(buffer.value);
  for (std::int32_t s = 0; s <= step; ++s)
    for (const Ref& out : plan.steps[static_cast<std::size_t>(s)].out) held[out.buffer.index] = out.value;
  return held;
}

std::string describe(const Graph& graph, ValueId id) {
  if (!id.valid()) return "scratch";
  const Value& value = graph[id];
  std::string text = fmt::format("{} %{}", to_string(value.type), id.index);
  if (!value.name.empty()) text += fmt::format(" `{}`", value.name);
  if (value.producer.valid()) {
    const Node& node = graph[value.producer];
    text += fmt::format(" of {}", node.op->name);
    if (node.where.known()) text += fmt::format(" ({})", short_form(node.where));
  }
  return text;
}

// A hint inside a loop has a copy in each region that the loop and its gradient run: one of those on the same
// line stands for all, if possible one that has an effect.
void add_hints_of_bodies(const Plan& plan, std::vector<const HintReport*>& list, std::size_t first) {
  const auto same = [](const HintReport& a) {
    return [&a](const HintReport* b) {
      return a.kind == b->kind && a.where.line == b->where.line && a.where.file == b->where.file;
    };
  };
  for (const NodePlans& body : plan.bodies) {
    for (const Plan& region : body.regions) {
      for (const HintReport& hint : region.hints) {
        const auto known =
            std::find_if(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), same(hint));
        if (known == list.end()) {
          list.push_back(&hint);
        } else if (hint.honoured && !(*known)->honoured) {
          *known = &hint;
        }
      }
      add_hints_of_bodies(region, list, first);
    }
  }
}

std::vector<const HintReport*> hints_with_bodies(const Plan& plan) {
  std::vector<const HintReport*> list;
  for (const HintReport& hint : plan.hints) list.push_back(&hint);
  add_hints_of_bodies(plan, list, list.size());
  return list;
}

// What a loop has wait on the disk is many values of one line: one report stands for them.
std::vector<HintReport> hints_by_line(const Plan& plan) {
  std::vector<HintReport> list;
  for (const HintReport* hint : hints_with_bodies(plan)) {
    const auto known = std::ranges::find_if(list, [&](const HintReport& other) {
      return hint->kind == HintKind::offload && other.kind == hint->kind && other.where == hint->where &&
             hint->where.known() && other.honoured == hint->honoured && other.reason == hint->reason;
    });
    if (known == list.end()) {
      list.push_back(*hint);
      continue;
    }
    known->name.clear();
    known->bytes += hint->bytes;
    known->runs += hint->runs;
    known->seconds += hint->seconds;
  }
  return list;
}

std::string describe(const HintReport& hint) {
  std::string text = fmt::format("{:<11}", name_of(hint.kind));
  if (!hint.name.empty()) text += fmt::format("`{}` ", hint.name);
  if (hint.where.known()) text += fmt::format("({}) ", short_form(hint.where));
  if (!hint.honoured) return text + fmt::format("has no effect: {}", hint.reason);
  if (hint.kind == HintKind::keep) return text + fmt::format("keeps {}", bytes(hint.bytes));
  if (hint.kind == HintKind::compress)
    return text + fmt::format("takes {} less while it waits for the backward pass", bytes(hint.bytes));
  if (hint.kind == HintKind::offload)
    return text + fmt::format("waits on the disk with {}, adds {} copies of {:.3g} ms beside computing",
                              bytes(hint.bytes), hint.runs, 1e3 * hint.seconds);
  text += fmt::format("does not store {}, adds {} steps of {:.3g} ms", bytes(hint.bytes), hint.runs,
                      1e3 * hint.seconds);
  if (hint.kept_bytes > 0) text += fmt::format("; {} stored within its memory", bytes(hint.kept_bytes));
  return text;
}

// The parts of the peak that are not empty, the largest first; and how many gradients are there at once.
std::string describe(const PeakSplit& split) {
  std::vector<PeakRole> roles;
  for (int r = 0; r < peak_role_count; ++r) {
    if (split.bytes[static_cast<std::size_t>(r)] > 0) roles.push_back(static_cast<PeakRole>(r));
  }
  std::ranges::stable_sort(roles, std::greater(), [&](PeakRole role) { return split.of(role); });
  std::string text;
  for (const PeakRole role : roles)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label_of(role), bytes(split.of(role)));
  return text;
}
std::string describe_gradients(const PeakSplit& split) {
  std::string text =
      fmt::format("{} of {} at once{}", bytes(split.most_gradients), bytes(split.all_gradients),
                  split.all_returned ? ": they are results, for the caller"
                  : split.all_needed ? ": every update needs all of them (a norm over all, a loss scale)"
                                     : ", each until its parameter's update");
  if (const std::int64_t parameters = split.of(PeakRole::parameters); parameters > 0) {
    text += fmt::format("; with parameters and optimizer state {}, {:.2f} times the parameters",
                        bytes(split.most_learned()),
                        static_cast<double>(split.most_learned()) / static_cast<double>(parameters));
  }
  return text;
}

struct Counts {
  int in_place = 0, donated = 0, views = 0, reused = 0, again = 0;
  int kernels = 0, grouped = 0,
      in_tiles = 0;  // launches of groups, steps in them, values that have no memory
  std::int64_t tile_bytes = 0;
  int computed = 0, moved = 0;  // steps that compute, and copies and codes
  int undone = 0;               // calls, for their operands
  int packed = 0;               // values that wait in a smaller form, those of loops' steps included
  std::int64_t packed_bytes = 0, plain_bytes = 0;  // with and without it, of one step where it is a loop's
  std::int64_t moved_bytes = 0;                    // of plain values
};

void count_nodes(const Graph& graph, Counts& counts, bool is_region = false) {
  std::set<std::uint32_t> seen;
  for (const Node& node : graph.nodes()) {
    for (const Graph& region : node.regions) count_nodes(region, counts, true);
    counts.undone += node.op->undoes;
    if (!unpacks_own(graph, node, is_region) || !seen.insert(node.operands[0].index).second) continue;
    ++counts.packed;
    counts.packed_bytes += graph.type(node.operands[0]).bytes();
    counts.plain_bytes += graph.type(node.results[0]).bytes();
  }
}

Counts count(const Graph& graph, const Plan& plan) {
  Counts counts;
  count_nodes(graph, counts);
  std::vector<bool> runs(graph.nodes().size(), false);
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    if (step.kind != StepKind::compute) {
      ++counts.moved;
      counts.moved_bytes += graph.type(step.in[0].value).bytes();
      continue;
    }
    ++counts.computed;
    counts.again += runs[step.node.index];
    runs[step.node.index] = true;
    counts.grouped += step.group >= 0;
    counts.kernels += step.group >= 0 && group_end(plan, t) == t + 1;
    for (const Ref& out : step.out) {
      const bool over = is_in_place(plan, t, out);
      counts.in_place += over;
      counts.donated += plan.buffers[out.buffer.index].binding == Binding::argument && !over;
    }
  }
  for (std::size_t n = 0; n < runs.size(); ++n) counts.views += !runs[n];
  // Bytes of the arena that serve a second buffer: all it ever holds, beyond its height, was reuse.
  for (const Buffer& b : plan.buffers) {
    counts.reused += b.binding == Binding::arena && b.bytes > 0;
    if (b.binding != Binding::tile) continue;
    ++counts.in_tiles;
    counts.tile_bytes += b.bytes;
  }
  return counts;
}

}  // namespace

std::int32_t peak_step(const Plan& plan) {
  std::vector<std::int64_t> change(plan.steps.size() + 1, 0);
  for (const Buffer& b : plan.buffers) {
    if (b.binding != Binding::arena || b.memory != 0) continue;
    change[static_cast<std::size_t>(b.begin)] += align_up(b.bytes, plan.alignment);
    change[static_cast<std::size_t>(b.end)] -= align_up(b.bytes, plan.alignment);
  }
  std::int64_t load = 0, most = -1;
  std::int32_t at = 0;
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    load += change[t];
    if (load > most && plan.steps[t].kind == StepKind::compute)
      most = load, at = static_cast<std::int32_t>(t);
  }
  return at;
}

std::string summary(const Graph& graph, const Plan& plan) {
  const auto ratio = [](std::int64_t a, std::int64_t b) { return b > 0 ? double(a) / double(b) : 1.0; };
  const Counts counts = count(graph, plan);
  std::string text;
  const auto line = [&](std::string_view name, const std::string& what) {
    text += fmt::format("{:<18}{}\n", name, what);
  };
  line("peak", fmt::format("{} = inputs {} + arena {}", bytes(plan.peak()), bytes(plan.input_bytes),
                           bytes(plan.arena_bytes)));
  line("lower bound", fmt::format("{} for this order (peak is {:.4f} of it), {} for any order ({:.4f})",
                                  bytes(plan.lower_bound), ratio(plan.peak(), plan.lower_bound),
                                  bytes(plan.order_free_bound), ratio(plan.peak(), plan.order_free_bound)));
  line("store everything", fmt::format("{} (peak is {:.1f}% of it)", bytes(plan.store_all_bytes),
                                       100 * ratio(plan.peak(), plan.store_all_bytes)));
  if (plan.budget > 0) {
    line("budget", fmt::format("{}, {} of it free", bytes(plan.budget), bytes(plan.budget - plan.peak())));
  }
  for (const PlanMemory& memory : plan.further) {
    line(memory.name, fmt::format("{} of {}", bytes(memory.peak()), bytes(memory.budget)));
  }
  const std::string moving =
      counts.moved == 0 ? ""
                        : fmt::format(" and moving {} in {} steps", bytes(counts.moved_bytes), counts.moved);
  const std::string undoing = counts.undone == 0 ? "" : fmt::format(", undoing {} calls", counts.undone);
  const std::string loops = steps_run_again(graph);
  line("time",
       fmt::format("{} predicted, {:+.2f}% for recomputing {} of {} steps{}{}{}{}; at least {:+.2f}%",
                   time_text(plan.seconds), 100 * plan.extra_time(), counts.again - plan.duplicates.steps,
                   counts.computed - plan.duplicates.steps, loops.empty() ? "" : " and ", loops, undoing,
                   moving, plan.least_seconds > 0 ? 100 * (plan.seconds_bound / plan.least_seconds - 1) : 0));
  line("work", fmt::format("{:.4g} GFLOP, {:.4g} GB moved, {} steps", plan.flops / 1e9,
                           plan.bytes_moved / 1e9, plan.steps.size()));
  line("memory shared",
       fmt::format("{} results in place, {} written into donated inputs, {} nodes are views, "
                   "{} buffers share the arena",
                   counts.in_place, counts.donated, counts.views, counts.reused));
  if (counts.grouped > 0) {
    line("fused", fmt::format("{} steps in {} kernels, {} values ({}) without memory", counts.grouped,
                              counts.kernels, counts.in_tiles, bytes(counts.tile_bytes)));
  }
  if (const Duplicates& made = plan.duplicates; made.values > 0) {
    line("faster again",
         fmt::format("{} values made by kernels that read them, in {} more steps: {:+.2f}% time", made.values,
                     made.steps, -100 * made.seconds / (plan.seconds + made.seconds)));
  }
  if (counts.packed > 0) {
    line("compressed", fmt::format("{} values wait for the backward pass in {} instead of {}", counts.packed,
                                   bytes(counts.packed_bytes), bytes(counts.plain_bytes)));
  }
  if (counts.undone > 0)
    line("inverted", fmt::format("{} calls undone for the backward pass", counts.undone));
  line("plan hash", hash_text(plan_hash(plan)));
  std::vector<HintReport> shown_hints = hints_by_line(plan);
  if (!shown_hints.empty()) {
    const auto idle = std::ranges::count(shown_hints, false, &HintReport::honoured);
    line("hints", fmt::format("{}, {} without effect", shown_hints.size(), idle));
    // Those without effect first: nobody wants to miss them.
    std::ranges::stable_sort(shown_hints, {}, &HintReport::honoured);
    constexpr std::size_t most = 40;
    for (std::size_t i = 0; i < std::min(shown_hints.size(), most); ++i)
      text += "  " + describe(shown_hints[i]) + "\n";
    if (shown_hints.size() > most) text += fmt::format("  and {} more\n", shown_hints.size() - most);
  }
  if (plan.steps.empty()) return text;

  const PeakSplit split = peak_split(graph, plan);
  line("peak holds", describe(split));
  if (split.gradients > 0) line("gradients", describe_gradients(split));
  const std::int32_t at = peak_step(plan);
  const Node& node = graph[plan.steps[static_cast<std::size_t>(at)].node];
  line("at the peak", fmt::format("step {} of {}, {}{}", at, plan.steps.size(), node.op->name,
                                  node.where.known() ? fmt::format(" ({})", short_form(node.where)) : ""));
  const std::vector<ValueId> held = held_after(plan, at);
  std::vector<std::size_t> live;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const bool there = buffer.begin <= at && at < buffer.end && buffer.memory == 0;
    if (there && buffer.bytes > 0 && buffer.binding != Binding::tile) live.push_back(b);
  }
  const auto bytes_of = [&](std::size_t b) { return plan.buffers[b].bytes; };
  std::ranges::stable_sort(live, std::greater(), bytes_of);
  constexpr std::size_t shown = 12;
  for (std::size_t i = 0; i < std::min(live.size(), shown); ++i) {
    const Buffer& buffer = plan.buffers[live[i]];
    text += fmt::format("  {:>12}  {:<8}{}\n", bytes(buffer.bytes), name_of(buffer.purpose),
                        describe(graph, held[live[i]]));
  }
  if (live.size() > shown) {
    std::int64_t rest = 0;
    for (std::size_t i = shown; i < live.size(); ++i) rest += bytes_of(live[i]);
    text += fmt::format("  {:>12}  in {} smaller ones\n", bytes(rest), live.size() - shown);
  }
  return text;
}

}  // namespace tidemark
