// A language model of our own out of parts: an embedding, two LSTM layers and a linear layer. Each LSTM is
// one `scan`, so that the graph does not grow with the text, and inside a budget its states are kept or
// computed again, as few of them as possible.
//
//   16_lstm_language_model --data FILE --memory 64MiB --context 512 --width 128 --steps 1000 --folder RUN
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
  td::Bytes memory = 3_MiB;
  std::int64_t steps = 200, save_every = 50, batch = 8, context = 64, width = 48, write = 120;
  double lr = 1e-2;
};

struct Model {
  nn::Embedding embedding;
  std::vector<nn::LstmLayer> layers;
  nn::Linear head;
  TM_FIELDS(Model, embedding, layers, head)

  using Memory = std::vector<nn::LstmState>;  // of each layer

  static Model init(const td::Tensor& key, std::int64_t width) {
    constexpr std::int64_t bytes = td::data::ByteTokenizer::vocabulary;
    const auto keys = td::split_key(key, 4);
    return {nn::Embedding::init(keys[0], bytes, width),
            {nn::LstmLayer::init(keys[1], width, width), nn::LstmLayer::init(keys[2], width, width)},
            nn::Linear::init(keys[3], width, bytes)};
  }
  Memory start(std::int64_t batch) const { return {layers[0].start(batch), layers[1].start(batch)}; }

  // Tokens (T, B) → logits (T, B, 256), and what it remembers behind the last.
  std::pair<td::Tensor, Memory> operator()(const td::Tensor& tokens, Memory memory) const {
    td::Tensor x = embedding(tokens);
    for (std::size_t i = 0; i < layers.size(); ++i) std::tie(x, memory[i]) = layers[i].scanned(x, memory[i]);
    return {head(x), memory};
  }
};

td::Tensor loss(const Model& model, td::Tensor window) {  // (B, context + 1)
  const td::Tensor text = td::transpose(window);
  const td::Tensor tokens = text.at(td::Range{0, text.size(0) - 1});
  return nn::classification_loss(model(tokens, model.start(tokens.size(1))).first, text.at(td::Range{1}));
}

// Token by token, each drawn from what the model holds likely: a scan, too.
struct Writing {
  Model::Memory memory;
  td::Tensor last, key;  // last: the token written last, (1)
  TM_FIELDS(Writing, memory, last, key)
};
std::string written(const Model& model, char first, std::int64_t count) {
  const auto write = [&](const Writing& before, const td::Tensor&) {
    const auto keys = td::split_key(before.key, 2);
    const auto [logits, memory] = model(td::reshape(before.last, {1, 1}), before.memory);
    const td::Tensor token = nn::sample(logits.at(0), keys[0], {.temperature = 0.5});
    return std::pair(Writing{memory, token, keys[1]}, token);
  };
  const td::Tensor begin = td::tensor({std::int64_t{static_cast<unsigned char>(first)}});
  std::string text(1, first);
  for (const double token :
       td::scan(write, Writing{model.start(1), begin, td::key(1)}, td::arange(count)).second.to_vector())
    text += static_cast<char>(static_cast<unsigned char>(token));
  return text;
}

void train(const Settings& s) {
  const std::string text = text_or(s.data, verse);
  const td::Tensor tokens =
      td::tensor(td::data::ByteTokenizer::encode(text), {static_cast<std::int64_t>(text.size())});
  td::data::Loader loader(td::data::windows(tokens, s.context, 1), {.batch = s.batch});
  const auto optimizer = td::optim::clip_norm(1.0, td::optim::AdamW{.lr = s.lr});
  auto state = optimizer.init(Model::init(td::key(0), s.width));
  const auto step = td::compile(td::optim::step(optimizer, loss),
                                {.memory = s.memory, .donate = {0}, .device = td::device_named(s.device)});

  const RunFolder folder(s.folder);
  std::int64_t done = folder.resume(state, loader);
  td::ProgressBar bar({.name = "train", .total = s.steps, .done = done});
  while (done < s.steps) {
    const auto [next, value] = step(state, loader.next());
    state = next;
    ++done;
    bar.show("loss", value.item()).show(step);
    bar.advance();
    if (done % s.save_every == 0 || done == s.steps) folder.save(state, loader, done);
  }
  bar.finish();
  fmt::print("it writes:\n{}\n", written(state.parameters, text.front(), s.write));
}

int main(int argc, char** argv) {
  Settings s;
  Options options("Trains an LSTM on a text, byte by byte, inside a budget, and lets it write.");
  options.add("--data", s.data, "a text file; none: poems")
      .add("--folder", s.folder, "for checkpoints; a run that is there goes on; none: no files")
      .add("--device", s.device, "where a step runs: cpu, cuda, or cuda:1")
      .add("--memory", s.memory, "all that a training step may hold")
      .add("--steps", s.steps, "updates in all")
      .add("--save_every", s.save_every, "updates between checkpoints")
      .add("--batch", s.batch, "windows of text in an update")
      .add("--context", s.context, "bytes of a window")
      .add("--width", s.width, "numbers that a layer remembers")
      .add("--lr", s.lr, "the rate of AdamW")
      .add("--write", s.write, "bytes of the sample");
  return options.run(argc, argv, [&] { train(s); });
}
