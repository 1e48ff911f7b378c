// Operations of models, beyond plain arithmetic: convolution, pooling, normalisation, losses, attention,
// sorting, random numbers. Like those of functions.h they run at once on data and are recorded under a trace.
#pragma once
#include <utility>
#include <vector>

#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/linear_cross_entropy.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

struct Op;

// ---- convolution and pooling: x (N, C, spatial…), weights (O, C/groups, kernel…)
Tensor conv(const Operand& x, const Operand& weights, const ConvAttrs& attrs = {});
Tensor max_pool(const Operand& x, const PoolAttrs& attrs);
Tensor avg_pool(const Operand& x, const PoolAttrs& attrs);

// ---- softmax, normalisation, losses, attention
Tensor softmax(const Operand& x, int axis = -1);
Tensor log_softmax(const Operand& x, int axis = -1);
Tensor layer_norm(const Operand& x, const Operand& gain, const Operand& bias, double eps = 1e-5);
Tensor rms_norm(const Operand& x, const Operand& gain, double eps = 1e-5);
Tensor group_norm(const Operand& x, const Operand& gain, const Operand& bias, std::int64_t groups,
                  double eps = 1e-5);
struct BatchNormResult {
  Tensor y, mean, variance;
  TM_FIELDS(BatchNormResult, y, mean, variance)
};
BatchNormResult batch_norm(const Operand& x, const Operand& gain, const Operand& bias, double eps = 1e-5);
// logits (…, C), integer labels (…): one loss per example; 0 for those labelled attrs.ignore_index, if
// attrs.ignore is set.
Tensor cross_entropy(const Operand& logits, const Operand& labels, const CrossEntropyAttrs& attrs = {});
// mean(cross_entropy(x wᵀ, labels)) over the examples that count, without the logits x wᵀ: x (…, D), w (C, D)
// or with attrs.columns (D, C), labels (…). 0 where none counts. With weights (…): Σ weights · loss instead.
Tensor linear_cross_entropy(const Operand& x, const Operand& w, const Operand& labels,
                            const LinearCrossEntropyAttrs& attrs = {});
Tensor linear_cross_entropy(const Operand& x, const Operand& w, const Operand& labels, const Operand& weights,
                            const LinearCrossEntropyAttrs& attrs = {});
// q (B, H, T, D), k and v (B, H or fewer, S, D): softmax(q kᵀ · scale) v; the mask is true where a query may
// attend. With a key, attrs.dropout is the rate at which probabilities are dropped.
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAttrs& attrs = {});
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionAttrs& attrs = {});
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAttrs& attrs,
                 const Operand& key);
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionAttrs& attrs, const Operand& key);
Tensor embedding(const Operand& table, const Operand& positions);

// ---- sorting
std::pair<Tensor, Tensor> sort(const Operand& x, int axis = -1,
                               bool descending = false);  // values, positions
Tensor argsort(const Operand& x, int axis = -1, bool descending = false);
std::pair<Tensor, Tensor> top_k(const Operand& x, std::int64_t k, int axis = -1);

// ---- random numbers: pure functions of a key
Tensor key(std::int64_t seed, SourceLine where = std::source_location::current());
std::vector<Tensor> split_key(const Operand& key, std::int64_t count);
Tensor fold_in(const Operand& key, std::int64_t number);
Tensor random_uniform(const Operand& key, const Shape& shape, double low = 0, double high = 1,
                      DType dtype = DType::f32);
Tensor random_normal(const Operand& key, const Shape& shape, double mean = 0, double deviation = 1,
                     DType dtype = DType::f32);
Tensor random_bernoulli(const Operand& key, const Shape& shape, double p);
Tensor random_bits(const Operand& key, const Shape& shape, DType dtype = DType::i64);
Tensor random_permutation(const Operand& key, std::int64_t size);
Tensor dropout(const Operand& x, double rate, const Operand& key);

// ---- an op of your own, made with make_custom_op (ops/custom/custom.h)
std::vector<Tensor> call(const Op& op, const std::vector<Tensor>& operands,
                         SourceLine where = std::source_location::current());

}  // namespace tidemark
