#include "tests/support/gpu_nodes.h"

#include <fmt/format.h>

#include "tidemark/base/aligned.h"
#include "tidemark/cuda/command_source.h"
#include "tidemark/cuda/copy_batch.h"
#include "tidemark/cuda/product_form.h"
#include "tidemark/cuda/target.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/runtime/commands.h"

namespace tidemark::testing {
namespace {

constexpr std::uintptr_t apart = std::uintptr_t{1} << 42;  // more than any memory has

std::byte* place(std::uintptr_t number, std::int64_t offset) {
  return reinterpret_cast<std::byte*>((number + 1) * apart + static_cast<std::uintptr_t>(offset));
}

std::string ops_of(const Command& command) {
  std::string text = command.is_group ? "group" : "";
  for (const GroupStep& step : command.steps)
    text += fmt::format("{}{}", text.empty() ? "" : " ", step.call.op->name);
  for (const CommandOperand& out : command.out) text += " " + to_string(out.type);
  return text;
}

class Counter {
 public:
  explicit Counter(GpuNodes& nodes) : nodes_(nodes) {}

  void count(const Command& command, std::byte* const* arguments, std::byte* const* results) {
    if (command.kind != StepKind::compute) {
      std::byte* const to = address(command.out[0].location, arguments, results);
      const std::byte* const from = address(command.in[0].location, arguments, results);
      if (to != from) copy(to, from, command.in[0].type.bytes());
      if (!results) put_copies();
      return;
    }
    put_copies();
    const Call& call = command.steps[0].call;
    if (cuda::has_kernel(command)) {
      const std::int64_t launches = launches_of(command);
      nodes_.kernels += launches;
      nodes_.by_name[name_of(command)] += launches;
      return;
    }
    switch (cuda::route_of(call)) {
      case cuda::Route::library:
        nodes_.products += 1 + std::ssize(cuda::product_form(call)->packed);
        ++nodes_.by_name[name_of(command)];
        return;
      case cuda::Route::control:
        return run(command, arguments, results);
      default:
        return add(nodes_.host, name_of(command));
    }
  }

 private:
  struct Region {
    Counter* counter;
    const Commands* commands;
  };

  // As the device does (cuda/copy_batch.h).
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    const auto number = [](const std::byte* at) { return reinterpret_cast<std::uint64_t>(at); };
    if (copies_.add(number(to), number(from), bytes)) return;
    put_copies();
    copies_.add(number(to), number(from), bytes);
  }
  void put_copies() {
    if (copies_.count() > 0)
      add(nodes_.copies, fmt::format("{} copies of {} bytes", copies_.count(), copies_.bytes()));
    copies_.clear();
  }
  void add(std::int64_t& number, const std::string& name) {
    ++number;
    ++nodes_.by_name[name];
  }
  std::int64_t launches_of(const Command& command) {
    const auto [known, fresh] = launches_.emplace(&command, 0);
    if (fresh) known->second = std::ssize(cuda::write_command(command).launches);
    return known->second;
  }
  const std::string& name_of(const Command& command) {
    std::string& name = names_[&command];
    if (name.empty()) name = ops_of(command);
    return name;
  }

  static std::byte* address(const Location& at, std::byte* const* arguments, std::byte* const* results) {
    if (at.base == Location::arena) return place(static_cast<std::uintptr_t>(at.which), at.offset);
    return (at.base == Location::argument ? arguments : results)[at.which] + at.offset;
  }

  void run(const Command& command, std::byte* const* arguments, std::byte* const* results) {
    const Call& call = command.steps[0].call;
    const CpuKernel& kernel = *find_cpu_kernel(*call.op);
    const std::shared_ptr<const void> attributes = kernel.prepare(call);
    std::vector<TensorRef> in, out;
    const auto add_all = [&](const std::vector<CommandOperand>& operands, std::vector<TensorRef>& refs) {
      for (const CommandOperand& operand : operands)
        refs.push_back({address(operand.location, arguments, results), operand.type.dtype, operand.type.shape,
                        operand.strides});
    };
    add_all(command.in, in);
    add_all(command.out, out);
    std::vector<Region> regions;
    for (const Commands& commands : command.regions) regions.push_back({this, &commands});
    std::vector<RegionFunction> functions;
    for (Region& region : regions) {
      functions.push_back({.call =
                               [](void* self, std::byte* const* inputs, std::byte* const* outputs) {
                                 const Region& r = *static_cast<Region*>(self);
                                 for (const Command& inner : r.commands->list)
                                   r.counter->count(inner, inputs, outputs);
                               },
                           .self = &region});
    }
    const AlignedBytes notes = allocate_aligned(std::max<std::int64_t>(1, cuda::cuda_target().scratch(call)));
    FarMemory far{.self = this, .notes = notes.get()};
    far.copy = [](void* self, std::byte* to, const std::byte* from, std::int64_t bytes) {
      static_cast<Counter*>(self)->copy(to, from, bytes);
    };
    far.clear = [](void* self, std::byte*, std::int64_t bytes) {
      Counter& c = *static_cast<Counter*>(self);
      c.put_copies();
      c.add(c.nodes_.clears, fmt::format("clear of {} bytes", bytes));
    };
    far.swap = [](void* self, std::byte*, std::byte*, std::int64_t bytes) {
      Counter& c = *static_cast<Counter*>(self);
      c.put_copies();
      c.add(c.nodes_.swaps, fmt::format("swap of {} bytes", bytes));
    };
    kernel.run({.in = in,
                .out = out,
                .attributes = attributes.get(),
                .scratch = command.scratch ? address(*command.scratch, arguments, results) : nullptr,
                .regions = functions,
                .where = command.where,
                .far = &far});
    put_copies();
  }

  GpuNodes& nodes_;
  cuda::CopyBatch copies_;
  std::map<const Command*, std::int64_t> launches_;
  std::map<const Command*, std::string> names_;
};

}  // namespace

GpuNodes count_gpu_nodes(const Graph& graph, const VerifiedPlan& plan) {
  GpuNodes nodes;
  std::vector<std::byte*> arguments;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) arguments.push_back(place(100 + i, 0));
  CommandStream commands(graph, plan);
  while (const Command* command = commands.next()) Counter(nodes).count(*command, arguments.data(), nullptr);
  return nodes;
}

}  // namespace tidemark::testing
