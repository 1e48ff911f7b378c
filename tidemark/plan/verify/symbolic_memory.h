// What the buffers of a plan hold while its steps are played: which value's bytes are whole, and where. A
// value can be found where it was written, or as a window on an operand that is still there.
#pragma once
#include <span>
#include <vector>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/byte_range.h"

namespace tidemark {

class SymbolicMemory {
 public:
  // Holds the arguments. The plan's buffers are sound (verify_buffers.h).
  SymbolicMemory(const Graph& graph, const Plan& plan);

  // The value is written to these bytes; what else they were part of is gone.
  void write(BufferId b, ValueId v, ByteRange range);
  // Can the value be read like this? In plain form, and coded.
  bool holds(const Ref& ref);
  bool holds_coded(const Ref& ref) const;

 private:
  struct Content {
    ValueId value;
    ByteRange range;
  };

  std::span<const ValueId> viewed_operands(ValueId v) const;
  void wipe(BufferId b, ByteRange range);
  const std::vector<Ref>& refs(ValueId v);
  void find_refs(ValueId v);
  void forget_refs(ValueId v);

  const Graph& graph_;
  const Plan& plan_;
  std::vector<std::vector<Content>> contents_;    // per buffer: values whose bytes are whole
  std::vector<std::vector<BufferId>> homes_;      // per value: the buffers whose contents name it
  std::vector<std::vector<Ref>> refs_;            // per value, where known: all that find it
  std::vector<bool> known_refs_;                  // per value: known for all that it may be a window on, too
  std::vector<std::vector<ValueId>> windows_on_;  // per value: results of nodes that may show it
};

}  // namespace tidemark
