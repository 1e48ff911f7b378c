#include "tidemark/engine/bound_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "tidemark/engine/device_allocation.h"
#include "tidemark/ir/graph.h"

namespace tidemark {
namespace {

[[noreturn]] void fail_shared(const Graph& graph, std::size_t a, std::size_t b, std::string_view how,
                              SourceLine where) {
  const auto [first, second] = std::minmax(a, b);
  fail(ErrorCode::structure_mismatch, {.what = fmt::format("{} and {} {}, and one of them is donated",
                                                           graph[graph.inputs()[first].value].name,
                                                           graph[graph.inputs()[second].value].name, how),
                                       .where = where,
                                       .help = "pass a copy, or do not donate that argument"});
}

// Two storages have no byte in common, unless one is foreign: another library may lend the same memory twice.
// Then what is donated must lie apart from everything else, as it does in the plan.
void check_apart(const Graph& graph, std::span<const Tensor> inputs, std::span<const Address> addresses,
                 SourceLine where) {
  if (std::ranges::none_of(inputs, [](const Tensor& t) { return t.storage()->foreign(); })) return;
  std::vector<std::size_t> by_address;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].count() > 0 && addresses[i]) by_address.push_back(i);
  }
  const auto begin_of = [&](std::size_t i) { return addresses[i].value; };
  const auto end_of = [&](std::size_t i) { return (addresses[i] + inputs[i].type().bytes()).value; };
  std::ranges::sort(by_address, {}, begin_of);
  std::optional<std::size_t> any, donated;  // of those that begin earlier, the one that ends last
  for (const std::size_t i : by_address) {
    const bool is_donated = graph.inputs()[i].donated;
    const std::optional<std::size_t>& other = is_donated ? any : donated;
    if (other && end_of(*other) > begin_of(i)) fail_shared(graph, *other, i, "lie in the same memory", where);
    if (!any || end_of(i) > end_of(*any)) any = i;
    if (is_donated && (!donated || end_of(i) > end_of(*donated))) donated = i;
  }
}

void require_writable(const Graph& graph, const Input& input, const Storage& storage, SourceLine where) {
  if (!storage.read_only) return;
  fail(ErrorCode::read_only_memory,
       {.what = fmt::format("{} is donated, and lies in memory of another library that must not be written",
                            graph[input.value].name),
        .expected = "memory that a call may overwrite",
        .where = where,
        .help = "do not donate this argument, or donate a copy: tensor_from_bytes(x.type(), x.bytes())"});
}

}  // namespace

BoundArguments::BoundArguments(const Graph& graph, const Plan& plan, std::span<const Tensor> inputs,
                               const Workspace::Lease& lease, SourceLine where)
    : graph_(graph),
      plan_(plan),
      device_(lease.device()),
      on_host_(is_host(*device_)),
      addresses_(inputs.size()) {
  TM_CHECK(inputs.size() == graph.inputs().size(), "{} inputs for {}", inputs.size(), graph.inputs().size());
  read(inputs, where);
  if (on_host_) check_apart(graph_, inputs, addresses_, where);
  take_donated(inputs, where);
  if (!uploads_.empty()) at_line(where, [&] { upload(inputs, lease); });
}

void BoundArguments::read(std::span<const Tensor> inputs, SourceLine where) {
  std::unordered_map<const Storage*, std::size_t> first_use;
  readings_.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph_.inputs()[i];
    Reading reading = inputs[i].read(where);  // throws for traced and for donated tensors
    TM_CHECK(inputs[i].type() == graph_.type(input.value));
    const auto [earlier, fresh] = first_use.emplace(inputs[i].storage().get(), i);
    if (!fresh && (input.donated || graph_.inputs()[earlier->second].donated))
      fail_shared(graph_, earlier->second, i, "are the same tensor", where);
    if (input.donated) require_writable(graph_, input, *inputs[i].storage(), where);
    if (on_host_ && (!reading.memory() || !input.donated)) {
      addresses_[i] = host_address(at_line(where, [&] { return reading.data(); }));
    } else if (reading.lies_on(*device_)) {
      addresses_[i] = reading.memory()->address();
    } else if (!input.donated) {
      // The same tensor twice is copied once.
      std::int64_t offset = upload_bytes_;
      if (fresh) {
        upload_bytes_ += device_->target().aligned(inputs[i].type().bytes());
      } else {
        offset = std::ranges::find(uploads_, earlier->second, &Upload::input)->offset;
      }
      uploads_.push_back({i, offset});
    }
    if (input.donated) {
      readings_.emplace_back();
    } else {
      readings_.emplace_back(std::move(reading));
    }
  }
}

void BoundArguments::take_donated(std::span<const Tensor> inputs, SourceLine where) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph_.inputs()[i];
    if (!input.donated) continue;
    std::optional<Overwriting> overwriting = at_line(where, [&] { return inputs[i].overwrite(); });
    if (!overwriting) {
      inputs[i].check_not_donated(where);  // to another thread's call, just now
      fail(ErrorCode::memory_in_use,
           {.what = fmt::format("{} is donated while another call or another library uses it",
                                graph_[input.value].name),
            .where = where,
            .help = "give each thread a tensor of its own, let go of what to_dlpack gave, or do not donate "
                    "that argument"});
    }
    donated_.push_back({.overwriting = *std::move(overwriting)});
    at_line(where, [&] { place(i, donated_.back()); });
  }
}

// Where the run reads and writes it.
void BoundArguments::place(std::size_t input, Donated& donated) {
  const std::shared_ptr<DeviceMemory> lies_in = donated.overwriting.memory();
  const std::int64_t bytes = graph_.type(graph_.inputs()[input].value).bytes();
  if (on_host_ && !lies_in) {
    addresses_[input] = host_address(donated.overwriting.data());
    return;
  }
  if (!on_host_ && lies_in && &lies_in->device() == device_.get()) {
    addresses_[input] = lies_in->address();
    return;
  }
  donated.in_place = false;
  donated.is_replaced = std::ranges::any_of(plan_.outputs, [&](const Ref& ref) {
    const Buffer& buffer = plan_.buffers[ref.buffer.index];
    return buffer.binding == Binding::argument && buffer.slot == static_cast<std::int32_t>(input);
  });
  if (on_host_) {
    donated.own = allocate_aligned(bytes);
    lies_in->read(donated.own.get());
    addresses_[input] = host_address(donated.own.get());
    return;
  }
  auto memory = std::make_shared<DeviceAllocation>(device_, bytes);
  memory->write(donated.overwriting.data());
  addresses_[input] = memory->address();
  donated.memory = std::move(memory);
}

void BoundArguments::upload(std::span<const Tensor> inputs, const Workspace::Lease& lease) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (plan_.budget > 0) {
    most = plan_.budget - lease.arena().bytes();
    for (std::size_t i = 0; i < inputs.size(); ++i) most -= addresses_[i] ? inputs[i].type().bytes() : 0;
  }
  const Address base = lease.reserve_arguments(upload_bytes_, most);
  std::int64_t written = 0;  // those behind it are new
  for (const auto& [input, offset] : uploads_) {
    const std::int64_t bytes = inputs[input].type().bytes();
    if (bytes == 0) continue;
    addresses_[input] = base + offset;
    if (offset < written) continue;
    device_->write(addresses_[input], readings_[input]->data(), bytes);
    written = offset + bytes;
  }
}

void BoundArguments::give_away(SourceLine where) {
  for (Donated& donated : donated_) {
    if (donated.is_replaced && donated.memory) donated.overwriting.move_to(std::move(donated.memory));
    if (donated.is_replaced && donated.own) donated.overwriting.move_to(std::move(donated.own));
    donated.overwriting.give_away(where, false);
  }
  donated_.clear();
}

void BoundArguments::lose(SourceLine where) {
  for (Donated& donated : donated_) {
    if (donated.in_place) donated.overwriting.give_away(where, true);
  }
  donated_.clear();
}

}  // namespace tidemark
