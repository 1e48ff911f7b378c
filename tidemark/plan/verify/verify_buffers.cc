#include "tidemark/plan/verify/verify_buffers.h"

#include <map>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/verify/byte_range.h"

namespace tidemark {
namespace {

class BufferVerifier {
 public:
  BufferVerifier(const Graph& graph, const Plan& plan, ProblemList& problems)
      : graph_(graph), plan_(plan), problems_(problems), bound_(graph.inputs().size(), 0) {}

  void run() {
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) check(b);
    for (std::size_t i = 0; i < bound_.size(); ++i) {
      if (bound_[i] != 1) problems_.report("input {} is bound by {} buffers", i, bound_[i]);
    }
    if (plan_.outputs.size() != graph_.outputs().size()) problems_.report("{} outputs", plan_.outputs.size());
  }

 private:
  void check(std::size_t b) {
    const Buffer& buffer = plan_.buffers[b];
    const auto steps = static_cast<std::int32_t>(plan_.steps.size());
    if (buffer.begin < 0 || buffer.end > steps || buffer.begin > buffer.end)
      problems_.report("b{}: lives in [{}, {}) of {} steps", b, buffer.begin, buffer.end, steps);
    if (buffer.bytes < 0 || buffer.bytes > absurd_bytes) problems_.report("b{}: {} bytes", b, buffer.bytes);
    if (buffer.value.valid() && buffer.value.index >= graph_.values().size())
      problems_.report("b{}: made for no value", b);
    if (buffer.memory < 0 || static_cast<std::size_t>(buffer.memory) >= memory_count(plan_))
      return problems_.report("b{}: no memory {}", b, buffer.memory);
    const bool in_arena = buffer.binding == Binding::arena;
    const bool named = buffer.binding == Binding::argument || buffer.binding == Binding::result;
    if (!named && buffer.slot != -1) problems_.report("b{}: a slot", b);
    if (!in_arena && buffer.offset != 0) problems_.report("b{}: an offset outside of an arena", b);
    if (buffer.codec && (!in_arena || buffer.purpose != Purpose::value || !buffer.value.valid()))
      problems_.report("b{}: coded, and no value of the arena", b);
    switch (buffer.binding) {
      case Binding::arena:
        return check_in_arena(b);
      case Binding::result:
        return check_result(b);
      case Binding::tile:
        if (buffer.purpose != Purpose::value) problems_.report("b{}: a tile with a place", b);
        return;
      case Binding::argument:
        return check_argument(b);
    }
  }

  void check_in_arena(std::size_t b) {
    const Buffer& buffer = plan_.buffers[b];
    const PlanMemory memory = memory_of(plan_, static_cast<std::size_t>(buffer.memory));
    const bool placed =
        buffer.offset >= 0 && buffer.offset < absurd_bytes && buffer.offset % memory.alignment == 0;
    if (!placed) problems_.report("b{}: offset {}", b, buffer.offset);
    if (placed && buffer.bytes <= absurd_bytes && buffer.offset + buffer.bytes > memory.arena_bytes)
      problems_.report("b{}: ends above the arena", b);
    if (buffer.purpose == Purpose::input || buffer.purpose == Purpose::donated)
      problems_.report("b{}: an input in the arena", b);
  }

  // Memory that the caller names for an output: of its size, for one that is to be written there, once.
  void check_result(std::size_t b) {
    const Buffer& buffer = plan_.buffers[b];
    const auto index = static_cast<std::size_t>(buffer.slot);
    if (!plan_.binds_outputs) problems_.report("b{}: the caller names no memory for outputs", b);
    if (buffer.slot < 0 || index >= graph_.outputs().size())
      return problems_.report("b{}: made for no output", b);
    if (buffer.bytes != graph_.type(graph_.outputs()[index]).bytes())
      problems_.report("b{}: not the size of output {}", b, index);
    if (buffer.purpose != Purpose::output) problems_.report("b{}: purpose", b);
    const auto [other, fresh] = result_buffers_.try_emplace(index, b);
    if (!fresh) problems_.report("b{} and b{} are both output {}", other->second, b, index);
  }

  void check_argument(std::size_t b) {
    const Buffer& buffer = plan_.buffers[b];
    const auto index = static_cast<std::size_t>(buffer.slot);
    if (buffer.slot < 0 || index >= bound_.size()) return problems_.report("b{}: bound to no input", b);
    const Input& input = graph_.inputs()[index];
    ++bound_[index];
    if (buffer.bytes != graph_.type(input.value).bytes())
      problems_.report("b{}: not the size of input {}", b, index);
    if (buffer.begin != 0 || buffer.end != static_cast<std::int32_t>(plan_.steps.size()))
      problems_.report("b{}: an input lives from the first step to the last", b);
    if (buffer.purpose != (input.donated ? Purpose::donated : Purpose::input))
      problems_.report("b{}: purpose", b);
    if (buffer.value != input.value) problems_.report("b{}: not made for input {}", b, index);
  }

  const Graph& graph_;
  const Plan& plan_;
  ProblemList& problems_;
  std::vector<int> bound_;                             // per input: how many buffers are bound to it
  std::map<std::size_t, std::size_t> result_buffers_;  // by output
};

}  // namespace

void verify_buffers(const Graph& graph, const Plan& plan, ProblemList& problems) {
  BufferVerifier(graph, plan, problems).run();
}

}  // namespace tidemark
