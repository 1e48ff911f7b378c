#include "tidemark/ops/random/random.h"

#include <cmath>
#include <limits>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

constexpr DTypeSet key_dtype{1u << static_cast<int>(DType::i64)};

void require_key(const Call& call, int operand) {
  const Type& type = call.in[static_cast<std::size_t>(operand)];
  if (type == Type{DType::i64, {}}) return;
  fail(type.dtype == DType::i64 ? ErrorCode::shape_mismatch : ErrorCode::dtype_mismatch,
       {.what = fmt::format("{}: operand {} is {}", call.op->name, operand, to_string(type)),
        .expected = "i64[]: a key, or a number to fold into one",
        .where = call.where,
        .help = "make keys with key(seed), split_key or fold_in"});
}

// A key and, where elements are not counted from 0, the number of the first.
void require_draw(const Call& call) {
  if (call.in.size() != 2) require_operands(call, 1);
  for (int i = 0; i < static_cast<int>(call.in.size()); ++i) require_key(call, i);
}

[[noreturn]] void bad_attribute(const Call& call, std::string what, std::string expected) {
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: {}", call.op->name, what),
                                  .expected = std::move(expected),
                                  .where = call.where});
}

void require_shape(const Call& call, const Shape& shape) {
  for (std::int64_t size : shape) {
    if (size < 0)
      bad_attribute(call, fmt::format("the shape {} has a negative size", to_string(shape)), "sizes ≥ 0");
  }
}
void require_stream(const Call& call, std::int64_t stream) {
  if (stream < 0 || stream > std::numeric_limits<std::uint32_t>::max()) {
    bad_attribute(call, fmt::format("stream {}", stream), "0 ≤ stream < 2³²");
  }
}
void require_float(const Call& call, DType dtype) {
  if (!is_float(dtype)) bad_attribute(call, fmt::format("dtype {}", name_of(dtype)), "f32, f64, bf16 or f16");
}

std::vector<Type> infer_bits(const Call& call) {
  require_draw(call);
  const auto attrs = call.attrs_as<RandomBitsAttrs>();
  require_shape(call, attrs.shape);
  require_stream(call, attrs.stream);
  if (!is_integer(attrs.dtype))
    bad_attribute(call, fmt::format("dtype {}", name_of(attrs.dtype)), "i32, i64 or u8");
  return {{attrs.dtype, attrs.shape}};
}

std::vector<Type> infer_uniform(const Call& call) {
  require_draw(call);
  const auto attrs = call.attrs_as<RandomUniformAttrs>();
  require_shape(call, attrs.shape);
  require_stream(call, attrs.stream);
  require_float(call, attrs.dtype);
  if (!(attrs.low < attrs.high) || !std::isfinite(attrs.low) || !std::isfinite(attrs.high)) {
    bad_attribute(call, fmt::format("the interval [{}, {})", attrs.low, attrs.high), "finite low < high");
  }
  return {{attrs.dtype, attrs.shape}};
}

std::vector<Type> infer_normal(const Call& call) {
  require_draw(call);
  const auto attrs = call.attrs_as<RandomNormalAttrs>();
  require_shape(call, attrs.shape);
  require_stream(call, attrs.stream);
  require_float(call, attrs.dtype);
  if (!(attrs.deviation >= 0))
    bad_attribute(call, fmt::format("deviation {}", attrs.deviation), "deviation ≥ 0");
  return {{attrs.dtype, attrs.shape}};
}

std::vector<Type> infer_bernoulli(const Call& call) {
  require_draw(call);
  const auto attrs = call.attrs_as<RandomBernoulliAttrs>();
  require_shape(call, attrs.shape);
  require_stream(call, attrs.stream);
  if (!(attrs.p >= 0 && attrs.p <= 1)) bad_attribute(call, fmt::format("p = {}", attrs.p), "0 ≤ p ≤ 1");
  return {{DType::boolean, attrs.shape}};
}

std::vector<Type> infer_permutation(const Call& call) {
  require_operands(call, 1);
  require_key(call, 0);
  const auto attrs = call.attrs_as<RandomPermutationAttrs>();
  require_stream(call, attrs.stream);
  if (attrs.size < 0) bad_attribute(call, fmt::format("size {}", attrs.size), "size ≥ 0");
  return {{DType::i64, {attrs.size}}};
}

std::vector<Type> infer_split(const Call& call) {
  require_operands(call, 1);
  require_key(call, 0);
  const std::int64_t count = call.attrs_as<RandomSplitAttrs>().count;
  if (count < 0) bad_attribute(call, fmt::format("count {}", count), "count ≥ 0");
  return {{DType::i64, {count}}};
}

std::vector<Type> infer_fold_in(const Call& call) {
  require_operands(call, 2);
  require_key(call, 0);
  require_key(call, 1);
  return {{DType::i64, {}}};
}

const Sample::Operand key_operand = {.type = {DType::i64, {}}, .low = -1000, .high = 1000};
const Sample::Operand first_operand = {.type = {DType::i64, {}}, .low = 0, .high = 1000};

template <class A>
std::vector<Sample> float_samples() {
  std::vector<Sample> list;
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    A attrs;
    attrs.dtype = dtype;
    attrs.shape = {3, 7};
    list.push_back({.in = {key_operand}, .attrs = pack(attrs)});
    list.push_back({.in = {key_operand, first_operand}, .attrs = pack(attrs)});
  }
  return list;
}
std::vector<Sample> samples_bits() {
  return {
      {.in = {key_operand}, .attrs = pack(RandomBitsAttrs{.dtype = DType::i64, .shape = {3, 5}})},
      {.in = {key_operand}, .attrs = pack(RandomBitsAttrs{.dtype = DType::i32, .shape = {11}, .stream = 7})},
      {.in = {key_operand}, .attrs = pack(RandomBitsAttrs{.dtype = DType::u8, .shape = {33}})},
      {.in = {key_operand, first_operand},
       .attrs = pack(RandomBitsAttrs{.dtype = DType::u8, .shape = {33}})}};
}
std::vector<Sample> samples_bernoulli() {
  return {
      {.in = {key_operand}, .attrs = pack(RandomBernoulliAttrs{.shape = {4, 9}, .p = 0.25})},
      {.in = {key_operand}, .attrs = pack(RandomBernoulliAttrs{.shape = {5}, .p = 1})},
      {.in = {key_operand, first_operand}, .attrs = pack(RandomBernoulliAttrs{.shape = {4, 9}, .p = 0.25})}};
}
std::vector<Sample> samples_permutation() {
  return {{.in = {key_operand}, .attrs = pack(RandomPermutationAttrs{.size = 17})}};
}
std::vector<Sample> samples_split() {
  return {{.in = {key_operand}, .attrs = pack(RandomSplitAttrs{.count = 3})}};
}
std::vector<Sample> samples_fold_in() { return {{.in = {key_operand, key_operand}}}; }

}  // namespace

const Op op::random_bits = {
    .name = "random_bits",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .schema = &schema_of<RandomBitsAttrs>,
    .infer = infer_bits,
    .samples = samples_bits,
};
const Op op::random_uniform = {
    .name = "random_uniform",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .schema = &schema_of<RandomUniformAttrs>,
    .infer = infer_uniform,
    .samples = float_samples<RandomUniformAttrs>,
};
const Op op::random_normal = {
    .name = "random_normal",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .schema = &schema_of<RandomNormalAttrs>,
    .infer = infer_normal,
    .samples = float_samples<RandomNormalAttrs>,
};
const Op op::random_bernoulli = {
    .name = "random_bernoulli",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .schema = &schema_of<RandomBernoulliAttrs>,
    .infer = infer_bernoulli,
    .samples = samples_bernoulli,
};
const Op op::random_permutation = {
    .name = "random_permutation",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .schema = &schema_of<RandomPermutationAttrs>,
    .infer = infer_permutation,
    .samples = samples_permutation,
};
const Op op::random_split = {
    .name = "random_split",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .schema = &schema_of<RandomSplitAttrs>,
    .infer = infer_split,
    .samples = samples_split,
};
const Op op::fold_in = {
    .name = "fold_in",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .derivative = Derivative::zero,
    .dtypes = key_dtype,
    .infer = infer_fold_in,
    .samples = samples_fold_in,
};

Var random_key(Builder& builder, std::int64_t seed) {
  Literal literal{.dtype = DType::i64, .shape = {}, .bytes = std::vector<std::byte>(sizeof seed)};
  std::copy_n(reinterpret_cast<const std::byte*>(&seed), sizeof seed, literal.bytes.begin());
  return constant(builder, std::move(literal));  // not by way of a double: a seed has 64 bits
}
Var random_bits(const Var& key, const RandomBitsAttrs& attrs) {
  return key.builder().call1(op::random_bits, {key}, pack(attrs));
}
Var random_uniform(const Var& key, const RandomUniformAttrs& attrs) {
  return key.builder().call1(op::random_uniform, {key}, pack(attrs));
}
Var random_normal(const Var& key, const RandomNormalAttrs& attrs) {
  return key.builder().call1(op::random_normal, {key}, pack(attrs));
}
Var random_bernoulli(const Var& key, const RandomBernoulliAttrs& attrs) {
  return key.builder().call1(op::random_bernoulli, {key}, pack(attrs));
}
Var random_permutation(const Var& key, const RandomPermutationAttrs& attrs) {
  return key.builder().call1(op::random_permutation, {key}, pack(attrs));
}
Var random_split(const Var& key, std::int64_t count) {
  return key.builder().call1(op::random_split, {key}, pack(RandomSplitAttrs{count}));
}
std::vector<Var> split_key(const Var& key, std::int64_t count) {
  constexpr std::int64_t most = 1 << 20;  // a list to be held
  if (count > most) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("split_key: {} keys", count),
                                    .expected = fmt::format("at most {}", most),
                                    .where = key.builder().where(),
                                    .help = "make key number i when it is needed, with fold_in(key, i)"});
  }
  const Var keys = random_split(key, count);
  std::vector<Var> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(reshape(slice_axis(keys, 0, i, i + 1), {}));
  return list;
}
Var fold_in(const Var& key, const Var& number) { return key.builder().call1(op::fold_in, {key, number}); }
Var fold_in(const Var& key, std::int64_t number) { return fold_in(key, random_key(key.builder(), number)); }

}  // namespace tidemark
