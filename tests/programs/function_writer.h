// Writes the steps of a random function: each takes values that are there and adds one or more.
#pragma once
#include <optional>
#include <vector>

#include "tests/programs/random_function.h"
#include "tests/support/law_case.h"

namespace tidemark::testing {

class FunctionWriter {
 public:
  // `depth`: of the loop or branch whose body it writes.
  FunctionWriter(const FunctionProfile& profile, std::vector<Tensor> values, int depth = 0)
      : profile_(profile), values_(std::move(values)), depth_(depth) {}

  void step(Draw draw);
  const std::vector<Tensor>& values() const { return values_; }
  Tensor pick(Draw& draw) const;

 private:
  // Ops from their facts and samples (op_steps.cc).
  void call_elementwise(Draw& draw);
  void call_any(Draw& draw);
  bool takes(const Op& op, const std::vector<Tensor>& in, const Attrs& attrs,
             const std::vector<Graph>& regions = {}) const;
  void call(const Op& op, const std::vector<Tensor>& in, const Attrs& attrs,
            const std::vector<Graph>& regions = {});
  bool call_on_values(const LawCase& law, Draw& draw);
  void call_on_sample(const LawCase& law, Draw& draw);

  // What users write (user_steps.cc).
  void move(Draw& draw);
  void fold(Draw& draw);
  void multiply(Draw& draw);
  void mutate(Draw& draw);
  void make_constant(Draw& draw);
  void draw_numbers(Draw& draw);
  void index(Draw& draw);
  void hint(Draw& draw);

  // With functions of their own (region_steps.cc).
  void repeat_steps(Draw& draw);
  void scan_steps(Draw& draw);
  void loop_while(Draw& draw);
  void choose(Draw& draw);
  void checkpoint_steps(Draw& draw);
  std::vector<Tensor> inner(std::vector<Tensor> values, const std::vector<Type>& wanted, Draw draw) const;
  std::vector<Tensor> some_values(Draw& draw, int most) const;

  void add(const Tensor& value);
  Tensor pick_float(Draw& draw) const;
  Tensor pick_dtype(DType dtype, Draw& draw) const;
  // The same elements, as far as there are any, as another type.
  static Tensor fitted(const Tensor& x, const Type& type);
  // Values as a sample wants them.
  static Tensor within(Tensor x, const Sample::Operand& operand);

  const FunctionProfile& profile_;
  std::vector<Tensor> values_;
  int depth_;
};

}  // namespace tidemark::testing
