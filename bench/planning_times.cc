// How long planning takes for small programs, as a user asks for it: without a budget, with 90% and 70% of
// what that takes, the smallest budget, and a budget that no plan meets, whose error says what would. Seconds
// of the processor, so that others who use the machine do not count; beside them what was found: extra time
// of the budgets, bytes of the floor.
//
//   bench/planning_times [PROGRAM|all [EFFORT [CELL...]]]      cells: free 90 70 floor error
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/nn/losses.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

struct SmallProgram {
  std::string name;
  std::function<Plan(const CompileOptions&)> plan;  // throws InfeasibleBudget
  std::function<SmallestBudget(const CompileOptions&)> smallest;
};

template <class F, class... Args>
SmallProgram program(std::string name, F f, const Args&... args) {
  return {std::move(name),
          [=](const CompileOptions& options) {
            return Plan(compile(f, options).prepare(types_of(args)...).plan);
          },
          [=](const CompileOptions& options) { return compile(f, options).smallest(types_of(args)...); }};
}

Tensor normal(std::int64_t seed, const Shape& shape) { return random_normal(key(seed), shape); }
Tensor labels(const Shape& shape, std::int64_t classes) {
  return cast(floor(random_uniform(key(3), shape, 0, static_cast<double>(classes))), DType::i32);
}

// A model from inputs to logits.
template <class Model>
SmallProgram classifier(std::string name, const Model& model, const Tensor& x, const Tensor& y) {
  const auto loss = [](const Model& m, Tensor in, Tensor out) { return nn::classification_loss(m(in), out); };
  return program(std::move(name), value_and_grad(loss), model, x, y);
}

struct ThreeConvolutions {
  nn::Conv2d a, b, c;
  nn::Linear head;
  TM_FIELDS(ThreeConvolutions, a, b, c, head)
  Tensor operator()(Tensor x) const {
    const Tensor h = relu(c(relu(b(relu(a(x)), 2)), 2));
    return head(reshape(h, {h.shape()[0], -1}));
  }
};

struct NormalisedConvolutions {
  std::vector<nn::ConvNorm> blocks;
  nn::Linear head;
  TM_FIELDS(NormalisedConvolutions, blocks, head)
  Tensor operator()(Tensor x) const {
    for (const nn::ConvNorm& block : blocks) x = relu(block(x));
    return head(mean(x, {2, 3}));
  }
};

struct Residual {
  std::vector<nn::Linear> blocks;
  nn::Linear head;
  TM_FIELDS(Residual, blocks, head)
  Tensor operator()(Tensor x) const {
    for (const nn::Linear& block : blocks) x = x + tanh(block(x));
    return head(x);
  }
};

struct AttentionBlock {
  nn::LayerNorm norm;
  nn::SelfAttention attention;
  TM_FIELDS(AttentionBlock, norm, attention)
};

std::vector<nn::Linear> linears(int count, std::int64_t width) {
  std::vector<nn::Linear> list;
  for (int i = 0; i < count; ++i) list.push_back(nn::Linear::init(key(i), width, width));
  return list;
}

std::vector<SmallProgram> programs() {
  std::vector<SmallProgram> list;
  const auto add = [&](SmallProgram p) { list.push_back(std::move(p)); };
  const Tensor line = normal(1, {100}), images = normal(2, {8, 3, 32, 32});
  add(program("line", grad([](Tensor x) { return sum(sin(x) * exp(x) / (1 + x * x)); }), line));
  add(program("logistic", value_and_grad([](Tensor w, Tensor x, Tensor y) {
                return mean(log(1 + exp(-y * matmul(x, w))));
              }),
              normal(1, {64, 1}), normal(2, {512, 64}), normal(3, {512, 1})));
  add(classifier("mlp", nn::Mlp::init(key(0), {64, 128, 128, 128, 10}), normal(1, {256, 64}),
                 labels({256}, 10)));
  add(classifier("residual", Residual{linears(8, 64), nn::Linear::init(key(9), 64, 10)}, normal(1, {256, 64}),
                 labels({256}, 10)));
  add(classifier("cnn",
                 ThreeConvolutions{nn::Conv2d::init(key(0), 3, 16, 3), nn::Conv2d::init(key(1), 16, 32, 3),
                                   nn::Conv2d::init(key(2), 32, 32, 3), nn::Linear::init(key(3), 2048, 10)},
                 images, labels({8}, 10)));
  NormalisedConvolutions normalised;
  for (int i = 0; i < 4; ++i)
    normalised.blocks.push_back(nn::ConvNorm::init(key(i), i == 0 ? 3 : 16, 16, 3, i == 2 ? 2 : 1));
  normalised.head = nn::Linear::init(key(5), 16, 10);
  add(classifier("batchnorm", normalised, images, labels({8}, 10)));
  add(classifier("unet", nn::UNet::init(key(0), {.channels = 3, .classes = 2, .width = 8, .levels = 2}),
                 images, labels({8, 32, 32}, 2)));
  add(program("autoencoder",
              value_and_grad([](const nn::Mlp& m, Tensor x) { return mean(square(m(x) - x)); }),
              nn::Mlp::init(key(0), {256, 128, 32, 128, 256}), normal(1, {128, 256})));
  const AttentionBlock block{nn::LayerNorm::init(64), nn::SelfAttention::init(key(0), 64)};
  add(program("attention", value_and_grad([](const AttentionBlock& b, Tensor x) {
                return mean(square(x + b.attention(b.norm(x), 4, true)));
              }),
              block, normal(1, {4, 64, 64})));
  add(classifier(
      "transformer1",
      nn::Gpt::init(key(0), {.layers = 1, .width = 64, .heads = 4, .vocabulary = 128, .context = 32}),
      labels({4, 32}, 128), labels({4, 32}, 128)));
  add(classifier(
      "transformer3",
      nn::Gpt::init(key(0), {.layers = 3, .width = 64, .heads = 4, .vocabulary = 128, .context = 32}),
      labels({4, 32}, 128), labels({4, 32}, 128)));
  add(classifier("lstm", nn::Lstm::init(key(0), {.layers = 1, .width = 32, .vocabulary = 32}),
                 labels({8, 16}, 32), labels({8, 16}, 32)));
  add(program("scan", value_and_grad([](Tensor w, Tensor xs) {
                const auto body = [&](Tensor h, Tensor x) {
                  const Tensor next = tanh(matmul(h, w) + x);
                  return std::pair(next, sum(next * next));
                };
                return sum(scan(body, ones({8, 32}), xs).second);
              }),
              normal(1, {32, 32}), normal(2, {40, 8, 32})));
  add(program("heat", value_and_grad([](Tensor k, Tensor stencil, Tensor u) {
                for (int i = 0; i < 12; ++i) u = u + k * matmul(u, stencil) * (1 + 0.01 * u * u);
                return mean(square(u));
              }),
              normal(1, {64}), normal(2, {64, 64}), normal(3, {64, 64})));
  add(program("curvature", grad([](Tensor x) {
                return sum(square(grad([](Tensor y) { return sum(tanh(y) * exp(-square(y))); })(x)));
              }),
              normal(1, {1000})));
  return list;
}

struct Cell {
  double seconds = 0;
  std::string found;
};

Cell timed(const std::function<std::string()>& run) {
  const std::clock_t start = std::clock();
  std::string found = run();
  return {static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, std::move(found)};
}

void show(const SmallProgram& p, double effort, const std::vector<std::string>& cells) {
  const auto wanted = [&](std::string_view cell) {
    return cells.empty() || std::ranges::find(cells, cell) != cells.end();
  };
  const auto print = [](const Cell& cell) {
    fmt::print(" {:>8.2f} {:<11}", cell.seconds, cell.found);
    std::fflush(stdout);
  };
  Plan free;
  const Cell first = timed([&] {
    free = p.plan({.effort = effort});
    return fmt::format("{}", free.steps.size());
  });
  fmt::print("{:<13}", p.name);
  print(first);
  const auto within = [&](std::int64_t bytes) {
    try {
      const Plan plan = p.plan({.memory = Bytes(bytes), .effort = effort});
      return fmt::format("{:+.3f}%", 100 * (plan.seconds / free.seconds - 1));
    } catch (const InfeasibleBudget& error) {
      return fmt::format("↓{}", error.smallest().count);
    }
  };
  for (int percent : {90, 70}) {
    if (wanted(fmt::format("{}", percent))) print(timed([&] { return within(free.peak() * percent / 100); }));
  }
  if (wanted("floor")) {
    print(timed([&] {
      const SmallestBudget smallest = p.smallest({.effort = effort});
      return fmt::format("{} {:+.1f}%", smallest.memory.count, 100 * smallest.extra_time);
    }));
  }
  if (wanted("error")) print(timed([&] { return within(free.input_bytes + 64); }));
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view only = argc > 1 ? argv[1] : "all";
  const double effort = argc > 2 ? std::atof(argv[2]) : 1;
  std::vector<std::string> cells;
  for (int a = 3; a < argc; ++a) cells.emplace_back(argv[a]);
  set_threads(1);
  fmt::print("{:<13} {:>8} {:<11} {:>8} {:<11} {:>8} {:<11} {:>8} {:<11} {:>8}\n", "program", "free s",
             "steps", "90% s", "extra", "70% s", "extra", "floor s", "bytes", "error s");
  for (const SmallProgram& p : programs()) {
    if (only == "all" || only == p.name) show(p, effort, cells);
  }
}
