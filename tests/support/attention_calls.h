// Calls of attention and of its gradient with operands, and what the CPU computes for them: 16-bit operands
// in f32, since kernels differ in where they round.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>

#include "tests/support/group_values.h"
#include "tests/support/literals.h"
#include "tests/support/run_kernel.h"
#include "tidemark/cuda/attention_source.h"
#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {

struct AttentionProblem {
  DType dtype = DType::bf16;
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 64;
  AttentionAttrs attrs = {};
  std::optional<Shape> mask = {};
  enum Layout {
    dense,
    time_first,  // q, k, v and the result's gradient lie as (B, T, H, D)
    time_last,   // as (B, H, D, T)
  } layout = dense;
};

// One call: its operands as literals, and the call that kernels are written for.
struct AttentionCall {
  std::string name;
  std::vector<Literal> operands;
  Attrs attrs;
  std::vector<Type> in, out;
  std::vector<Strides> strides;
  Call call;

  AttentionCall(const Op& op, std::vector<Literal> literals, Attrs attributes)
      : name(op.name), operands(std::move(literals)), attrs(std::move(attributes)) {
    for (const Literal& literal : operands) in.push_back({literal.dtype, literal.shape});
    for (const Literal& literal : operands)
      name += fmt::format(" {}{}", name_of(literal.dtype), to_string(literal.shape));
    call = {.op = &op, .in = in, .attrs = &attrs};
    out = op.infer(call);
    call.out = out;
  }
  AttentionCall(const AttentionCall&) = delete;
  AttentionCall& operator=(const AttentionCall&) = delete;
};

inline Literal in_dtype(const Literal& x, DType dtype) { return literal_of(dtype, x.shape, values_of(x)); }

// The results of the CPU; of 16-bit operands, those of the same numbers in f32.
inline std::vector<Literal> attention_reference(const AttentionCall& call) {
  std::vector<Literal> operands;
  for (const Literal& x : call.operands)
    operands.push_back(is_float(x.dtype) && size_of(x.dtype) == 2 ? in_dtype(x, DType::f32) : x);
  return run_kernel(*call.call.op, operands, call.attrs).results;
}

// The call forwards and the call of the gradient.
inline std::vector<std::unique_ptr<AttentionCall>> attention_calls(const AttentionProblem& p) {
  const Shape q_shape = {p.batch, p.heads, p.queries, p.width},
              k_shape = {p.batch, p.kv_heads, p.keys, p.width};
  std::vector<Literal> operands = {random_literal(p.dtype, q_shape, 1, -2, 2),
                                   random_literal(p.dtype, k_shape, 2, -2, 2),
                                   random_literal(p.dtype, k_shape, 3, -2, 2)},
                       options;
  if (p.mask) {
    std::vector<double> bits;
    for (double x : values_of(random_literal(DType::f64, *p.mask, 4, 0, 1))) bits.push_back(x < 0.6);
    options.push_back(literal_of(DType::boolean, *p.mask, bits));
  }
  if (p.attrs.dropout > 0) options.push_back(literal_of(DType::i64, {}, {12345}));
  std::vector<Literal> forward = operands;
  forward.insert(forward.end(), options.begin(), options.end());
  std::vector<std::unique_ptr<AttentionCall>> calls;
  calls.push_back(std::make_unique<AttentionCall>(op::attention, forward, pack(p.attrs)));
  const std::vector<Literal> results = attention_reference(*calls[0]);
  const Literal g = random_literal(p.dtype, q_shape, 5, -1, 1);
  const DType wide = results[0].dtype;
  const Literal delta = run_kernel(op::attention_delta, {results[0], in_dtype(g, wide)}, {}).results[0];
  operands.insert(operands.end(), {results[1], delta, g});
  operands.insert(operands.end(), options.begin(), options.end());
  calls.push_back(std::make_unique<AttentionCall>(op::attention_grad, operands, pack(p.attrs)));
  for (const auto& call : calls) {
    if (p.layout == AttentionProblem::dense) continue;
    for (std::size_t i = 0; i < call->in.size(); ++i) {
      const Shape& s = call->in[i].shape;
      call->strides.push_back(dense_strides(s));
      if (i < 3 || (i == 5 && call->call.op == &op::attention_grad))
        call->strides.back() = p.layout == AttentionProblem::time_first
                                   ? Strides{s[1] * s[2] * s[3], s[3], s[1] * s[3], 1}
                                   : Strides{s[1] * s[2] * s[3], s[2] * s[3], 1, s[2]};
    }
    call->call.in_strides = call->strides;
  }
  return calls;
}

// Both as CUDA C++.
inline std::string attention_text(const AttentionProblem& p) {
  std::string text;
  for (const auto& call : attention_calls(p))
    text += cuda::write_attention(call->call, call->call.op->name).source;
  return text;
}

// The operand in memory as its strides say, from `shift` elements behind an aligned address on.
inline Shifted laid_out(const AttentionCall& call, std::size_t i, std::int64_t shift) {
  const Literal& x = call.operands[i];
  const std::int64_t size = size_of(x.dtype);
  Shifted memory(static_cast<std::int64_t>(x.bytes.size()), shift * size);
  const Strides strides = call.strides.empty() ? dense_strides(x.shape) : call.strides[i];
  for (std::int64_t n = 0; n < element_count(x.shape); ++n)
    std::memcpy(memory.get() + offset_of(x.shape, strides, n) * size, x.bytes.data() + n * size,
                static_cast<std::size_t>(size));
  return memory;
}

// What kernel `number` makes of the call on the host.
inline std::vector<Literal> run_on_host(const HostKernels& kernels, std::size_t number,
                                        const AttentionCall& call, bool descending, std::int64_t shift = 0) {
  std::vector<Shifted> memory;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    memory.push_back(laid_out(call, i, shift));
    in.push_back(memory.back().get());
  }
  for (const Type& type : call.out) {
    memory.emplace_back(type.bytes(), shift * size_of(type.dtype));
    out.push_back(memory.back().get());
  }
  EXPECT_TRUE(kernels.run(number, in, out, nullptr, descending)) << "threads wait in vain";
  std::vector<Literal> results;
  for (std::size_t r = 0; r < out.size(); ++r)
    results.push_back(literal_at(call.out[r], static_cast<const std::byte*>(out[r])));
  return results;
}

// The largest difference, relative to the largest number that is expected and to 1/8 at least.
inline double attention_error(const Literal& got, const Literal& expected) {
  const std::vector<double> a = values_of(got), b = values_of(expected);
  double top = 0.125, worst = 0;
  for (double x : b) {
    if (std::isfinite(x)) top = std::max(top, std::fabs(x));
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double error = std::fabs(a[i] - b[i]) / top;
    worst = std::isnan(error) ? inf : std::max(worst, error);
  }
  return worst;
}

}  // namespace tidemark::testing
