#include "tidemark/cpu/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/ir/codec.h"

namespace tidemark {
namespace {

struct TransferAttrs {
  Type type;
  std::size_t bytes = 0;  // in the form that is copied
  const Codec* codec = nullptr;
};

// A region's output may be asked for where it is.
void run_copy(const KernelArgs& args) {
  const std::size_t bytes = args.attrs<TransferAttrs>().bytes;
  if (bytes > 0 && args.out[0].data != args.in[0].data) std::memcpy(args.out[0].data, args.in[0].data, bytes);
}
void run_encode(const KernelArgs& args) {
  const auto& attrs = args.attrs<TransferAttrs>();
  attrs.codec->encode(attrs.type, args.in[0].data, args.out[0].data);
}
void run_decode(const KernelArgs& args) {
  const auto& attrs = args.attrs<TransferAttrs>();
  attrs.codec->decode(attrs.type, args.in[0].data, args.out[0].data);
}
void run_fetch(const KernelArgs&) {}  // the host reads this memory as it is
void run_to_file(const KernelArgs& args) { args.attrs<FileCopy>().write(args.in[0].data); }
void run_from_file(const KernelArgs& args) { args.attrs<FileCopy>().read(args.out[0].data); }

bool is_in_file(const Location& at, const FileCopies& files) {
  return at.base == Location::arena && files.file(at.which);
}

}  // namespace

void require_memory(const Command& command, const FileCopies& files) {
  const auto in_file = [&](const CommandOperand& operand) { return is_in_file(operand.location, files); };
  const bool reads = std::ranges::any_of(command.in, in_file);
  const bool writes =
      std::ranges::any_of(command.out, in_file) || (command.scratch && is_in_file(*command.scratch, files));
  if ((!reads && !writes) || (command.kind == StepKind::copy && reads != writes)) return;
  fail(ErrorCode::no_kernel,
       {.what = fmt::format("the CPU cannot run a {} on values in a file", name_of(command.kind)),
        .expected = "copies between a file and memory",
        .where = command.where,
        .help = "give that memory no folder, or plan without it"});
}

CpuLaunch transfer(const Command& command, FileCopies& files) {
  const CommandOperand& from = command.in[0];
  const Codec* codec = from.codec ? from.codec : command.out.empty() ? nullptr : command.out[0].codec;
  const std::int64_t bytes = codec ? codec->bytes(from.type) : from.type.bytes();
  const std::int64_t width = codec ? 1 : size_of(from.type.dtype);
  for (const auto* operands : {&command.in, &command.out}) {
    for (const CommandOperand& operand : *operands) {
      const Location& at = operand.location;
      if (bytes == 0 || !is_in_file(at, files)) continue;
      return {operands == &command.in ? run_from_file : run_to_file,
              files.add(at.which, at.offset, bytes, width)};
    }
  }
  constexpr void (*runs[])(const KernelArgs&) = {nullptr, run_copy, run_encode, run_decode, run_fetch};
  return {runs[static_cast<std::size_t>(command.kind)],
          std::make_shared<const TransferAttrs>(from.type, static_cast<std::size_t>(bytes), codec)};
}

}  // namespace tidemark
