// The vector field of the adjoint: what runs backwards beside the state.
#pragma once
#include "tidemark/ode/field.h"

namespace tidemark::ode {

struct Pulled {
  List slope;
  List by_y, by_parameters;  // seedᵀ ∂f/∂y, seedᵀ ∂f/∂p
};

Pulled pulled(const ParameterField& f, const Tensor& t, const List& y, const List& parameters,
              const List& seed);

// y' = f, a' = −aᵀ ∂f/∂y, g' = −aᵀ ∂f/∂p, with y, a and g one list; y has `count` tensors. `f` must outlive
// it.
ParameterField with_adjoints(const ParameterField& f, std::size_t count);

}  // namespace tidemark::ode
