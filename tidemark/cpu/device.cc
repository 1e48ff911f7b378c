#include "tidemark/cpu/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tidemark/base/aligned.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/transfer.h"
#include "tidemark/kernel/fused.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {

namespace {

const CpuKernel& kernel_of(const Call& call) {
  const CpuKernel* kernel = find_cpu_kernel(*call.op);
  if (!kernel || !kernel->run) {
    fail(ErrorCode::no_kernel,
         {.what = fmt::format("{} cannot run on the CPU: it has no kernel", call.op->name),
          .where = call.where,
          .help = "such an op can only be planned"});
  }
  return *kernel;
}

}  // namespace

const Target& CpuDevice::target() const { return cpu_target(); }

std::unique_ptr<Prepared> CpuDevice::prepare(CommandStream& commands, std::span<const Address> arenas) {
  return std::make_unique<CpuPrepared>(commands, arenas, *this);
}

CpuLaunch CpuDevice::prepare_call(const Call& call) const {
  const CpuKernel& kernel = kernel_of(call);
  return {kernel.run, kernel.prepare(call)};
}

CpuLaunch CpuDevice::prepare_group(std::span<const GroupStep> steps) const {
  std::vector<TensorRef> operands;
  std::vector<FusedStep> fused;
  std::optional<FusedReduction> reduction;
  Shape shape;
  for (const GroupStep& step : steps) {
    const CpuKernel& kernel = kernel_of(step.call);
    TM_CHECK(!reduction, "a group goes on behind its reduction");
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      if (step.in[i].kind != GroupRef::operand) continue;
      const auto number = static_cast<std::size_t>(step.in[i].number);
      operands.resize(std::max(operands.size(), number + 1));
      operands[number] = {.dtype = step.call.in[i].dtype,
                          .shape = step.call.in[i].shape,
                          .strides = operand_strides(step.call, static_cast<int>(i))};
    }
    const Fusion fusion = cpu_target().fusion(step.call);
    if (fusion == Fusion::reduction) {
      reduction = kernel.reduction(step.call);
      reduction->in = step.in[0];
      reduction->out = step.out[0];
      shape = step.call.in[0].shape;
      continue;
    }
    TM_CHECK(kernel.tile && fusion == Fusion::pointwise, "{} in a group", step.call.op->name);
    const Type& out = step.call.out[0];
    if (fused.empty() || out.count() != 1) shape = out.shape;
    fused.push_back({.code = kernel.tile(step.call),
                     .in = step.in,
                     .out = step.out[0],
                     .dtype = out.dtype,
                     .shape = out.shape});
  }
  return {run_fused, std::make_shared<const FusedProgram>(shape, operands, std::move(fused), reduction)};
}

CpuLaunch CpuDevice::prepare_transfer(const Command& command, FileCopies& files) const {
  return transfer(command, files);
}

void CpuDevice::use_folder(int memory, const std::string& path, DiskCompression compression) {
  files_.use_folder(memory, open_value_folder(path), compression);
}

Address CpuDevice::allocate(int memory, std::int64_t bytes) {
  if (const Address file = files_.allocate(memory, bytes)) return file;
  require_machine_memory(bytes);
  void* pages = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) out_of_memory(bytes);
  madvise(pages, static_cast<std::size_t>(bytes),
          MADV_HUGEPAGE);  // fewer page faults; a refusal does no harm
  return host_address(pages);
}

void CpuDevice::release(int, Address address, std::int64_t bytes) noexcept {
  if (files_.release(address)) return;
  munmap(host_pointer(address), static_cast<std::size_t>(bytes));
}

void CpuDevice::read(std::byte* to, Address from, std::int64_t bytes) {
  if (bytes <= 0) return;
  const auto count = static_cast<std::size_t>(bytes);
  if (FileArena* const file = files_.find(from))
    return file->memory.read(file->memory.offset_of(from), {to, count});
  std::memcpy(to, host_pointer(from), count);
}

void CpuDevice::write(Address to, const std::byte* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  const auto count = static_cast<std::size_t>(bytes);
  if (FileArena* const file = files_.find(to))
    return file->memory.write(file->memory.offset_of(to), {from, count});
  std::memcpy(host_pointer(to), from, count);
}

}  // namespace tidemark
