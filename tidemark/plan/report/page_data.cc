#include "tidemark/plan/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/plan/report/memory_roles.h"
#include "tidemark/plan/report/page_regions.h"
#include "tidemark/plan/report/phases.h"
#include "tidemark/plan/report/plan_figures.h"

namespace tidemark {
namespace {

using PageJson = nlohmann::ordered_json;
using Numbers = std::vector<std::int64_t>;

// A column whose numbers are all the same is that number.
PageJson column(const Numbers& numbers) {
  const bool same =
      !numbers.empty() && std::ranges::all_of(numbers, [&](std::int64_t n) { return n == numbers.front(); });
  return same ? PageJson(numbers.front()) : PageJson(numbers);
}

std::int64_t nanoseconds(double seconds) { return std::llround(1e9 * seconds); }

template <class Id>
std::int64_t number_of(Id id) {
  return id.valid() ? static_cast<std::int64_t>(id.index) : -1;
}

// Texts by number, each once.
class TextTable {
 public:
  std::int64_t number(std::string text) {
    const auto [at, is_new] = numbers_.emplace(std::move(text), static_cast<std::int64_t>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  PageJson json() const {
    PageJson list = PageJson::array();
    for (const std::string* text : texts_) list.push_back(*text);
    return list;
  }

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<const std::string*> texts_;
};

// Lists of numbers, one behind the other, and how long each is.
struct Lists {
  Numbers count, buffer, value;
  void add(const std::vector<Ref>& refs) {
    count.push_back(static_cast<std::int64_t>(refs.size()));
    for (const Ref& ref : refs) {
      buffer.push_back(number_of(ref.buffer));
      value.push_back(number_of(ref.value));
    }
  }
  PageJson json() const {
    return {{"count", column(count)}, {"buffer", column(buffer)}, {"value", column(value)}};
  }
};

PageJson graph_json(const Graph& graph, TextTable& texts) {
  Numbers op, where, phase, flags, operand_count, operand;
  Numbers type, name, bytes, producer;
  const std::vector<Phase> phases = phases_of(graph);
  const GraphRegions regions = regions_of(graph, phases);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    op.push_back(texts.number(std::string(node.op->name)));
    where.push_back(texts.number(short_form(node.where)));
    phase.push_back(static_cast<std::int64_t>(phases[n]));
    flags.push_back((node.op->undoes ? 1 : 0) | (node.op->unpacks ? 2 : 0) | (node.regions.empty() ? 0 : 4));
    operand_count.push_back(static_cast<std::int64_t>(node.operands.size()));
    for (const ValueId v : node.operands) operand.push_back(number_of(v));
  }
  for (const Value& value : graph.values()) {
    type.push_back(texts.number(to_string(value.type)));
    name.push_back(texts.number(value.name));
    bytes.push_back(value.type.bytes());
    producer.push_back(number_of(value.producer));
  }
  return {{"nodes",
           {{"count", graph.nodes().size()},
            {"op", column(op)},
            {"where", column(where)},
            {"phase", column(phase)},
            {"flags", column(flags)},
            {"region", column(Numbers(regions.of_node.begin(), regions.of_node.end()))},
            {"operands", column(operand_count)},
            {"operand", column(operand)}}},
          {"values",
           {{"count", graph.values().size()},
            {"type", column(type)},
            {"name", column(name)},
            {"bytes", column(bytes)},
            {"producer", column(producer)}}},
          {"regions", regions.names}};
}

// Of each buffer its first role; what it is later: buffer, step, role.
PageJson buffers_json(const Graph& graph, const Plan& plan, TextTable& texts) {
  Numbers binding, purpose, bytes, offset, slot, begin, end, value, memory, codec, role, changes;
  const std::vector<std::vector<RoleSpan>> spans = roles_over_time(graph, plan);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    binding.push_back(static_cast<std::int64_t>(buffer.binding));
    purpose.push_back(static_cast<std::int64_t>(buffer.purpose));
    bytes.push_back(buffer.bytes);
    offset.push_back(buffer.offset);
    slot.push_back(buffer.slot);
    begin.push_back(buffer.begin);
    end.push_back(buffer.end);
    value.push_back(number_of(buffer.value));
    memory.push_back(buffer.memory);
    codec.push_back(buffer.codec ? texts.number(std::string(buffer.codec->name)) : -1);
    role.push_back(static_cast<std::int64_t>(spans[b].empty() ? PeakRole::temporaries : spans[b][0].role));
    for (std::size_t k = 1; k < spans[b].size(); ++k) {
      changes.insert(changes.end(), {static_cast<std::int64_t>(b), spans[b][k].begin,
                                     static_cast<std::int64_t>(spans[b][k].role)});
    }
  }
  return {{"count", plan.buffers.size()},
          {"binding", column(binding)},
          {"purpose", column(purpose)},
          {"bytes", column(bytes)},
          {"offset", column(offset)},
          {"slot", column(slot)},
          {"begin", column(begin)},
          {"end", column(end)},
          {"value", column(value)},
          {"memory", column(memory)},
          {"codec", column(codec)},
          {"role", column(role)},
          {"changes", changes}};
}

PageJson steps_json(const Plan& plan, const Timetable& times, const std::vector<double>& seconds) {
  Numbers kind, node, scratch, group, lane, begin, end, duration, wait_count, wait;
  Lists in, out;
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    kind.push_back(static_cast<std::int64_t>(step.kind));
    node.push_back(number_of(step.node));
    scratch.push_back(number_of(step.scratch));
    group.push_back(step.group);
    lane.push_back(step.lane);
    begin.push_back(nanoseconds(times.begin[t]));
    end.push_back(nanoseconds(times.end[t]));
    duration.push_back(nanoseconds(seconds[t]));
    in.add(step.in);
    out.add(step.out);
    wait_count.push_back(static_cast<std::int64_t>(step.waits.size()));
    wait.insert(wait.end(), step.waits.begin(), step.waits.end());
  }
  return {{"count", plan.steps.size()},
          {"kind", column(kind)},
          {"node", column(node)},
          {"scratch", column(scratch)},
          {"group", column(group)},
          {"lane", column(lane)},
          {"begin", column(begin)},
          {"end", column(end)},
          {"duration", column(duration)},
          {"in", in.json()},
          {"out", out.json()},
          {"waits", column(wait_count)},
          {"wait", column(wait)}};
}

PageJson hints_json(const Plan& plan) {
  PageJson list = PageJson::array();
  for (const HintReport& hint : plan.hints) {
    list.push_back({{"kind", name_of(hint.kind)},
                    {"name", hint.name},
                    {"where", short_form(hint.where)},
                    {"value", number_of(hint.value)},
                    {"honoured", hint.honoured},
                    {"reason", hint.reason}});
  }
  return list;
}

PageJson plan_page(const PagePlan& page, std::int64_t graph, const PageContent& content, TextTable& texts) {
  const Plan& plan = page.plan;
  const std::vector<double> seconds = step_seconds(page.graph, plan, *content.target, *content.machine);
  const Timetable times = timetable(plan, seconds);
  PageJson lanes = PageJson::array(), memories = PageJson::array();
  for (std::size_t l = 0; l < plan.lanes.size(); ++l) {
    lanes.push_back({{"name", plan.lanes[l].name},
                     {"computes", plan.lanes[l].computes},
                     {"memory", plan.lanes[l].memory},
                     {"stalled", times.stalled[l]}});
  }
  for (std::size_t m = 0; m < memory_count(plan); ++m) {
    const PlanMemory memory = memory_of(plan, m);
    memories.push_back({{"name", memory.name},
                        {"input_bytes", memory.input_bytes},
                        {"arena_bytes", memory.arena_bytes},
                        {"peak", memory.peak()},
                        {"budget", memory.budget},
                        {"alignment", memory.alignment}});
  }
  return {{"graph", graph},
          {"verdict", verdict(page.graph, plan)},
          {"figures", plan_figures(page.graph, plan)},
          {"peak_step", plan.steps.empty() ? -1 : peak_step(plan)},
          {"makespan", times.makespan},
          {"memories", std::move(memories)},
          {"lanes", std::move(lanes)},
          {"hints", hints_json(plan)},
          {"buffers", buffers_json(page.graph, plan, texts)},
          {"steps", steps_json(plan, times, seconds)}};
}

PageJson parsed(const std::string& text) { return text.empty() ? PageJson(nullptr) : PageJson::parse(text); }

}  // namespace

nlohmann::ordered_json page_data(const PageContent& content) {
  TM_CHECK(content.plans.empty() || (content.target && content.machine));
  TextTable texts;
  std::vector<const Graph*> graphs;
  PageJson plans = PageJson::array(), graph_list = PageJson::array(), staircases = PageJson::array();
  for (const PagePlan& page : content.plans) {
    const auto known = std::ranges::find(graphs, &page.graph);
    const std::int64_t graph = known - graphs.begin();
    if (known == graphs.end()) {
      graphs.push_back(&page.graph);
      graph_list.push_back(graph_json(page.graph, texts));
    }
    plans.push_back(plan_page(page, graph, content, texts));
  }
  for (const std::string& text : content.staircases) staircases.push_back(parsed(text));
  PageJson roles = PageJson::array();
  for (int r = 0; r < peak_role_count; ++r) roles.push_back(name_of(static_cast<PeakRole>(r)));
  return {{"format", "tidemark-page"},
          {"version", 1},
          {"kind", content.plans.empty() ? "schedule" : "plan"},
          {"title", content.title},
          {"target", content.plans.empty() ? "" : content.plans.front().plan.target},
          {"machine", content.machine ? content.machine->name : ""},
          {"notes", content.notes},
          {"roles", std::move(roles)},
          {"current", content.current},
          {"plans", std::move(plans)},
          {"graphs", std::move(graph_list)},
          {"staircases", std::move(staircases)},
          {"explanation", parsed(content.explanation)},
          {"profile", parsed(content.profile)},
          {"texts", texts.json()}};
}

}  // namespace tidemark
