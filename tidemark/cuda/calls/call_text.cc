#include "tidemark/cuda/calls/call_text.h"

#include <algorithm>
#include <bit>

#include "tidemark/cuda/element_code.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t most_call_blocks = std::int64_t{1} << 20;

bool is_large(std::span<const Type> types) {
  return std::ranges::any_of(types, [](const Type& type) { return type.count() >= most_in_32_bits; });
}

}  // namespace

CallText::CallText(const Call& call, std::string_view name, std::string_view body)
    : name_(name),
      header_(body),
      operands_(std::max(1, static_cast<int>(call.in.size()))),
      results_(std::max(1, static_cast<int>(call.out.size()))),
      wide_(is_large(call.in) || is_large(call.out)) {}

void CallText::type(std::string_view name, DType dtype) {
  line("  using {} = {};", name, storage_type(dtype));
}
void CallText::count(std::string_view name, std::int64_t value) {
  line("  static constexpr Index {} = {};", name, value);
}
void CallText::number(std::string_view name, std::int64_t value) {
  line("  static constexpr int {} = {};", name, value);
}
void CallText::flag(std::string_view name, bool value) {
  line("  static constexpr bool {} = {};", name, value);
}
void CallText::real(std::string_view name, double value) {
  line("  static constexpr double {} = std::bit_cast<double>(std::uint64_t{{0x{:016x}u}});", name,
       std::bit_cast<std::uint64_t>(value));
}

void CallText::offset(std::string_view name, const JoinedDimensions& dimensions) {
  line("  static Index {}(Index i) {{", name);
  if (dimensions.rank == 0) {
    line("    return 0;");
  } else if (dimensions.rank == 1) {
    line("    return i * static_cast<Index>({});", dimensions.step[0]);
  } else {
    line("    Index at = 0;");
    for (int d = dimensions.rank - 1; d > 0; --d) {
      line("    at += i % {} * static_cast<Index>({});\n    i /= {};", dimensions.size[d], dimensions.step[d],
           dimensions.size[d]);
    }
    line("    return at + i * static_cast<Index>({});", dimensions.step[0]);
  }
  line("  }}");
}

std::string CallText::types() const {
  return fmt::format("  using Pointers = GroupPointers<{}, {}>;\n  using Index = {};\n", operands_, results_,
                     wide_ ? "long long" : "int");
}

void CallText::begin_part(std::string_view part) {
  line("  struct {} {{", part);
  members_ += types();
}
void CallText::end_part() { line("  }};"); }

void CallText::launch(std::string_view body, std::int64_t blocks, int threads, bool meets,
                      std::string_view part) {
  if (blocks == 0) return;
  const std::string kernel = launches_.empty() ? name_ : fmt::format("{}_{}", name_, launches_.size() + 1);
  const std::string constants = fmt::format("{}_call{}{}", name_, part.empty() ? "" : "::", part);
  kernels_ += define_kernel(fmt::to_string(threads), kernel, fmt::format("{}_call::Pointers", name_),
                            fmt::format("{}<{}>(at);", body, constants));
  launches_.push_back({.kernel = kernel, .blocks = blocks, .threads = threads, .meets = meets});
  last_took_turns_ = false;
}

void CallText::launch_turns(std::string_view body, std::int64_t items, std::string_view part) {
  const std::int64_t blocks = std::min(most_call_blocks, (items + call_threads - 1) / call_threads);
  if (blocks == 0) return;
  if (joins_turns_ && last_took_turns_) {
    kernels_.resize(kernels_.size() - std::string_view("}\n").size());
    kernels_ += fmt::format("  {}<{}_call{}{}>(at);\n}}\n", body, name_, part.empty() ? "" : "::", part);
    launches_.back().blocks = std::max(launches_.back().blocks, blocks);
    return;
  }
  launch(body, blocks, call_threads, false, part);
  last_took_turns_ = true;
}

KernelText CallText::finish() const {
  return {
      .source = fmt::format("#include \"tidemark/cuda/device/{}.h\"\n\nnamespace tidemark::cuda {{\n\nstruct "
                            "{}_call {{\n{}{}}};\n\n{}\n}}  // namespace tidemark::cuda\n",
                            header_, name_, types(), members_, kernels_),
      .launches = launches_,
      .operands = operands_,
      .results = results_};
}

std::int64_t pack_width(std::int64_t size, std::int64_t count) {
  std::int64_t width = most_pack_bytes / size;
  while (count % width != 0) width /= 2;
  return width;
}

}  // namespace tidemark::cuda
