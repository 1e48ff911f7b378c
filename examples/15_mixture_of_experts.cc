// A language model in which every token visits two of eight experts. Most of the parameters are theirs, so
// what a step holds is mostly parameters and moments; the budget says how much else may be kept.
//
//   15_mixture_of_experts --data FILE --memory 64MiB --steps 1000 --folder RUN
//
// Without arguments it learns poems in a few seconds.
#include <fmt/core.h>

#include "examples/options.h"
#include "examples/run_folder.h"
#include "examples/verse.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;
namespace nn = tidemark::nn;
using namespace td::literals;

struct Settings {
  std::string data, folder;
  std::string device = "cpu";
  td::Bytes memory = 4_MiB;
  std::int64_t steps = 100, save_every = 50, batch = 8, context = 48, layers = 2, width = 32, experts = 8,
               top = 2;
  double lr = 5e-3;
};

td::Tensor loss(const nn::Moe& model, td::Tensor tokens, td::Tensor next) { return model.loss(tokens, next); }

std::int64_t size_of(const nn::Moe& model) {
  std::int64_t count = 0;
  for (const td::Tensor& tensor : td::tensors_of(model)) count += tensor.count();
  return count;
}

void train(const Settings& s) {
  const td::data::Tokens tokens = td::data::ByteTokenizer::encode(text_or(s.data, verse));
  const auto count = static_cast<std::int64_t>(tokens.size());
  td::data::Loader loader(td::data::windows(td::tensor(tokens, {count}), s.context, 1), {.batch = s.batch});

  const td::optim::AdamW adamw{.lr = td::optim::cosine({.from = s.lr, .to = s.lr / 10, .steps = s.steps})};
  const nn::MoeConfig config{.layers = s.layers,
                             .width = s.width,
                             .heads = 4,
                             .kv_heads = 2,
                             .hidden = 2 * s.width,
                             .vocabulary = td::data::ByteTokenizer::vocabulary,
                             .experts = s.experts,
                             .top = s.top};
  auto state = adamw.init(nn::Moe::init(td::key(0), config));
  const auto step = td::compile(td::optim::step(adamw, loss),
                                {.memory = s.memory, .donate = {0}, .device = td::device_named(s.device)});

  const RunFolder folder(s.folder);
  std::int64_t done = folder.resume(state, loader);
  nn::MoeConfig one = config;
  one.experts = one.top = 1;
  fmt::print("{} parameters; with one expert there would be {}\n", size_of(state.parameters),
             size_of(nn::Moe::init(td::key(0), one)));

  td::ProgressBar bar({.name = "train", .total = s.steps, .done = done});
  const auto inputs = [&](const td::Tensor& window) { return window.at(td::all, td::Range{0, s.context}); };
  while (done < s.steps) {
    const td::Tensor window = loader.next();
    const auto [next, value] = step(state, inputs(window), window.at(td::all, td::Range{1}));
    state = next;
    ++done;
    bar.show("loss", value.item()).show(step);
    bar.advance();
    if (done % s.save_every == 0 || done == s.steps) folder.save(state, loader, done);
  }
  bar.finish();

  const td::Tensor window = loader.next();
  const auto [logits, balance] = state.parameters(inputs(window));
  const double entropy = nn::classification_loss(logits, window.at(td::all, td::Range{1})).item();
  fmt::print(
      "a byte seems to be one of {:.1f}; the load of the experts is {:.2f} (1: all have as much to do)\n",
      td::perplexity(entropy), balance.item());
}

int main(int argc, char** argv) {
  Settings s;
  Options options("Trains a sparse mixture of experts on a text, byte by byte, inside a budget.");
  options.add("--data", s.data, "a text file; none: poems")
      .add("--folder", s.folder, "for checkpoints; a run that is there goes on; none: no files")
      .add("--device", s.device, "where a step runs: cpu, cuda, or cuda:1")
      .add("--memory", s.memory, "all that a training step may hold")
      .add("--steps", s.steps, "updates in all")
      .add("--save_every", s.save_every, "updates between checkpoints")
      .add("--batch", s.batch, "windows of text in an update")
      .add("--context", s.context, "bytes that it sees at once")
      .add("--layers", s.layers, "blocks")
      .add("--width", s.width, "numbers that stand for a byte; a multiple of 8")
      .add("--experts", s.experts, "in every block")
      .add("--top", s.top, "experts that a token visits")
      .add("--lr", s.lr, "the first rate of AdamW");
  return options.run(argc, argv, [&] { train(s); });
}
