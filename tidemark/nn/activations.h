// Activations beyond those of trace/functions.h, written with them. Each has a gradient everywhere: where a
// branch is not taken, nothing of it is infinite.
#pragma once
#include <cstdint>

#include "tidemark/trace/functions.h"

namespace tidemark::nn {

Tensor elu(const Operand& x, double alpha = 1);   // x, or alpha (eˣ - 1) below 0
Tensor celu(const Operand& x, double alpha = 1);  // x, or alpha (e^(x/alpha) - 1) below 0
Tensor selu(const Operand& x);                    // elu with the two numbers of Klambauer et al. 2017
Tensor mish(const Operand& x);                    // x tanh(softplus(x))
Tensor relu6(const Operand& x);                   // between 0 and 6
Tensor hardtanh(const Operand& x, double low = -1, double high = 1);
Tensor hardsigmoid(const Operand& x);  // x/6 + 1/2 between 0 and 1
Tensor hardswish(const Operand& x);    // x hardsigmoid(x)
Tensor logsigmoid(const Operand& x);
Tensor softsign(const Operand& x);                         // x / (1 + |x|)
Tensor tanhshrink(const Operand& x);                       // x - tanh(x)
Tensor softshrink(const Operand& x, double lambda = 0.5);  // x drawn to 0 by lambda
Tensor hardshrink(const Operand& x, double lambda = 0.5);  // x, or 0 where |x| is at most lambda
Tensor gelu_tanh(const Operand& x);                        // the approximation that GPT-2 was trained with
Tensor glu(const Operand& x, int axis = -1);               // the first half times the sigmoid of the second
// x, or slope x below 0: one slope for all, or one for each channel of x (N, C, …).
Tensor prelu(const Operand& x, const Operand& slope);

// Those that layers take by name.
enum class Activation : std::uint8_t { relu, gelu, gelu_tanh, silu, tanh };
Tensor activate(const Operand& x, Activation activation);

}  // namespace tidemark::nn
