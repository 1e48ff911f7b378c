// A small GPT trained by AdamW: the loss of every step, and the weights as files, for compare_gpt_curve.py,
// which has PyTorch take the same way.
//
//   gpt_curve train FOLDER f32|f64 STEPS   writes start, tokens and ours.safetensors to FOLDER
//   gpt_curve judge FOLDER f32|f64 FILE    the loss of the weights in FOLDER/FILE on the last batch
//
// Prints JSON: {"losses": […], "last": the loss of the trained weights on the last batch}; judge only the
// latter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tidemark/base/philox.h"
#include "tidemark/nn/gpt.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

constexpr nn::GptConfig config{.layers = 2, .width = 64, .heads = 4, .vocabulary = 64, .context = 32};
constexpr std::int64_t batch = 8;

// Each token leaves four to choose from, so that there is something to learn and something that cannot be:
// (steps, batch, context + 1).
Tensor draw_tokens(std::int64_t steps) {
  std::vector<std::int64_t> tokens;
  const Philox random{7};
  for (std::int64_t row = 0; row < steps * batch; ++row) {
    std::int64_t token = random(tokens.size())[1] % config.vocabulary;
    for (std::int64_t t = 0; t <= config.context; ++t) {
      tokens.push_back(token);
      token = (5 * token + random(tokens.size())[0] % 4) % config.vocabulary;
    }
  }
  return tensor(tokens, {steps, batch, config.context + 1});
}

nn::Gpt initial(DType dtype) {
  return map_tree([&](const Tensor& t) { return cast(t, dtype); }, nn::Gpt::init(key(1), config));
}

Tensor loss(const nn::Gpt& model, const Tensor& tokens) {
  return model.loss(tokens.at(all, Range{0, config.context}), tokens.at(all, Range{1, config.context + 1}));
}

double last_loss(const nn::Gpt& model, const Tensor& tokens) {
  return compile(loss)(model, tokens.at(tokens.size(0) - 1)).item();
}

void train(const std::string& folder, DType dtype, std::int64_t steps) {
  const optim::AdamW adamw{.lr = 1e-3};
  const Tensor tokens = draw_tokens(steps);
  auto state = adamw.init(initial(dtype));
  save(folder + "/start.safetensors", state.parameters);
  save(folder + "/tokens.safetensors", tokens);
  const auto step = compile(optim::step(adamw, loss), {.donate = {0}});
  std::vector<std::string> losses;
  for (std::int64_t t = 0; t < steps; ++t) {
    auto [next, value] = step(state, tokens.at(t));
    state = next;
    losses.push_back(fmt::format("{:.17g}", value.item()));
  }
  save(folder + "/ours.safetensors", state.parameters);
  fmt::print("{{\"losses\": [{}], \"last\": {:.17g}}}\n", fmt::join(losses, ", "),
             last_loss(state.parameters, tokens));
}

void judge(const std::string& folder, DType dtype, const std::string& file) {
  nn::Gpt model = initial(dtype);
  load(folder + "/" + file, model);
  const Tensor tokens = load(folder + "/tokens.safetensors").at("tensor");
  fmt::print("{{\"last\": {:.17g}}}\n", last_loss(model, tokens));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 5 ? argv[1] : "";
  if (what != "train" && what != "judge") {
    std::cerr << "usage: gpt_curve train FOLDER f32|f64 STEPS | judge FOLDER f32|f64 FILE\n";
    return 2;
  }
  try {
    const DType dtype = std::strcmp(argv[3], "f64") == 0 ? DType::f64 : DType::f32;
    if (what == "train") {
      train(argv[2], dtype, std::atoll(argv[4]));
    } else {
      judge(argv[2], dtype, argv[4]);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
