#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark {

std::optional<QuantFormat> quant_format_named(std::string_view name) {
  for (int i = 0; i < quant_format_count; ++i) {
    if (quant_facts[i].name == name) return static_cast<QuantFormat>(i);
  }
  return std::nullopt;
}

std::int64_t quantized_bytes(QuantFormat format, const Type& type) {
  const std::int64_t count = type.count(), blocks = (count + quant_block - 1) / quant_block;
  // The codes of a whole block end with a byte, so those of all blocks take as many as if they lay together.
  static_assert(quant_block % 2 == 0);
  return blocks * scale_bytes(type.dtype) + code_bytes(format, count);
}

Type quantized_type(QuantFormat format, const Type& type) {
  return {DType::u8, {quantized_bytes(format, type)}};
}

double quantization_error(QuantFormat format, DType dtype, bool stochastic, bool mixed) {
  const QuantFacts& facts = facts_of(format);
  double error = mixed ? facts.mixed_error : facts.error;
  if (stochastic) error *= 2;
  if (!facts.is_whole()) return error;  // the numbers that codes stand for are the dtype's too
  if (dtype == DType::bf16) error += 0x1p-8;
  if (dtype == DType::f16) error += 0x1p-11;
  return error;
}

}  // namespace tidemark
