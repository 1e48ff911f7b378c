// Draws made of the random numbers of model_functions.h: pure functions of a key, the same at every replay.
#pragma once
#include "tidemark/trace/tensor.h"

namespace tidemark {

// −log(u)/rate, u uniform: waiting times. rate above 0.
Tensor random_exponential(const Operand& key, const Shape& shape, double rate = 1, DType dtype = DType::f32);
// −log(−log u): what makes argmax(logits + gumbel) a draw from softmax(logits). Always finite.
Tensor random_gumbel(const Operand& key, const Shape& shape, DType dtype = DType::f32);
// One class for each row of logits along the axis, with probability softmax(logits): i64.
Tensor random_categorical(const Operand& key, const Operand& logits, int axis = -1);
// `count` of the numbers 0 … size - 1, all as likely: i64 (count). Without `replace`, each at most once.
Tensor random_choice(const Operand& key, std::int64_t size, std::int64_t count, bool replace = true);
// The same with number i as likely as its weight (n), finite and not negative, tells. Weights need not sum to
// 1; if nothing can be drawn by them, or not as many numbers, that is an error of the call.
Tensor random_choice(const Operand& key, const Operand& weights, std::int64_t count, bool replace = true);

}  // namespace tidemark
