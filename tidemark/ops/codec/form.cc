#include "tidemark/ops/codec/form.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "tidemark/base/check.h"
#include "tidemark/ops/codec/delta.h"
#include "tidemark/ops/codec/low_rank.h"
#include "tidemark/ops/codec/pack_integers.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/codec/value_range.h"
#include "tidemark/ops/quantization/quantize.h"

namespace tidemark {
namespace {

// What is known of a kind of form.
template <class Kind>
struct FormFacts;

template <>
struct FormFacts<QuantFormat> {
  static constexpr bool exact = false;
  static std::string name(QuantFormat format) { return std::string(tidemark::name_of(format)); }
  static double error(QuantFormat format, DType dtype) {
    return quantization_error(format, dtype, /*stochastic=*/false, /*mixed=*/true);
  }
  static std::int64_t bytes(QuantFormat format, const Type& type) { return quantized_bytes(format, type); }
  static bool takes(QuantFormat, const Graph& graph, ValueId v) { return is_float(graph.type(v).dtype); }
  static std::vector<Var> encoded(const Var& x, QuantFormat format) { return {quantize(x, format)}; }
  static Var decoded(const std::vector<Var>& parts, QuantFormat format, const Type& type) {
    return dequantize(parts[0], format, type);
  }
};

template <>
struct FormFacts<PackedIntegers> {
  static constexpr bool exact = true;
  static std::string name(PackedIntegers form) {
    return form.bits == 1 ? "bits" : fmt::format("u{}", form.bits);
  }
  static double error(PackedIntegers, DType) { return 0; }
  static std::int64_t bytes(PackedIntegers form, const Type& type) { return packed_bytes(form.bits, type); }
  static bool takes(PackedIntegers form, const Graph& graph, ValueId v) {
    const DType dtype = graph.type(v).dtype;
    if (form.bits > 1 && dtype != DType::i32 && dtype != DType::i64) return false;
    const std::optional<std::int64_t> below = whole_numbers_below(graph, v);
    return below && *below <= std::int64_t{1} << form.bits;
  }
  static std::vector<Var> encoded(const Var& x, PackedIntegers form) { return {pack_integers(x, form.bits)}; }
  static Var decoded(const std::vector<Var>& parts, PackedIntegers form, const Type& type) {
    return unpack_integers(parts[0], form.bits, type);
  }
};

template <>
struct FormFacts<LowRank> {
  static constexpr bool exact = false;
  static std::string name(LowRank form) { return fmt::format("low_rank({})", form.rank); }
  static double error(LowRank, DType) { return std::numeric_limits<double>::infinity(); }
  static std::int64_t bytes(LowRank form, const Type& type) {
    return low_rank_count(form.rank, type.shape) * size_of(type.dtype);
  }
  static bool takes(LowRank, const Graph& graph, ValueId v) {
    return is_float(graph.type(v).dtype) && graph.type(v).rank() > 0;
  }
  static std::vector<Var> encoded(const Var& x, LowRank form) { return {to_low_rank(x, form.rank)}; }
  static Var decoded(const std::vector<Var>& parts, LowRank form, const Type& type) {
    return from_low_rank(parts[0], form.rank, type);
  }
};

template <>
struct FormFacts<Sparse> {
  static constexpr bool exact = true;
  static std::string name(Sparse form) { return fmt::format("sparse({})", form.share); }
  static double error(Sparse, DType) { return 0; }
  static std::int64_t bytes(Sparse form, const Type& type) { return sparse_bytes(form.share, type); }
  static bool takes(Sparse, const Graph&, ValueId) { return true; }
  static std::vector<Var> encoded(const Var& x, Sparse form) { return {to_sparse(x, form.share)}; }
  static Var decoded(const std::vector<Var>& parts, Sparse form, const Type& type) {
    return from_sparse(parts[0], form.share, type);
  }
};

template <>
struct FormFacts<Delta> {
  static constexpr bool exact = false;
  static std::string name(Delta form) { return fmt::format("delta({})", tidemark::name_of(form.format)); }
  static double error(Delta form, DType dtype) { return delta_error(form.format, dtype); }
  static std::int64_t bytes(Delta form, const Type& type) { return quantized_bytes(form.format, type); }
  static bool takes(Delta, const Graph& graph, ValueId v) { return is_float(graph.type(v).dtype); }
  static std::vector<Var> encoded(const Var&, Delta) { TM_CHECK(false, "a delta without a step before"); }
  static Var decoded(const std::vector<Var>&, Delta, const Type&) {
    TM_CHECK(false, "a delta without a step before");
  }
};

constexpr PackedIntegers packed_integers[] = {{1}, {8}, {16}, {32}};

// What stands between the parentheses of "kind(…)"; none: the text is another.
std::optional<std::string_view> argument_in(std::string_view text, std::string_view kind) {
  if (!text.starts_with(kind) || !text.ends_with(")")) return {};
  text.remove_prefix(kind.size());
  if (!text.starts_with("(")) return {};
  return text.substr(1, text.size() - 2);
}
template <class T>
std::optional<T> number_in(std::string_view text, std::string_view kind) {
  const std::optional<std::string_view> argument = argument_in(text, kind);
  if (!argument) return {};
  T number{};
  const char* const end = argument->data() + argument->size();
  const auto [at, error] = std::from_chars(argument->data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

// f(facts, form) with the facts of the form's kind.
template <class F>
decltype(auto) with_facts(const Form& form, const F& f) {
  return std::visit([&]<class Kind>(const Kind& kind) { return f(FormFacts<Kind>(), kind); }, form);
}

}  // namespace

std::string name_of(const Form& form) {
  return with_facts(form, [](auto facts, const auto& kind) { return facts.name(kind); });
}

std::optional<Form> form_named(std::string_view name) {
  if (const std::optional<QuantFormat> format = quant_format_named(name)) return *format;
  for (const PackedIntegers& form : packed_integers) {
    if (name_of(form) == name) return form;
  }
  const std::optional<std::int64_t> rank = number_in<std::int64_t>(name, "low_rank");
  if (rank && *rank >= 1) return LowRank{*rank};
  const std::optional<double> share = number_in<double>(name, "sparse");
  if (share && *share > 0 && *share <= 1) return Sparse{*share};
  if (const std::optional<std::string_view> format = argument_in(name, "delta")) {
    if (const std::optional<QuantFormat> of = quant_format_named(*format)) return Delta{*of};
  }
  return {};
}

bool is_exact(const Form& form) {
  return with_facts(form, [](auto facts, const auto&) { return facts.exact; });
}
double error_of(const Form& form, DType dtype) {
  return with_facts(form, [&](auto facts, const auto& kind) { return facts.error(kind, dtype); });
}
std::int64_t bytes_of(const Form& form, const Type& type) {
  return with_facts(form, [&](auto facts, const auto& kind) { return facts.bytes(kind, type); });
}
bool takes(const Form& form, const Graph& graph, ValueId v) {
  const auto is_of_its_kind = [&](auto facts, const auto& kind) { return facts.takes(kind, graph, v); };
  return with_facts(form, is_of_its_kind) && bytes_of(form, graph.type(v)) < graph.type(v).bytes();
}

std::optional<Form> exact_form_of(const Graph& graph, ValueId v) {
  for (const PackedIntegers& form : packed_integers) {
    if (takes(form, graph, v)) return form;
  }
  return {};
}

std::vector<Var> encoded(const Var& x, const Form& form) {
  return with_facts(form, [&](auto facts, const auto& kind) { return facts.encoded(x, kind); });
}
Var decoded(const std::vector<Var>& parts, const Form& form, const Type& type) {
  return with_facts(form, [&](auto facts, const auto& kind) { return facts.decoded(parts, kind, type); });
}

}  // namespace tidemark
