// Forms in which a value can wait for the backward pass, beside the one it has: what they are called, their
// bytes, their error, and how a graph makes them of the value and the value of them. All is known before
// anything runs.
//
//   quantized   fewer digits (ops/quantization/quant_format.h); floats; an error
//   integers    as many bits as whole numbers need (pack_integers.h); exact for those (value_range.h)
//   low rank    two thin matrices (low_rank.h); floats; an error that depends on the numbers
//   sparse      what is not zero (sparse.h); exact; fails where that is more than there is room for
//   delta       the difference to the step before, quantized (delta.h); floats in the steps of a loop
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tidemark/ir/var.h"
#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark {

struct PackedIntegers {
  std::int64_t bits = 1;  // 1, 8, 16 or 32
  friend bool operator==(const PackedIntegers&, const PackedIntegers&) = default;
};
struct LowRank {
  std::int64_t rank = 16;  // at least 1
  friend bool operator==(const LowRank&, const LowRank&) = default;
};
struct Sparse {
  double share = 0.5;  // of the elements that there is room for, in (0, 1]
  friend bool operator==(const Sparse&, const Sparse&) = default;
};
struct Delta {
  QuantFormat format = QuantFormat::int8;  // of the difference
  friend bool operator==(const Delta&, const Delta&) = default;
};
using Form = std::variant<QuantFormat, PackedIntegers, LowRank, Sparse, Delta>;

std::string name_of(const Form& form);  // "int8", "bits", "u16", "low_rank(16)", "sparse(0.6)", "delta(int8)"
std::optional<Form> form_named(std::string_view name);  // none: there is no such form

bool is_exact(const Form& form);
// By how much a number may differ, as a share of the largest magnitude in its block (of a delta: at any
// step), whatever the block holds. Infinite: nobody knows.
double error_of(const Form& form, DType dtype);
std::int64_t bytes_of(const Form& form, const Type& type);

// Has this value such a form, of fewer bytes? Of exact ones: one that keeps its bits. Whether a delta has a
// step before it is for whoever sees the loop to say.
bool takes(const Form& form, const Graph& graph, ValueId v);
// The smallest form that keeps the value's bits whatever it holds; none: no smaller one is known.
std::optional<Form> exact_form_of(const Graph& graph, ValueId v);

// A value in its form, and what it stands for. Not of a delta, which is made with what a loop hands on.
std::vector<Var> encoded(const Var& x, const Form& form);
Var decoded(const std::vector<Var>& parts, const Form& form, const Type& type);  // type: what x's was

}  // namespace tidemark
