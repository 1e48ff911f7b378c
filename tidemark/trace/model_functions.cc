#include "tidemark/trace/model_functions.h"

#include "tidemark/ops/indexing/embedding.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/normalization/group_norm.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/rms_norm.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/random/dropout.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

// What every body below gets: the operands as graph values.
using Vars = std::span<const Var>;

std::vector<Tensor> built(std::initializer_list<Operand> operands, const GraphBody& body) {
  return build_all({operands.begin(), operands.size()}, operands.begin()->where(), body);
}

}  // namespace

Tensor conv(const Operand& x, const Operand& weights, const ConvAttrs& attrs) {
  return build({x, weights}, [&](Builder&, Vars v) { return conv(v[0], v[1], attrs); });
}
Tensor max_pool(const Operand& x, const PoolAttrs& attrs) {
  return build({x}, [&](Builder&, Vars v) { return max_pool(v[0], attrs); });
}
Tensor avg_pool(const Operand& x, const PoolAttrs& attrs) {
  return build({x}, [&](Builder&, Vars v) { return avg_pool(v[0], attrs); });
}

Tensor softmax(const Operand& x, int axis) {
  return build({x}, [&](Builder&, Vars v) { return softmax(v[0], axis); });
}
Tensor log_softmax(const Operand& x, int axis) {
  return build({x}, [&](Builder&, Vars v) { return log_softmax(v[0], axis); });
}
Tensor layer_norm(const Operand& x, const Operand& gain, const Operand& bias, double eps) {
  return build({x, gain, bias}, [&](Builder&, Vars v) { return layer_norm(v[0], v[1], v[2], eps); });
}
Tensor rms_norm(const Operand& x, const Operand& gain, double eps) {
  return build({x, gain}, [&](Builder&, Vars v) { return rms_norm(v[0], v[1], eps); });
}
Tensor group_norm(const Operand& x, const Operand& gain, const Operand& bias, std::int64_t groups,
                  double eps) {
  return build({x, gain, bias}, [&](Builder&, Vars v) { return group_norm(v[0], v[1], v[2], groups, eps); });
}
BatchNormResult batch_norm(const Operand& x, const Operand& gain, const Operand& bias, double eps) {
  const std::vector<Tensor> results = built({x, gain, bias}, [&](Builder&, Vars v) {
    const BatchNorm norm = batch_norm(v[0], v[1], v[2], eps);
    return std::vector<Var>{norm.y, norm.mean, norm.variance};
  });
  return {results[0], results[1], results[2]};
}
Tensor cross_entropy(const Operand& logits, const Operand& labels, const CrossEntropyAttrs& attrs) {
  return build({logits, labels}, [&](Builder&, Vars v) { return cross_entropy(v[0], v[1], attrs).loss; });
}
Tensor linear_cross_entropy(const Operand& x, const Operand& w, const Operand& labels,
                            const LinearCrossEntropyAttrs& attrs) {
  return build({x, w, labels}, [&](Builder& builder, Vars v) {
    const Type type{statistics_dtype(v[0].dtype()), v[2].shape()};
    Var weights = full(builder, type, 1 / static_cast<double>(std::max<std::int64_t>(type.count(), 1)));
    if (attrs.ignore) {
      const Var counted = cast(not_equal(v[2], constant_like(v[2], attrs.ignore_index)), type.dtype);
      const Var number = reduce_sum(counted, all_axes(type.rank()));
      const Var at_least_one = maximum(number, ones_like(number));
      weights = counted / at_least_one;
    }
    return linear_cross_entropy(v[0], v[1], v[2], weights, attrs).total;
  });
}
Tensor linear_cross_entropy(const Operand& x, const Operand& w, const Operand& labels, const Operand& weights,
                            const LinearCrossEntropyAttrs& attrs) {
  return build({x, w, labels, weights},
               [&](Builder&, Vars v) { return linear_cross_entropy(v[0], v[1], v[2], v[3], attrs).total; });
}
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAttrs& attrs) {
  return build({q, k, v}, [&](Builder&, Vars x) { return attention(x[0], x[1], x[2], attrs); });
}
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionAttrs& attrs) {
  return build({q, k, v, mask}, [&](Builder&, Vars x) { return attention(x[0], x[1], x[2], attrs, x[3]); });
}
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAttrs& attrs,
                 const Operand& key) {
  return build({q, k, v, key},
               [&](Builder&, Vars x) { return attention(x[0], x[1], x[2], attrs, {}, x[3]); });
}
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionAttrs& attrs, const Operand& key) {
  return build({q, k, v, mask, key},
               [&](Builder&, Vars x) { return attention(x[0], x[1], x[2], attrs, x[3], x[4]); });
}
Tensor embedding(const Operand& table, const Operand& positions) {
  return build({table, positions}, [&](Builder&, Vars v) { return embedding(v[0], v[1]); });
}

std::pair<Tensor, Tensor> sort(const Operand& x, int axis, bool descending) {
  const int at = axis < 0 ? axis + x.tensor().rank() : axis;
  const std::vector<Tensor> results = built({x}, [&](Builder&, Vars v) {
    const Sorted sorted = sort(v[0], at, descending);
    return std::vector<Var>{sorted.values, sorted.indices};
  });
  return {results[0], results[1]};
}
Tensor argsort(const Operand& x, int axis, bool descending) { return sort(x, axis, descending).second; }
std::pair<Tensor, Tensor> top_k(const Operand& x, std::int64_t k, int axis) {
  const int at = axis < 0 ? axis + x.tensor().rank() : axis;
  const std::vector<Tensor> results = built({x}, [&](Builder&, Vars v) {
    const Sorted sorted = top_k(v[0], at, k);
    return std::vector<Var>{sorted.values, sorted.indices};
  });
  return {results[0], results[1]};
}

Tensor key(std::int64_t seed, SourceLine where) {
  return build_all({}, where,
                   [&](Builder& builder, Vars) { return std::vector<Var>{random_key(builder, seed)}; })
      .front();
}
std::vector<Tensor> split_key(const Operand& key, std::int64_t count) {
  return built({key}, [&](Builder&, Vars v) { return split_key(v[0], count); });
}
Tensor fold_in(const Operand& key, std::int64_t number) {
  return build({key}, [&](Builder&, Vars v) { return fold_in(v[0], number); });
}
Tensor random_uniform(const Operand& key, const Shape& shape, double low, double high, DType dtype) {
  return build({key}, [&](Builder&, Vars v) {
    return random_uniform(v[0], {.dtype = dtype, .shape = shape, .low = low, .high = high});
  });
}
Tensor random_normal(const Operand& key, const Shape& shape, double mean, double deviation, DType dtype) {
  return build({key}, [&](Builder&, Vars v) {
    return random_normal(v[0], {.dtype = dtype, .shape = shape, .mean = mean, .deviation = deviation});
  });
}
Tensor random_bernoulli(const Operand& key, const Shape& shape, double p) {
  return build({key}, [&](Builder&, Vars v) { return random_bernoulli(v[0], {.shape = shape, .p = p}); });
}
Tensor random_bits(const Operand& key, const Shape& shape, DType dtype) {
  return build({key}, [&](Builder&, Vars v) { return random_bits(v[0], {.dtype = dtype, .shape = shape}); });
}
Tensor random_permutation(const Operand& key, std::int64_t size) {
  return build({key}, [&](Builder&, Vars v) { return random_permutation(v[0], {.size = size}); });
}
Tensor dropout(const Operand& x, double rate, const Operand& key) {
  return build({x, key}, [&](Builder&, Vars v) { return dropout(v[0], rate, v[1]); });
}

std::vector<Tensor> call(const Op& op, const std::vector<Tensor>& operands, SourceLine where) {
  std::vector<Operand> list;
  for (const Tensor& tensor : operands) list.emplace_back(tensor, where);
  return build_all(list, where, [&](Builder& builder, Vars v) { return builder.call(op, v); });
}

}  // namespace tidemark
