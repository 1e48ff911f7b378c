// Training with lossy copies for the backward pass against exact training: a small GPT on text of a random
// grammar and a residual network on noisy images, three seeds each, the same data in the same order. The
// question is whether the losses at the end differ by more than seeds do, and what the copies save.
//
//   lossy_training [gpt|resnet|all [STEPS]]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

constexpr int seeds = 3;
constexpr td::Lossy eight_bits{.error = 4e-3};
constexpr double share = 0.6;  // of the memory that exact training takes, where that fits

// Tokens of a grammar in which each pair of tokens has four successors: there is something to learn, and a
// floor (log 4 at best) that no model gets below.
class Text {
 public:
  Text(std::int64_t vocabulary, std::uint64_t seed) : vocabulary_(vocabulary), random_(seed) {}
  td::Tensor batch(std::int64_t rows, std::int64_t length) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::uint64_t a = random_() % vocabulary_, b = random_() % vocabulary_;
      for (std::int64_t t = 0; t < length; ++t) {
        const std::uint64_t next = (a * 31 + b * 17 + random_() % 4 * 7) % vocabulary_;
        tokens.push_back(static_cast<std::int32_t>(next));
        a = b, b = next;
      }
    }
    return td::tensor(tokens, {rows, length});
  }

 private:
  std::uint64_t vocabulary_;
  std::mt19937_64 random_;
};

struct Curve {
  double last = 0;  // mean loss of the last tenth
  td::Bytes peak, plain, small;
  double gradient_error = 0;
  double seconds = 0;
};

template <class State, class Step, class Draw>
Curve train(State state, const Step& step, const Draw& draw, int steps) {
  Curve curve;
  const int tail = std::max(1, steps / 10);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    const auto data = draw();
    auto [next, value] = step(state, data.first, data.second);
    state = next;
    if (i >= steps - tail) curve.last += value.item() / tail;
  }
  curve.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
  curve.peak = step.plan().peak();
  const auto data = draw();
  const td::GradientError error = step.gradient_error(state, data.first, data.second);
  curve.gradient_error = error.largest;
  for (const td::LossyValue& value : error.values) {
    curve.plain = curve.plain + value.plain;
    curve.small = curve.small + value.small;
  }
  return curve;
}

// `init(seed)` makes a model, `data(seed)` a source of batches.
template <class Init, class Loss, class Data>
void compare(const std::string& name, const Init& init, const Loss& loss, const Data& data, int steps) {
  const td::optim::AdamW adamw{.lr = 1e-3};
  fmt::print("{}, {} steps, means of the last tenth\n", name, steps);
  for (int seed = 0; seed < seeds; ++seed) {
    const auto exact = td::compile(td::optim::step(adamw, loss), {.donate = {0}});
    const Curve right = train(adamw.init(init(seed)), exact, data(seed), steps);
    const auto [x, y] = data(seed)();
    const td::Bytes least = td::compile(td::optim::step(adamw, loss), {.lossy = eight_bits, .donate = {0}})
                                .smallest(adamw.init(init(seed)), x, y)
                                .memory;
    const td::Bytes budget =
        std::max(least, td::Bytes(static_cast<std::int64_t>(share * static_cast<double>(right.peak.count))));
    const auto lossy =
        td::compile(td::optim::step(adamw, loss), {.memory = budget, .lossy = eight_bits, .donate = {0}});
    const Curve close = train(adamw.init(init(seed)), lossy, data(seed), steps);
    fmt::print(
        "  seed {}: loss {:.4f} exact, {:.4f} lossy; peak {} → {} ({:.2f}x); compressed {} → {} ({:.2f}x); "
        "time {:.3f} of exact; error of a result {:.1e}\n",
        seed, right.last, close.last, to_string(right.peak), to_string(close.peak),
        static_cast<double>(right.peak.count) / static_cast<double>(close.peak.count), to_string(close.plain),
        to_string(close.small),
        static_cast<double>(close.plain.count) /
            static_cast<double>(std::max<std::int64_t>(1, close.small.count)),
        close.seconds / right.seconds, close.gradient_error);
    std::fflush(stdout);
  }
}

const auto classify = [](const auto& model, td::Tensor x, td::Tensor labels) {
  return td::nn::classification_loss(model(x), labels);
};

void gpt(int steps) {
  static constexpr std::int64_t vocabulary = 64, context = 64, rows = 16;
  const auto init = [](int seed) {
    return td::nn::Gpt::init(
        td::key(seed), {.layers = 4, .width = 128, .heads = 4, .vocabulary = vocabulary, .context = context});
  };
  const auto data = [](int seed) {
    return [text = std::make_shared<Text>(vocabulary, 1000 + static_cast<std::uint64_t>(seed))] {
      const td::Tensor all = text->batch(rows, context + 1);
      return std::pair(td::slice(all, {0, 0}, {rows, context}), td::slice(all, {0, 1}, {rows, context + 1}));
    };
  };
  compare(
      "GPT 4 x 128", init, [](const td::nn::Gpt& m, td::Tensor x, td::Tensor y) { return classify(m, x, y); },
      data, steps);
}

// Images are patterns of their class under noise of the same size.
void resnet(int steps) {
  static constexpr std::int64_t classes = 10, rows = 64, side = 16;
  const auto init = [](int seed) {
    return td::nn::ResNet::init(
        td::key(seed), {.depths = {1, 1, 1, 1}, .width = 16, .classes = classes, .small_images = true});
  };
  const auto data = [](int seed) {
    const td::Tensor patterns = td::random_normal(td::key(7), {classes, 3 * side * side});
    return [=, random = std::make_shared<std::mt19937_64>(2000 + static_cast<std::uint64_t>(seed))] {
      std::vector<std::int32_t> labels;
      for (std::int64_t r = 0; r < rows; ++r)
        labels.push_back(static_cast<std::int32_t>((*random)() % classes));
      const td::Tensor y = td::tensor(labels, {rows});
      const td::Tensor noise = td::random_normal(td::key(static_cast<std::int64_t>((*random)() >> 1)),
                                                 {rows, 3 * side * side}, 0, 2);
      return std::pair(td::reshape(td::take(patterns, y, 0) + noise, {rows, 3, side, side}), y);
    };
  };
  compare(
      "ResNet-10, width 16", init,
      [](const td::nn::ResNet& m, td::Tensor x, td::Tensor y) { return classify(m, x, y); }, data, steps);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string which = count > 1 ? arguments[1] : "all";
  const int steps = count > 2 ? std::atoi(arguments[2]) : 500;
  if (steps < 1 || (which != "gpt" && which != "resnet" && which != "all")) {
    fmt::print(stderr, "usage: lossy_training [gpt|resnet|all [STEPS]]\n");
    return 2;
  }
  if (which != "resnet") gpt(steps);
  if (which != "gpt") resnet(steps);
}
