// The verifier's part on steps: plays them on symbolic memory, one after the other in the order of the list.
// Every read must find the right version of the right value, alive, in the right memory and form; every write
// must be allowed where it goes.
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"
#include "tidemark/plan/verify/symbolic_memory.h"

namespace tidemark {

class StepVerifier {
 public:
  // For a plan whose memories, buffers and bodies are sound.
  StepVerifier(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems);

  void play_all();
  void verify_outputs();  // of what was played: each is where it should be

 private:
  // Which reference of the plan it is, for messages: "step 3 (add): operand 1", "output 0".
  struct RefName {
    std::int32_t step = -1;  // -1: an output's
    std::string_view role = "operand";
    std::int32_t number = -1;  // -1: the only one
  };
  std::string text_of(std::size_t step) const;
  std::string text_of(const RefName& name) const;

  bool known(BufferId b) const { return b.index < plan_.buffers.size(); }
  const Buffer& buffer(BufferId b) const { return plan_.buffers[b.index]; }
  const Lane& lane(const Step& step) const { return plan_.lanes[static_cast<std::size_t>(step.lane)]; }
  bool is_at_hand(const Step& step, BufferId b) const;
  bool verify_ref(const RefName& name, const Ref& ref, ValueId value, std::int32_t step);
  ByteRange range_of(const Ref& ref) const;

  void play(std::size_t t);
  bool verify_operands(std::size_t t, const Node& node);
  bool verify_results(std::size_t t, const Node& node);
  void verify_writes(std::size_t t, const Node& node, const Call& call);
  void verify_scratch(std::size_t t, std::int64_t needed);
  void play_transfer(std::size_t t);
  void verify_forms(std::size_t t, const Buffer& source, const Buffer& target);

  const Graph& graph_;
  const Plan& plan_;
  const Target& target_;
  ProblemList& problems_;
  SymbolicMemory memory_;
};

}  // namespace tidemark
