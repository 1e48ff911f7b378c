#include "tidemark/cuda/sequence.h"

#include <algorithm>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/cuda/command_source.h"
#include "tidemark/cuda/pack_source.h"
#include "tidemark/cuda/target.h"
#include "tidemark/ir/failure.h"
#include "tidemark/kernel/copy.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

const CpuKernel& cpu_kernel_of(const Call& call) {
  const CpuKernel* const kernel = find_cpu_kernel(*call.op);
  if (!kernel || !kernel->run) {
    fail(ErrorCode::no_kernel,
         {.what = fmt::format("{} runs neither on CUDA nor on the CPU", call.op->name), .where = call.where});
  }
  return *kernel;
}

// The bytes of a window, from its element 0 on: `first` ≤ 0 where strides go backwards.
struct Reach {
  std::int64_t first = 0, bytes = 0;
};
Reach reach_of(const CommandOperand& operand) {
  if (operand.type.bytes() == 0) return {};
  const std::int64_t size = size_of(operand.type.dtype);
  std::int64_t first = 0, last = 0;
  for (int d = 0; d < operand.type.rank(); ++d) {
    const std::int64_t reach = operand.strides[d] * (operand.type.shape[d] - 1) * size;
    (reach < 0 ? first : last) += reach;
  }
  return {first, last - first + size};
}

}  // namespace

// Those of the arena are known; those of arguments and results when they are bound.
CUdeviceptr Sequence::address(const Location& location, std::size_t item, std::size_t place) {
  if (location.base == Location::arena)
    return parts_.arenas[static_cast<std::size_t>(location.which)] +
           static_cast<CUdeviceptr>(location.offset);
  patches_.push_back({item, place, location});
  return 0;
}

// Must the CPU look at the operands before anything is written? Where an argument would be written, a failure
// that is found afterwards comes too late. A region's arguments are its loop's: there the loop is asked.
bool Sequence::must_look_first(const Command& command) const {
  if (is_region_ || command.is_group || failure_of(command.steps[0].call).when == Fails::never) return false;
  return std::ranges::any_of(
      command.out, [](const CommandOperand& out) { return out.location.base == Location::argument; });
}

void Sequence::add(const Command& command) {
  add_item(command);
  if (!is_region_) lane_commands_.add(command);
}

void Sequence::add_item(const Command& command) {
  const std::size_t number = items_.size();
  Item& item = items_.emplace_back();
  item.where = command.where;
  const auto add_places = [&] {
    for (const CommandOperand& operand : command.in)
      item.at.push_back(address(operand.location, number, item.at.size()));
    for (const CommandOperand& operand : command.out)
      item.at.push_back(address(operand.location, number, item.at.size()));
    item.at.push_back(command.scratch ? address(*command.scratch, number, item.at.size()) : 0);
    add_touched(item, command, command.in.size(), item.at.size() - 1);
  };
  if (const auto copy = parts_.disks ? parts_.disks->add(command) : std::nullopt) {
    const Location& from = command.in[0].location;
    const bool reads = from.base == Location::arena && parts_.disks->is_file(from.which);
    item.code = DiskCall{.copy = *copy, .memory = reads ? std::size_t{1} : 0};
    return add_places();
  }
  if (command.kind == StepKind::copy) {
    item.code = CopyCall{.bytes = command.in[0].type.bytes()};
    return add_places();
  }
  if (command.kind != StepKind::compute) {
    fail(ErrorCode::no_kernel, {.what = "codes of values are not computed on CUDA", .where = command.where});
  }
  const Call& call = command.steps[0].call;
  if (!command.is_group && route_of(call) == Route::convolution && add_convolution(item, call)) {
    add_places();
    // The library may keep notes of its own on the GPU: convolutions follow each other.
    item.touched.push_back({.place = item.at.size(), .bytes = 1, .writes = true});
    item.at.push_back(reinterpret_cast<CUdeviceptr>(&parts_));
    return;
  }
  if (has_kernel(command) && !must_look_first(command)) return add_kernel(item, command);
  add_places();
  switch (route_of(call)) {
    case Route::library:
      item.code = product_call(call);
      break;
    case Route::head:
      if (must_look_first(command)) {
        item.code = host_call(command);
        item.needs_host = true;
        break;
      }
      item.code = HeadCall{std::make_unique<Head>(call, parts_.blas, parts_.kernels, parts_.algorithms)};
      item.at.push_back(0);
      add_flag(item, command, command.in.size());
      break;
    case Route::control:
      add_control(item, command);
      break;
    default:
      item.code = host_call(command);
      item.needs_host = true;
  }
}

void Sequence::add_touched(Item& item, const Command& command, std::size_t first_out, std::size_t scratch) {
  for (std::size_t i = 0; i < command.in.size(); ++i) {
    const Reach reach = reach_of(command.in[i]);
    item.touched.push_back({.place = i, .first = reach.first, .bytes = reach.bytes});
  }
  for (std::size_t r = 0; r < command.out.size(); ++r)
    item.touched.push_back({.place = first_out + r, .bytes = command.out[r].type.bytes(), .writes = true});
  if (command.scratch) {
    item.touched.push_back(
        {.place = scratch, .bytes = cuda_target().scratch(command.steps.back().call), .writes = true});
  }
}

void Sequence::add_kernel(Item& item, const Command& command) {
  const std::size_t number = items_.size() - 1;
  const std::size_t kernel = parts_.kernels.add(write_command(command));
  item.code = KernelCall{kernel};
  const KernelText& text = parts_.kernels.text(kernel);
  const auto operands = static_cast<std::size_t>(text.operands),
             results = static_cast<std::size_t>(text.results);
  TM_CHECK(command.in.size() <= operands && command.out.size() <= results, "a kernel with too few places");
  item.at.resize(operands + results + 2);  // scratch, and the flag
  for (std::size_t i = 0; i < command.in.size(); ++i) item.at[i] = address(command.in[i].location, number, i);
  for (std::size_t r = 0; r < command.out.size(); ++r)
    item.at[operands + r] = address(command.out[r].location, number, operands + r);
  if (command.scratch) item.at[operands + results] = address(*command.scratch, number, operands + results);
  add_touched(item, command, operands, operands + results);
  if (!command.is_group && failure_of(command.steps[0].call).when != Fails::never)
    add_flag(item, command, operands);
}

void Sequence::add_flag(Item& item, const Command& command, std::size_t first_out) {
  item.on_failure = std::make_unique<HostCall>(host_call(command));
  item.on_failure->first_out = first_out;
  failing_.push_back({.item = items_.size() - 1, .first_flag = 0, .flags = 1});
}

Sequence::HostCall Sequence::host_call(const Command& command) {
  const Call& call = command.steps[0].call;
  const CpuKernel& kernel = cpu_kernel_of(call);
  HostCall host{.run = kernel.run, .attributes = kernel.prepare(call)};
  std::int64_t bytes = 0;
  const auto place = [&](std::int64_t size) {
    host.places.push_back(bytes);
    bytes += align_up(size, buffer_alignment);
  };
  const auto add_refs = [&](const std::vector<CommandOperand>& operands, std::vector<TensorRef>& refs) {
    for (const CommandOperand& operand : operands) {
      refs.push_back({nullptr, operand.type.dtype, operand.type.shape, dense_strides(operand.type.shape)});
      place(operand.type.bytes());
    }
  };
  add_refs(command.in, host.in);
  add_refs(command.out, host.out);
  for (std::size_t i = 0; i < command.in.size(); ++i) {
    const CommandOperand& operand = command.in[i];
    HostCall::Stretch stretch{.place = host.places[i], .bytes = operand.type.bytes()};
    if (!is_dense(operand.type.shape, operand.strides) && stretch.bytes > 0) {
      const Reach reach = reach_of(operand);
      stretch.first = reach.first;
      stretch.bytes = reach.bytes;
      stretch.strided = true;
      stretch.strides = operand.strides;
      stretch.place = bytes;
      bytes += align_up(stretch.bytes, buffer_alignment);
    }
    host.stretches.push_back(stretch);
  }
  place(cpu_target().scratch(call));
  host.first_out = command.in.size();
  parts_.staging_bytes = std::max(parts_.staging_bytes, bytes);
  return host;
}

Sequence::ProductCall Sequence::product_call(const Call& call) {
  ProductForm form = *product_form(call);
  form.tf32 = parts_.tf32 && form.dtype == DType::f32;
  ProductCall made{.product = std::make_unique<Product>(parts_.blas, form, parts_.algorithms),
                   .sum = sum_operand(call),
                   .added = sum_operand(call) < std::ssize(call.in),
                   .scaled = form.fp8.has_value()};
  for (const ProductForm::Packed& packed : form.packed) {
    made.packs.push_back({.kernel = parts_.kernels.add(write_pack(call, packed)),
                          .operand = static_cast<std::size_t>(packed.operand),
                          .offset = packed.offset});
  }
  if (form.copies_sum) {
    ProductForm::Packed whole{.operand = made.sum, .order = {}};
    for (int d = 0; d < call.out[0].rank(); ++d) whole.order.push_back(d);
    made.sum_copy = parts_.kernels.add(write_pack(call, whole));
  }
  return made;
}

bool Sequence::add_convolution(Item& item, const Call& call) {
  const ConvForm form = *conv_form(call);
  const std::optional<std::size_t> number = parts_.convolutions.add(form, parts_.algorithms);
  if (!number) return false;
  ConvCall made{.number = *number, .x = 0, .w = 1, .y = 2};
  if (form.part == ConvPart::input_grad) std::swap(made.x, made.y);
  if (form.part == ConvPart::weight_grad) std::swap(made.w, made.y);
  item.code = made;
  return true;
}

void Sequence::add_control(Item& item, const Command& command) {
  const Call& call = command.steps[0].call;
  const CpuKernel& kernel = cpu_kernel_of(call);
  ControlCall control{.run = kernel.run, .attributes = kernel.prepare(call)};
  for (const CommandOperand& operand : command.in)
    control.in.push_back({nullptr, operand.type.dtype, operand.type.shape, operand.strides});
  for (const CommandOperand& operand : command.out)
    control.out.push_back({nullptr, operand.type.dtype, operand.type.shape, operand.strides});
  const HostReads reads = cuda_target().host_reads(call);
  item.needs_host = !reads.operands.empty() || !reads.outputs.empty();
  for (const Commands& commands : command.regions) {
    auto region = std::make_unique<Sequence>(parts_, true);
    region->region_arguments_.resize(commands.arguments);
    region->region_results_.resize(commands.results);
    for (const Command& inner : commands.list) region->add(inner);
    for (std::size_t i = 0; i < region->size(); ++i) item.needs_host |= region->needs_host(i);
    const auto run = [](void* self, std::byte* const* inputs, std::byte* const* outputs) {
      static_cast<Sequence*>(self)->run_region(inputs, outputs);
    };
    control.functions.push_back({.call = run, .self = region.get()});
    control.regions.push_back(std::move(region));
  }
  control.notes = allocate_aligned(std::max<std::int64_t>(cuda_target().scratch(call), 1));
  parts_.moves.add_kernels();
  std::size_t flags = 0;
  for (const auto& region : control.regions) flags += region->flags();
  if (flags > 0) {
    failing_.push_back({.item = items_.size() - 1, .first_flag = 0, .flags = flags});
    item.looks_first = must_look_first(command);
    item.needs_host |= item.looks_first;
  }
  item.code = std::move(control);
  item.touched.clear();
}

std::size_t Sequence::flags() const {
  std::size_t count = 0;
  for (const Failing& failing : failing_) count += failing.flags;
  return count;
}

void Sequence::set_flags(std::size_t first) {
  for (Failing& failing : failing_) {
    Item& item = items_[failing.item];
    failing.first_flag = first;
    first += failing.flags;
    const auto* control = std::get_if<ControlCall>(&item.code);
    if (!control) {
      item.at.back() = parts_.failures->at(failing.first_flag);
      continue;
    }
    std::size_t next = failing.first_flag;
    for (const auto& region : control->regions) {
      region->set_flags(next);
      next += region->flags();
    }
  }
}

void Sequence::begin_lanes() {
  lanes_.make(std::exchange(lane_commands_, {}));
  if (parts_.disks) parts_.disks->link();
}

bool Sequence::uses_disk(std::size_t first, std::size_t last) const {
  return parts_.disks &&
         std::any_of(items_.begin() + static_cast<std::ptrdiff_t>(first),
                     items_.begin() + static_cast<std::ptrdiff_t>(last),
                     [](const Item& item) { return std::holds_alternative<DiskCall>(item.code); });
}

bool Sequence::can_fail(std::size_t first, std::size_t last) const {
  return std::ranges::any_of(
      failing_, [&](const Failing& failing) { return failing.item >= first && failing.item < last; });
}

std::size_t Sequence::first_failed(std::size_t first, std::size_t last) const {
  for (const Failing& failing : failing_) {
    if (failing.item >= first && failing.item < last &&
        parts_.failures->any_failed(failing.first_flag, failing.flags))
      return failing.item;
  }
  return last;
}

void Sequence::throw_failure(std::size_t number) {
  Item& item = items_[number];
  if (item.on_failure) {
    put_host(item, *item.on_failure);
  } else {
    put_control(item, true);
  }
  throw InternalError(fmt::format(
      "command {}, a kernel or a loop for CUDA, found a fault that the CPU does not find, at {}:{}", number,
      item.where.file, item.where.line));
}

void Sequence::bind(std::span<const CUdeviceptr> arguments, std::span<const CUdeviceptr> results) {
  for (const Patch& patch : patches_) {
    const Location& at = patch.location;
    const CUdeviceptr base =
        (at.base == Location::argument ? arguments : results)[static_cast<std::size_t>(at.which)];
    items_[patch.item].at[patch.place] = base + static_cast<CUdeviceptr>(at.offset);
  }
}

void Sequence::put(std::size_t first, std::size_t last) {
  lanes_.put(first, last, [&](std::size_t i, const Stream& stream) {
    if (clock_) clock_->begin(i, stream);
    put_item(items_[i], stream);
    if (clock_) clock_->end(i, stream);
  });
}

// Only copies are put into another stream than the first.
void Sequence::put_item(Item& item, const Stream& stream) {
  const auto* copy = std::get_if<CopyCall>(&item.code);
  if (is_region_ && copy) return parts_.moves.copy(item.at[1], item.at[0], copy->bytes);
  if (is_region_) parts_.moves.put_copies();
  if (std::holds_alternative<ControlCall>(item.code)) return put_control(item, item.looks_first);
  if (!parts_.recorder.is_recording()) return put_work(item, stream);
  parts_.recorder.add(accesses_of(item), [&] { put_work(item, stream); });
}

void Sequence::put_work(Item& item, const Stream& stream) {
  if (is_region_ && parts_.looks_first && item.on_failure) return put_host(item, *item.on_failure);
  if (const auto* kernel = std::get_if<KernelCall>(&item.code)) {
    parts_.kernels.put(kernel->kernel, item.at.data(), stream);
  } else if (const auto* product = std::get_if<ProductCall>(&item.code)) {
    put_product(item, *product);
  } else if (const auto* convolution = std::get_if<ConvCall>(&item.code)) {
    parts_.convolutions.put(convolution->number, item.at[convolution->x], item.at[convolution->w],
                            item.at[convolution->y], item.at[3], item.where);
  } else if (const auto* head = std::get_if<HeadCall>(&item.code)) {
    head->head->put(stream, item.at, item.at[item.at.size() - 2], item.at.back());
  } else if (const auto* copy = std::get_if<CopyCall>(&item.code)) {
    stream.copy(item.at[1], item.at[0], copy->bytes);
  } else if (const auto* disk = std::get_if<DiskCall>(&item.code)) {
    parts_.disks->put(disk->copy, item.at[disk->memory], stream);
  } else {
    put_host(item, std::get<HostCall>(item.code));
  }
}

std::vector<Access> Sequence::accesses_of(const Item& item) const {
  std::vector<Access> accesses;
  for (const Touched& touched : item.touched) {
    const auto begin = static_cast<std::int64_t>(item.at[touched.place]) + touched.first;
    accesses.push_back({static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin + touched.bytes),
                        touched.writes});
  }
  return accesses;
}

void Sequence::record(std::size_t first, std::size_t last) {
  Recorder& recorder = parts_.recorder;
  std::vector<std::size_t> begins;  // the first piece of each item, and where the last one's end
  recorder.record([&] {
    for (std::size_t i = first; i < last; ++i) {
      begins.push_back(recorder.pieces());
      std::vector<std::size_t> also;
      for (const std::size_t other : lanes_.follows(i)) {
        if (other < first) continue;  // it has ended
        for (std::size_t p = begins[other - first]; p < begins[other - first + 1]; ++p) also.push_back(p);
      }
      recorder.follow_also(std::move(also));
      put_item(items_[i], parts_.stream);
    }
  });
}

void Sequence::put_product(const Item& item, const ProductCall& call) const {
  const CUdeviceptr scratch = item.at.back();
  CUdeviceptr operands[] = {item.at[0], item.at[1]};
  for (const ProductCall::Pack& pack : call.packs) {
    const CUdeviceptr to = scratch + static_cast<CUdeviceptr>(pack.offset);
    const CUdeviceptr pointers[] = {operands[pack.operand], to, 0, 0};
    parts_.kernels.put(pack.kernel, pointers, parts_.stream);
    operands[pack.operand] = to;
  }
  const auto place = static_cast<std::size_t>(call.sum);
  const CUdeviceptr out = item.at[call.added ? place + 1 : place];
  CUdeviceptr sum = call.added ? item.at[place] : 0;
  if (call.sum_copy) {
    const CUdeviceptr pointers[] = {sum, out, 0, 0};
    parts_.kernels.put(*call.sum_copy, pointers, parts_.stream);
    sum = out;
  }
  ProductScales scales;
  if (call.scaled) scales = {.lhs = item.at[2], .rhs = item.at[3]};
  call.product->put(parts_.stream.get(), operands[0], operands[1], sum, out, scratch, scales);
}

void Sequence::put_host(Item& item, HostCall& host) {
  const Stream& stream = parts_.stream;
  std::byte* const staging = parts_.staging->data();
  const std::size_t operands = host.in.size();
  for (std::size_t i = 0; i < operands; ++i) {
    const HostCall::Stretch& stretch = host.stretches[i];
    host.in[i].data = staging + host.places[i];
    stream.copy_to_host(staging + stretch.place, item.at[i] + static_cast<CUdeviceptr>(stretch.first),
                        stretch.bytes);
  }
  for (std::size_t r = 0; r < host.out.size(); ++r) host.out[r].data = staging + host.places[operands + r];
  parts_.failures->fetch(stream);
  stream.wait();
  if (parts_.failures->any_failed()) throw FlagSeen{};
  for (std::size_t i = 0; i < operands; ++i) {
    const HostCall::Stretch& stretch = host.stretches[i];
    if (!stretch.strided) continue;
    TensorRef window = host.in[i];
    window.data = staging + stretch.place - stretch.first;
    window.strides = stretch.strides;
    copy_elements(host.in[i], window, parts_.pool);
  }
  host.run({.in = host.in,
            .out = host.out,
            .attributes = host.attributes.get(),
            .scratch = staging + host.places.back(),
            .pool = &parts_.pool,
            .regions = {},
            .where = item.where});
  for (std::size_t r = 0; r < host.out.size(); ++r) {
    stream.copy_to_device(item.at[host.first_out + r], host.out[r].data,
                          host.out[r].count() * size_of(host.out[r].dtype));
  }
  stream.wait();
}

void Sequence::put_control(Item& item, bool looks_first) {
  auto& control = std::get<ControlCall>(item.code);
  for (std::size_t i = 0; i < control.in.size(); ++i) control.in[i].data = far_pointer(item.at[i]);
  for (std::size_t r = 0; r < control.out.size(); ++r)
    control.out[r].data = far_pointer(item.at[control.in.size() + r]);
  const FarMemory far = parts_.moves.far(control.notes.get());
  parts_.moves.forget_copies();  // of a run that failed
  if (!is_region_) parts_.looks_first = looks_first;
  control.run({.in = control.in,
               .out = control.out,
               .attributes = control.attributes.get(),
               .scratch = far_pointer(item.at.back()),
               .pool = &parts_.pool,
               .regions = control.functions,
               .where = item.where,
               .far = &far});
  parts_.moves.put_copies();
}

void Sequence::run_region(std::byte* const* inputs, std::byte* const* outputs) {
  parts_.moves.put_copies();
  for (std::size_t i = 0; i < region_arguments_.size(); ++i) region_arguments_[i] = far_address(inputs[i]);
  for (std::size_t r = 0; r < region_results_.size(); ++r) region_results_[r] = far_address(outputs[r]);
  bind(region_arguments_, region_results_);
  put(0, size());
}

std::int64_t Sequence::held_bytes() const {
  constexpr std::size_t per_item = 256;  // descriptions of products, unpacked attributes
  std::size_t bytes = items_.capacity() * (sizeof(Item) + per_item) + patches_.capacity() * sizeof(Patch);
  for (const Item& item : items_) {
    bytes += item.at.capacity() * sizeof(CUdeviceptr);
    if (const auto* control = std::get_if<ControlCall>(&item.code)) {
      for (const auto& region : control->regions) bytes += static_cast<std::size_t>(region->held_bytes());
    }
  }
  return static_cast<std::int64_t>(bytes) + lanes_.held_bytes();
}

}  // namespace tidemark::cuda

#endif
