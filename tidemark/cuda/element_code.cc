#include "tidemark/cuda/element_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <unordered_map>

#include "tidemark/base/check.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/cast.h"
#include "tidemark/ops/scalar/clamp.h"
#include "tidemark/ops/scalar/constant.h"
#include "tidemark/ops/scalar/polygamma.h"

namespace tidemark::cuda {
namespace {

using Operands = std::span<const std::string>;

// An element by its bits, so that every number, every infinity and every NaN is what it was.
std::string literal(DType dtype, const std::byte* bytes) {
  return dispatch(dtype, [&]<class T>() -> std::string {
    T x;
    std::memcpy(&x, bytes, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      return x ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      return fmt::format("std::bit_cast<double>(std::uint64_t{{0x{:016x}u}})",
                         std::bit_cast<std::uint64_t>(x));
    } else if constexpr (std::is_same_v<T, float>) {
      return fmt::format("std::bit_cast<float>(std::uint32_t{{0x{:08x}u}})", std::bit_cast<std::uint32_t>(x));
    } else if constexpr (is_16_bit_float<T>) {
      return fmt::format("std::bit_cast<{}>(std::uint16_t{{0x{:04x}u}})", storage_type(dtype), x.bits);
    } else {
      return fmt::format("static_cast<{}>(std::uint64_t{{0x{:x}u}})", storage_type(dtype),
                         static_cast<std::uint64_t>(x));
    }
  });
}

struct Formula {
  std::string_view name;
  bool logical;  // of truths, and not of numbers
};

const std::unordered_map<const Op*, Formula>& formulas() {
  constexpr auto is_logical = [](std::string_view family) { return family == "logical"; };
  static const auto* const table = new std::unordered_map<const Op*, Formula>{
#define TM_UNARY(name, Name, family, ...) {&op::name, {#Name, is_logical(#family)}},
#define TM_BINARY(name, Name, family, ...) {&op::name, {#Name, is_logical(#family)}},
#include "tidemark/ops/scalar/elementwise.def"
  };
  return *table;
}

std::string formula_code(const Formula& formula, const Call& call, Operands operands) {
  std::string list;
  for (const std::string& operand : operands) {
    if (!list.empty()) list += ", ";
    list += formula.logical ? operand : fmt::format("computed({})", operand);
  }
  return fmt::format("stored<{}>(formula::{}::value({}))", storage_type(call.out[0].dtype), formula.name,
                     list);
}

// Some functions have shorter formulas for 16 bits (device/short_formulas.h).
std::string short_code(const Call& call, Operands operands) {
  const bool is_short = size_of(call.in[0].dtype) == 2;
  if (!is_short) return formula_code(formulas().at(call.op), call, operands);
  return fmt::format("stored<{}>(formula::short_{}(computed({})))", storage_type(call.out[0].dtype),
                     call.op->name, operands[0]);
}

// What is rounded once, or not at all, needs no f32 (device/half_arithmetic.h).
std::string half_code(const Call& call, Operands operands) {
  const bool is_half = size_of(call.in[0].dtype) == 2;
  if (!is_half) return formula_code(formulas().at(call.op), call, operands);
  return fmt::format("formula::half_{}({})", call.op->name, fmt::join(operands, ", "));
}

std::string copy_code(const Call&, Operands operands) { return operands[0]; }
std::string select_code(const Call&, Operands operands) {
  return fmt::format("{} ? {} : {}", operands[0], operands[1], operands[2]);
}
std::string cast_code(const Call& call, Operands operands) {
  return fmt::format("cast_stored<{}>({})", storage_type(call.out[0].dtype), operands[0]);
}
std::string constant_code(const Call& call, Operands) {
  const Literal value = call.attrs_as<ConstantAttrs>().value;
  TM_CHECK(element_count(value.shape) == 1, "a constant of several elements in a formula");
  return literal(value.dtype, value.bytes.data());
}
std::string polygamma_code(const Call& call, Operands operands) {
  return fmt::format("stored<{}>(formula::polygamma({}, widened({})))", storage_type(call.out[0].dtype),
                     call.attrs_as<PolygammaAttrs>().order, operands[0]);
}
// Bounds are rounded to what is computed in, as on the CPU.
std::string clamp_code(const Call& call, Operands operands) {
  const auto bounds = call.attrs_as<ClampAttrs>();
  const DType storage = call.out[0].dtype;
  const DType dtype = is_float(storage) && storage != DType::f64 ? DType::f32 : storage;
  const auto bound = [&](double value) {
    return dispatch(dtype, [&]<class T>() -> std::string {
      if constexpr (std::is_same_v<T, bool> || is_16_bit_float<T>) {
        TM_CHECK(false, "clamp of {}", name_of(dtype));
        return {};
      } else {
        T x;
        if constexpr (std::is_integral_v<T>) {
          x = saturated<T>(value);
        } else {
          x = static_cast<T>(value);
        }
        return literal(dtype, reinterpret_cast<const std::byte*>(&x));
      }
    });
  };
  return fmt::format("stored<{}>(clamp_element(widened({}), {}, {}))", storage_type(storage), operands[0],
                     bound(bounds.low), bound(bounds.high));
}

// Of norms in parts: functions of device/elements.h, of the operands as they are.
template <const char* function>
std::string function_code(const Call&, Operands operands) {
  return fmt::format("{}({})", function, fmt::join(operands, ", "));
}
constexpr char normalized_name[] = "normalized_element", slope_name[] = "norm_slope_element";

using Writer = std::string (*)(const Call&, Operands);

Writer find_writer(const Op& op) {
  static const auto* const writers = new std::unordered_map<const Op*, Writer>{
      {&op::stop_gradient, copy_code},
      {&op::residual, copy_code},
      {&op::undone, copy_code},
      {&op::broadcast, copy_code},
      {&op::select, select_code},
      {&op::cast, cast_code},
      {&op::constant, constant_code},
      {&op::clamp, clamp_code},
      {&op::polygamma, polygamma_code},
      {&op::normalize_columns, function_code<normalized_name>},
      {&op::normalize_columns_grad, function_code<slope_name>},
      {&op::add, half_code},
      {&op::sub, half_code},
      {&op::mul, half_code},
      {&op::square, half_code},
      {&op::neg, half_code},
      {&op::abs, half_code},
      {&op::relu, half_code},
      {&op::maximum, half_code},
      {&op::minimum, half_code},
      {&op::gelu, short_code},
      {&op::gelu_slope, short_code},
      {&op::sigmoid, short_code},
      {&op::silu, short_code},
  };
  const auto found = writers->find(&op);
  return found == writers->end() ? nullptr : found->second;
}

}  // namespace

std::string_view storage_type(DType dtype) {
  constexpr std::string_view types[] = {"float",        "double",       "BFloat16",     "Float16",
                                        "std::int32_t", "std::int64_t", "std::uint8_t", "bool"};
  return types[static_cast<std::size_t>(dtype)];
}

bool has_element_code(const Op& op) { return formulas().contains(&op) || find_writer(op); }

std::string element_code(const Call& call, Operands operands) {
  if (const Writer write = find_writer(*call.op)) return write(call, operands);
  const auto found = formulas().find(call.op);
  TM_CHECK(found != formulas().end(), "{} in a generated kernel", call.op->name);
  return formula_code(found->second, call, operands);
}

}  // namespace tidemark::cuda
