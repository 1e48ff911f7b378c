// A function traced for arguments of some types, its own types forgotten: what planning needs of it, and a
// way to trace it again for a smaller or larger batch.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/source.h"
#include "tidemark/ir/graph.h"

namespace tidemark {

struct TracedFunction {
  std::vector<Type> types;                 // of the arguments' tensors in tree order
  std::vector<std::size_t> argument_ends;  // tensors of argument i end here
  std::vector<bool> donated;               // per argument
  std::string fixed;                       // the values that are no tensors, as a key
  // Traced for other types of the same tensors, donated inputs marked. Throws Error if the function cannot
  // take them.
  std::function<Graph(std::span<const Type>)> trace;

  std::size_t argument_begin(std::size_t argument) const {
    return argument == 0 ? 0 : argument_ends[argument - 1];
  }
};

// Which tensors have the batch as their first axis.
struct BatchAxis {
  std::int64_t size = 0;
  std::vector<bool> has;  // per tensor of the arguments

  std::vector<Type> resized(std::span<const Type> types, std::int64_t batch) const;
};

// The axis that `arguments` name; or, if they are empty, the first axis of the last argument that the
// function can be traced with at another length, together with all arguments of the same length. Donated
// arguments are state, not data. None where there is no such argument. Throws Error at `where` when named
// ones disagree.
std::optional<BatchAxis> find_batch(const TracedFunction& function, const std::vector<int>& arguments,
                                    SourceLine where);

}  // namespace tidemark
