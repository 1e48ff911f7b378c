#include "tidemark/plan/report/plan_hash.h"

#include <fmt/format.h>

namespace tidemark {
namespace {

// Takes 64-bit words one after the other; each goes through the finalizer of splitmix64, so that every bit of
// every word reaches all of the result. Lists say their length first: no two plans give the same words.
class WordHash {
 public:
  void add(std::int64_t word) {
    std::uint64_t x = state_ + 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(word);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    state_ = (x ^ (x >> 31)) + (state_ << 1 | state_ >> 63);
  }
  template <class Tag>
  void add(Id<Tag> id) {
    add(id.valid() ? static_cast<std::int64_t>(id.index) : -1);
  }
  template <class Range, class Add>
  void each(const Range& list, Add&& add_element) {
    add(static_cast<std::int64_t>(std::size(list)));
    for (const auto& element : list) add_element(element);
  }
  std::uint64_t result() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

void add(WordHash& hash, const Ref& ref) {
  hash.add(ref.value);
  hash.add(ref.buffer);
  hash.add(ref.offset);
  hash.add(ref.strides.rank());
  for (std::int64_t stride : ref.strides) hash.add(stride);
}

void add(WordHash& hash, const std::vector<Ref>& refs) {
  hash.each(refs, [&](const Ref& ref) { add(hash, ref); });
}

void add(WordHash& hash, std::string_view text) {
  hash.each(text, [&](char c) { hash.add(c); });
}

// What plans of one memory and one lane have nothing of: their words, and so their names, are those without
// it.
void add_memories_and_lanes(WordHash& hash, const Plan& plan) {
  hash.each(plan.further, [&](const PlanMemory& memory) {
    add(hash, memory.name);
    hash.add(memory.alignment);
    hash.add(memory.arena_bytes);
  });
  hash.each(plan.lanes, [&](const Lane& lane) {
    add(hash, lane.name);
    hash.add(lane.computes);
    hash.add(lane.memory);
  });
  for (const Buffer& b : plan.buffers) {
    hash.add(b.memory);
    add(hash, b.codec ? b.codec->name : std::string_view());
  }
  for (const Step& step : plan.steps) {
    hash.add(step.lane);
    hash.each(step.waits, [&](std::int32_t wait) { hash.add(wait); });
  }
}

void add(WordHash& hash, const Plan& plan) {
  if (plan.target != cpu_target_name) {  // plans for the CPU are named as before there were others
    add(hash, plan.target);
    hash.add(plan.alignment);
  }
  hash.add(plan.binds_outputs);
  hash.add(plan.arena_bytes);
  hash.each(plan.buffers, [&](const Buffer& b) {
    hash.add(static_cast<std::int64_t>(b.binding));
    hash.add(static_cast<std::int64_t>(b.purpose));
    hash.add(b.bytes);
    hash.add(b.slot >= 0 ? b.slot : b.offset);
    hash.add(b.begin);
    hash.add(b.end);
    hash.add(b.value);
  });
  hash.each(plan.steps, [&](const Step& step) {
    hash.add(static_cast<std::int64_t>(step.kind));
    hash.add(step.node);
    add(hash, step.in);
    add(hash, step.out);
    hash.add(step.scratch);
    hash.add(step.group);
  });
  add(hash, plan.outputs);
  hash.each(plan.bodies, [&](const NodePlans& body) {
    hash.add(body.node);
    hash.each(body.regions, [&](const Plan& region) { add(hash, region); });
  });
  if (!is_plain(plan)) add_memories_and_lanes(hash, plan);
}

}  // namespace

std::uint64_t plan_hash(const Plan& plan) {
  WordHash hash;
  add(hash, plan);
  return hash.result();
}

std::uint64_t plan_hash(std::span<const int> schedule) {
  WordHash hash;
  hash.each(schedule, [&](int node) { hash.add(node); });
  return hash.result();
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace tidemark
