// Plans for a GPU, run whole where none is: generated kernels compiled for this machine's processor
// (host_kernels.h), and loops and branches by the kernels that drive them on every device. What libraries
// compute on a GPU is not there.
#pragma once
#include <map>

#include "tests/support/group_values.h"
#include "tidemark/cuda/call_source.h"
#include "tidemark/cuda/command_source.h"
#include "tidemark/cuda/product_source.h"
#include "tidemark/cuda/target.h"
#include "tidemark/cuda/tile_layout.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/runtime/commands.h"

namespace tidemark::testing {

class HostPlans {
 public:
  // The number of the plan, for run. All are added before they are compiled.
  std::size_t add(const Graph& graph, const VerifiedPlan& plan) {
    Program program{.plan = *plan};
    for (const Input& input : graph.inputs()) program.inputs.push_back(graph.type(input.value));
    for (const ValueId v : graph.outputs()) program.outputs.push_back(graph.type(v));
    CommandStream commands(graph, plan);
    while (const Command* command = commands.next()) program.steps.push_back(step_of(*command));
    programs_.push_back(std::move(program));
    return programs_.size() - 1;
  }
  int tiled() const { return tiled_; }  // kernels that work in tiles
  void compile() { compiled_ = std::make_unique<HostKernels>(kernels_); }

  // `descending`: the last block and thread of each kernel first.
  std::vector<Literal> run(std::size_t number, std::vector<Literal> inputs, bool descending) const {
    const Program& program = programs_[number];
    Run run{.arena = Shifted(program.plan.arena_bytes + guard, 0), .descending = descending};
    std::vector<std::byte*> arguments;
    for (Literal& input : inputs) arguments.push_back(input.bytes.data());
    for (const Step& step : program.steps) execute(step, run, arguments.data(), nullptr);
    const std::byte* const end = run.arena.get() + program.plan.arena_bytes;
    EXPECT_TRUE(std::all_of(end, end + guard, [](std::byte b) { return b == std::byte{0x5a}; }))
        << "something wrote behind the arena";
    std::vector<Literal> results;
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
      const Ref& ref = program.plan.outputs[i];
      const Buffer& buffer = program.plan.buffers[ref.buffer.index];
      const std::byte* const at = buffer.binding == Binding::argument
                                      ? arguments[static_cast<std::size_t>(buffer.slot)]
                                      : run.arena.get() + buffer.offset;
      results.push_back(literal_at(program.outputs[i], at + ref.offset));
    }
    return results;
  }

 private:
  static constexpr std::int64_t guard = 256;

  struct Step {
    StepKind kind = StepKind::compute;
    std::size_t kernel = 0;
    const CpuKernel* on_host = nullptr;  // instead
    std::shared_ptr<const void> attributes = {};
    std::vector<CommandOperand> in = {}, out = {};
    std::optional<Location> scratch = {};
    std::vector<std::vector<Step>> regions = {};
    SourceLine where = {};
  };
  struct Program {
    Plan plan;
    std::vector<Type> inputs = {}, outputs = {};
    std::vector<Step> steps = {};
  };
  struct Run {
    Shifted arena;
    bool descending;
  };
  struct Region {
    const HostPlans* self;
    const std::vector<Step>* steps;
    const Run* run;
  };

  Step step_of(const Command& command) {
    Step step{.kind = command.kind,
              .in = command.in,
              .out = command.out,
              .scratch = command.scratch,
              .where = command.where};
    if (command.kind != StepKind::compute) return step;
    const Call& call = command.steps[0].call;
    if (cuda::has_kernel(command)) {
      step.kernel = kernel_of(command);
      return step;
    }
    const cuda::Route route = cuda::route_of(call);
    TM_CHECK(route == cuda::Route::control || route == cuda::Route::host, "{} is a library's", call.op->name);
    step.on_host = find_cpu_kernel(*call.op);
    step.attributes = step.on_host->prepare(call);
    for (const Commands& region : command.regions) {
      std::vector<Step>& steps = step.regions.emplace_back();
      for (const Command& inner : region.list) steps.push_back(step_of(inner));
    }
    return step;
  }

  // Kernels with the same text are one.
  std::size_t kernel_of(const Command& command) {
    const auto [known, fresh] = number_of_.emplace(cuda::write_command(command).source, kernels_.size());
    if (!fresh) return known->second;
    const std::string name = fmt::format("k{}", kernels_.size());
    const Call& call = command.steps[0].call;
    const cuda::Route route = cuda::route_of(call);
    if (command.is_group) {
      tiled_ += cuda::works_in_tiles(command.steps);
      kernels_.push_back(cuda::write_group(command.steps, name));
    } else if (route == cuda::Route::call || route == cuda::Route::convolution) {
      kernels_.push_back(cuda::write_call(call, name));
    } else if (route == cuda::Route::product) {
      kernels_.push_back(cuda::write_product(call, name));
    } else {
      GroupStep step{.call = call, .in = {}, .out = {{GroupRef::result, 0}}};
      for (std::size_t i = 0; i < call.in.size(); ++i)
        step.in.push_back({GroupRef::operand, static_cast<int>(i)});
      kernels_.push_back(cuda::write_group(std::span(&step, 1), name));
    }
    return known->second;
  }

  static std::byte* address(const Location& at, const Run& run, std::byte* const* arguments,
                            std::byte* const* results) {
    if (at.base == Location::arena) return run.arena.get() + at.offset;
    return (at.base == Location::argument ? arguments : results)[at.which] + at.offset;
  }

  void execute(const Step& step, const Run& run, std::byte* const* arguments,
               std::byte* const* results) const {
    const auto at = [&](const Location& location) { return address(location, run, arguments, results); };
    if (step.kind != StepKind::compute) {
      TM_CHECK(step.kind == StepKind::copy, "values wait elsewhere");
      std::byte *const to = at(step.out[0].location), *const from = at(step.in[0].location);
      if (to != from) std::memmove(to, from, static_cast<std::size_t>(step.in[0].type.bytes()));
      return;
    }
    std::byte* const scratch = step.scratch ? at(*step.scratch) : nullptr;
    if (!step.on_host) {
      std::vector<const void*> in;
      std::vector<void*> out;
      for (const CommandOperand& operand : step.in) in.push_back(at(operand.location));
      for (const CommandOperand& operand : step.out) out.push_back(at(operand.location));
      out.resize(std::max(out.size(), static_cast<std::size_t>(kernels_[step.kernel].results)));
      EXPECT_TRUE(compiled_->run(step.kernel, in, out, scratch, run.descending))
          << "threads wait in vain or meet in shared memory:\n"
          << kernels_[step.kernel].source;
      return;
    }
    const auto refs = [&](const std::vector<CommandOperand>& operands) {
      std::vector<TensorRef> list;
      for (const CommandOperand& operand : operands)
        list.push_back({at(operand.location), operand.type.dtype, operand.type.shape, operand.strides});
      return list;
    };
    const std::vector<TensorRef> in = refs(step.in), out = refs(step.out);
    std::vector<Region> regions;
    for (const std::vector<Step>& steps : step.regions) regions.push_back({this, &steps, &run});
    std::vector<RegionFunction> functions;
    for (Region& region : regions) {
      functions.push_back({.call =
                               [](void* self, std::byte* const* inputs, std::byte* const* outputs) {
                                 const Region& r = *static_cast<Region*>(self);
                                 for (const Step& inner : *r.steps)
                                   r.self->execute(inner, *r.run, inputs, outputs);
                               },
                           .self = &region});
    }
    step.on_host->run({.in = in,
                       .out = out,
                       .attributes = step.attributes.get(),
                       .scratch = scratch,
                       .regions = functions,
                       .where = step.where});
  }

  std::vector<cuda::KernelText> kernels_;
  std::map<std::string, std::size_t> number_of_;  // by their text
  std::vector<Program> programs_;
  std::unique_ptr<HostKernels> compiled_;
  int tiled_ = 0;
};

}  // namespace tidemark::testing
