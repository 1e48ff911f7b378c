// What copies to a disk cost beside computing. A chain of matrix products goes there and back, and every
// product waits in a file between its two uses: one lane writes, one reads, both beside the first, which
// computes.
//
//   micro_lanes [--folder PATH] [--rows N] [--products N] [--threads N] [--rounds N]
//
// `sum` runs the same commands one after the other. Times on a shared machine drift; the ratios are of runs
// in turn.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/runtime/executor.h"

namespace {

using namespace tidemark;

constexpr std::int32_t out_lane = 1, in_lane = 2;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Of n products on the way there, product i is read again by product 2n - 2 - i.
Graph there_and_back(std::int64_t rows, int products) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {rows, rows}}), w = builder.input({DType::f32, {rows, rows}});
  std::vector<Var> made = {matmul(x, w)};
  for (int i = 1; i < products; ++i) made.push_back(matmul(made.back(), w));
  Var back = made.back();
  for (std::size_t i = made.size() - 1; i-- > 0;) back = matmul(back, made[i]);
  graph.add_output(back.id());
  return graph;
}

// The plan with copies away behind each product of the way there, and back two steps before it is used.
class Spilled {
 public:
  Spilled(const Graph& graph, const Plan& plain, int products) : graph_(graph), plan_(plain) {
    const std::vector<Step> steps = std::exchange(plan_.steps, {});
    constexpr std::int32_t ahead = 2;
    const auto count = static_cast<std::int32_t>(steps.size());
    std::vector<std::int32_t> left(at(count), -1), returned(at(count), -1);  // copies of what it made
    std::vector<Ref> far(at(count)), fresh(at(count));
    const auto partner = [&](std::int32_t t) { return 2 * products - 2 - t; };  // the step that reads it
    const auto is_away = [&](std::int32_t t) { return t >= 0 && t < products && partner(t) - t > 2 * ahead; };
    for (std::int32_t t = 0; t < count; ++t) {
      if (const std::int32_t next = partner(t + ahead - 1); is_away(next) && t > next) {
        fresh[at(next)] = add_buffer(steps[at(next)].out[0], 0);
        returned[at(next)] =
            add_copy(far[at(next)], fresh[at(next)], in_lane, {left[at(next)], computed_[at(t - 1)]});
      }
      Step step = steps[at(t)];
      if (const std::int32_t used = partner(t); is_away(used) && t > used) {
        for (Ref& in : step.in) {
          if (in.buffer == steps[at(used)].out[0].buffer) in = fresh[at(used)];
        }
        step.waits.push_back(returned[at(used)]);
      }
      computed_.push_back(static_cast<std::int32_t>(plan_.steps.size()));
      plan_.steps.push_back(step);
      if (!is_away(t)) continue;
      far[at(t)] = add_buffer(step.out[0], 1);
      left[at(t)] = add_copy(step.out[0], far[at(t)], out_lane, {computed_.back()});
    }
    plan_.lanes = {
        {.name = "compute"}, {.name = "out", .computes = false}, {.name = "in", .computes = false}};
    set_figures();
  }
  const Plan& plan() const { return plan_; }

 private:
  // At the top of its memory, beside all others.
  Ref add_buffer(const Ref& like, std::int32_t memory) {
    const std::int64_t bytes = graph_.type(like.value).bytes();
    std::int64_t& top = memory == 0 ? plan_.arena_bytes : far_bytes_;
    plan_.buffers.push_back({.bytes = bytes, .offset = top, .value = like.value, .memory = memory});
    top += align_up(bytes, buffer_alignment);
    Ref ref = like;
    ref.buffer = BufferId(plan_.buffers.size() - 1);
    return ref;
  }
  std::int32_t add_copy(const Ref& from, const Ref& to, std::int32_t lane, std::vector<std::int32_t> waits) {
    plan_.steps.push_back(
        {.kind = StepKind::copy, .in = {from}, .out = {to}, .lane = lane, .waits = std::move(waits)});
    return static_cast<std::int32_t>(plan_.steps.size()) - 1;
  }

  void set_figures() {
    const auto steps = static_cast<std::int32_t>(plan_.steps.size());
    std::vector<std::int32_t> begin(plan_.buffers.size(), steps), end(plan_.buffers.size(), 0);
    for (std::int32_t t = 0; t < steps; ++t) {
      const auto touch = [&](BufferId b) {
        begin[b.index] = std::min(begin[b.index], t);
        end[b.index] = t + 1;
      };
      for (const Ref& ref : plan_.steps[at(t)].in) touch(ref.buffer);
      for (const Ref& ref : plan_.steps[at(t)].out) touch(ref.buffer);
      if (plan_.steps[at(t)].scratch.valid()) touch(plan_.steps[at(t)].scratch);
    }
    for (const Ref& ref : plan_.outputs) end[ref.buffer.index] = steps;
    std::vector<std::int64_t> near(at(steps) + 1), away(at(steps) + 1);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      Buffer& buffer = plan_.buffers[b];
      const bool bound = buffer.binding == Binding::argument;
      buffer.begin = bound ? 0 : begin[b];
      buffer.end = bound ? steps : end[b];
      if (bound) continue;
      std::vector<std::int64_t>& change = buffer.memory == 0 ? near : away;
      change[at(buffer.begin)] += align_up(buffer.bytes, buffer_alignment);
      change[at(buffer.end)] -= align_up(buffer.bytes, buffer_alignment);
    }
    const auto most = [](const std::vector<std::int64_t>& change) {
      std::int64_t load = 0, highest = 0;
      for (const std::int64_t c : change) highest = std::max(highest, load += c);
      return highest;
    };
    plan_.lower_bound = plan_.input_bytes + most(near);
    plan_.order_free_bound = std::min(plan_.order_free_bound, plan_.lower_bound);
    plan_.store_all_bytes = std::max(plan_.store_all_bytes, plan_.peak());
    plan_.further = {{.name = "disk", .arena_bytes = far_bytes_, .lower_bound = most(away)}};
  }

  const Graph& graph_;
  Plan plan_;
  std::vector<std::int32_t> computed_;  // per step of the plain plan: where it is now
  std::int64_t far_bytes_ = 0;
};

class Ready {
 public:
  Ready(const Graph& graph, const Plan& plan, CpuDevice& device) {
    std::vector<Arena*> each;
    for (std::size_t m = 0; m < memory_count(plan); ++m) {
      arenas_.push_back(std::make_unique<Arena>(device, memory_of(plan, m).arena_bytes, static_cast<int>(m)));
      each.push_back(arenas_.back().get());
    }
    executor_ = std::make_unique<Executor>(graph, verified(graph, plan, cpu_target()), device, each);
  }
  Executor* operator->() { return executor_.get(); }

 private:
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "/tmp";
  int rows = 1024, products = 24, threads = 0, rounds = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--folder") {
      folder = argv[i + 1];
    } else {
      (word == "--rows"       ? rows
       : word == "--products" ? products
       : word == "--threads"  ? threads
                              : rounds) = std::atoi(argv[i + 1]);
    }
  }
  const Graph graph = there_and_back(rows, products);
  const Plan plain = make_plan(graph, cpu_target(), {.fixed_order = true, .skip = {"fuse", "in_place"}});
  const Spilled spilled(graph, plain, products);
  CpuDevice device(threads);
  device.use_folder(1, folder);
  Ready near(graph, plain, device), away(graph, spilled.plan(), device);
  const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(rows);
  std::vector<float> x(count, 1.0F), w(count, 1.0F / static_cast<float>(rows));
  const Address inputs[] = {host_address(x.data()), host_address(w.data())};

  double computing = 1e9, sum = 1e9, beside = 1e9;
  for (int round = 0; round < rounds; ++round) {
    computing = std::min(computing, seconds_taken([&] { near->run(inputs); }));
    sum = std::min(sum, seconds_taken([&] { away->run(inputs, [](std::size_t) {}); }));
    beside = std::min(beside, seconds_taken([&] { away->run(inputs); }));
  }
  const double copied = 2e-9 * static_cast<double>(spilled.plan().further[0].arena_bytes);
  fmt::print("{} products of {} rows, {:.2f} GB copied, {} threads\n", 2 * products - 1, rows, copied,
             device.pool().threads());
  fmt::print("computing {:.3f} s, sum {:.3f} s, side by side {:.3f} s\n", computing, sum, beside);
  fmt::print("side by side / sum        {:.3f}\n", beside / sum);
  fmt::print("side by side / computing  {:.3f}\n", beside / computing);
  fmt::print("copies hidden             {:.0f} %\n", 100 * (sum - beside) / (sum - computing));
}
