// Scales and codes of products in 8 bits.
#include "tidemark/ops/quantization/fp8.h"

#include <algorithm>

#include "tidemark/cuda/calls/call_text.h"
#include "tidemark/cuda/calls/family.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

// Of device/fp8.h.
constexpr int threads = 256;
constexpr std::int64_t tile_rows = 128, tile_columns = 64, tile_width = 8, tile_pack = 16;

void write_format(CallText& text, Fp8Format format) {
  text.line("  static constexpr Fp8Format format = Fp8Format::{};", name_of(format));
}

// Four packs for each thread, up to eight blocks for each multiprocessor of an H200.
std::int64_t parts_of(const Type& x) {
  constexpr std::int64_t most_parts = 1024, packs = 4;
  const std::int64_t each = threads * packs * pack_width(size_of(x.dtype), x.count());
  return std::clamp<std::int64_t>((x.count() + each - 1) / each, 1, most_parts);
}
std::int64_t scale_scratch(const Call& call) { return 4 * parts_of(call.in[0]); }

KernelText write_scale(const Call& call, std::string_view name) {
  CallText text(call, name, "fp8");
  const Type& x = call.in[0];
  text.type("T", x.dtype);
  text.count("count", x.count());
  text.number("width", pack_width(size_of(x.dtype), x.count()));
  text.number("parts", parts_of(x));
  write_format(text, fp8_scale_format(call));
  text.launch("fp8_parts", parts_of(x), threads, true);
  text.launch("fp8_total", 1, threads, true);
  return text.finish();
}

KernelText write_codes(const Call& call, std::string_view name) {
  CallText text(call, name, "fp8");
  const Fp8CodesForm form = fp8_codes_form(call);
  const std::int64_t count = call.in[0].count();
  text.type("T", call.in[0].dtype);
  text.count("count", count);
  write_format(text, form.format);
  if (count == 0) return text.finish();
  if (!form.transposed) {
    const std::int64_t width = pack_width(1, count);
    text.number("width", width);
    text.launch_turns("fp8_codes_in_order", count / width);
    return text.finish();
  }
  text.count("rows", form.rows);
  text.count("columns", form.columns);
  if (form.rows % tile_pack != 0 || form.columns % tile_width != 0) {
    text.launch_turns("fp8_codes_one_by_one", count);
    return text.finish();
  }
  const auto tiles = [](std::int64_t size, std::int64_t of) { return (size + of - 1) / of; };
  text.count("column_tiles", tiles(form.columns, tile_columns));
  text.launch("fp8_codes_transposed", tiles(form.rows, tile_rows) * tiles(form.columns, tile_columns),
              threads, true);
  return text.finish();
}

}  // namespace

std::span<const CallRow> fp8_calls() {
  static const CallRow rows[] = {
      {&op::fp8_scale, {.write = write_scale, .scratch = scale_scratch}},
      {&op::fp8_codes, {.write = write_codes}},
  };
  return rows;
}

}  // namespace tidemark::cuda
