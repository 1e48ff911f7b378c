// From states, which are trees, to lists of tensors and back: what makes an update an ordinary function.
//
//   struct AdamState { Parameters parameters, mean, variance; Tensor steps; }     a tree, as users see it
//   StateLists  { parameters: […], mean: […], variance: […], steps: [t] }         lists, as an update does
//
// Every state begins with the parameters and has the number of updates made so far. Moments of 16-bit
// parameters are f32, and an update is computed in f32 and rounded once, to the parameter.
#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tidemark/trace/tree.h"

namespace tidemark::optim {

using Tensors = std::vector<Tensor>;

class StateLists final : public TreeVisitor {
 public:
  void on_tensor(Tensor& tensor) override;

  Tensors& operator[](std::string_view field);                      // empty where the state has none
  const std::vector<std::string>& names() const { return names_; }  // the parameters', as paths in their tree
  Tensors all() const;                                              // in the order of the state
  // Throws Error at `where` unless `gradients` and all fields but the steps have as many tensors as the
  // parameters.
  void check_sizes(std::size_t gradients, SourceLine where) const;
  // The updates made before this one. From now on it is counted.
  Tensor count_step();

 private:
  std::deque<std::pair<std::string, Tensors>> fields_;  // references to them stay what they are
  std::vector<std::string> names_;
};

// Parameters alone, as the part of a state that they are.
template <class Parameters>
StateLists parameter_lists(const Parameters& parameters) {
  StateLists lists;
  const std::size_t outside = lists.enter("parameters");
  walk_tree(parameters, lists);
  lists.leave(outside);
  return lists;
}

// `advance(lists, gradients, where)` is the optimizer's update on lists.
template <class Optimizer, class State, class Gradients>
State advanced(const Optimizer& optimizer, const State& state, const Gradients& gradients, SourceLine where) {
  StateLists lists;
  walk_tree(state, lists);
  const Tensors list = tensors_of(gradients);
  lists.check_sizes(list.size(), where);
  optimizer.advance(lists, list, where);
  return with_tensors(state, lists.all());
}

DType moment_dtype(DType parameter);          // f32 for the 16-bit formats, otherwise the same
Tensor zero_moment(const Tensor& parameter);  // zeros of its shape in its moment_dtype; integers have none
Tensor no_moment(const Tensor& parameter);  // no elements: what an optimizer does not need with its settings
Tensor no_steps();                          // i32 zero
template <class Parameters>
Parameters zero_moments(const Parameters& parameters) {
  return map_tree(zero_moment, parameters);
}

// In the dtype of its moments.
Tensor widened(const Tensor& x);
// beta x + (1 - beta) y
Tensor moving_mean(const Tensor& x, const Tensor& y, double beta);

}  // namespace tidemark::optim
