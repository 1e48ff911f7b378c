// Random loops as simulations have them: states that are made of their neighbours', step by step, with what
// a step reads and hands over, and now and then something that is no stencil.
#pragma once
#include <vector>

#include "tests/programs/draw.h"
#include "tests/support/literals.h"
#include "tidemark/trace/control_flow.h"
#include "tidemark/trace/tensor.h"

namespace tidemark::testing {

struct StencilKind {
  bool smooth = false;  // to be differentiated: floats
  int odd = 25;         // per cent with a line that is no stencil: rolls, random numbers, branches, loops
};

// (state…, medium, row, pushes, fields) → (state…, what was handed over…), a pure function of the seed.
class RandomStencil {
 public:
  explicit RandomStencil(unsigned seed, const StencilKind& kind = {});

  std::vector<Type> types() const;  // of the arguments
  std::vector<Literal> inputs() const;
  std::vector<Tensor> arguments() const;  // without data, to be traced
  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments) const;
  // The squares of all that, summed.
  Tensor loss(const std::vector<Tensor>& arguments) const;
  std::size_t states() const { return state_types_.size(); }
  std::string text() const;

 private:
  enum class What { window, sum, product, blend, choice, push, along, odd };
  struct Line {
    What what = What::window;
    std::size_t a = 0, b = 0;
    Dims shift = {};
    int fill = 0, odd = 0;
  };
  enum class HandsOver { nothing, elements, number, field };

  Tensor line(const Line& line, const std::vector<Tensor>& values, const Tensor& medium, const Tensor& row,
              const Tensor& push) const;
  std::pair<std::vector<Tensor>, std::vector<Tensor>> step(const std::vector<Tensor>& states,
                                                           const Tensor& medium, const Tensor& row,
                                                           const std::vector<Tensor>& xs) const;

  unsigned seed_;
  DType dtype_ = DType::f32;
  Shape shape_;
  std::vector<Type> state_types_;
  std::int64_t steps_ = 0;
  bool reads_fields_ = false, counts_ = false;
  std::vector<Line> lines_;
  std::vector<std::size_t> next_;  // of each state: a value
  HandsOver hands_over_ = HandsOver::nothing;
};

}  // namespace tidemark::testing
