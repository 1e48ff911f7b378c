// A random function of tensors, written with what users write: every op of ops.def, arithmetic, windows,
// mutation, loops, branches, random numbers, captured tensors, constants, hints. The same seed gives the same
// function, whether it runs at once or is traced: choices depend on types alone. Steps can be left out, so
// that a failing one can be made smaller.
#pragma once
#include <set>
#include <vector>

#include "tests/programs/draw.h"
#include "tidemark/tidemark.h"

namespace tidemark::testing {

// What is the same in all parts of a function.
struct FunctionProfile {
  explicit FunctionProfile(std::uint64_t seed);

  std::uint64_t seed;
  int steps;
  std::vector<std::int64_t> sizes;  // of dimensions: few, so that shapes meet
  std::vector<DType> dtypes;        // to choose from; the usual one several times
  std::int64_t most_elements;       // of a value
  std::vector<Tensor> outside;      // captured where they are used

  Shape draw_shape(Draw& draw) const;
  Tensor draw_tensor(Draw& draw) const;
};

class RandomFunction {
 public:
  explicit RandomFunction(std::uint64_t seed, std::set<int> left_out = {});

  int steps() const { return profile_.steps; }
  bool is_smooth() const;  // all in f64: derivatives can be compared closely
  // Fresh memory each time; some of them may be one tensor twice.
  std::vector<Tensor> arguments() const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments) const;

 private:
  FunctionProfile profile_;
  std::set<int> left_out_;
};

}  // namespace tidemark::testing
