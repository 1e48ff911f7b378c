// A GPT learns to write like a text, inside a budget of bytes. Given a folder, the run keeps checkpoints
// there: kill it at any moment, start it again, and it goes on to the same bits.
//
//   12_gpt_on_text --data FILE --memory 2GiB --steps 5000 --folder RUN --width 256 --layers 6 --context 256
//
// Without arguments it learns poems in a few seconds.
#include <fmt/core.h>

#include <filesystem>
#include <optional>

#include "examples/options.h"
#include "examples/verse.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;
namespace nn = tidemark::nn;
using namespace td::literals;

struct Settings {
  std::string data, folder;
  std::string device = "cpu";
  td::Bytes memory = 6_MiB;
  std::int64_t steps = 200, save_every = 50, batch = 8, context = 64, vocabulary = 256;
  std::int64_t layers = 2, width = 64, heads = 4, write = 120;
  double lr = 5e-3;
};

// Byte-pair encoding with so many tokens; 256 of them are the bytes, without any pair. What a folder has
// learned before stays as it is.
td::data::BpeTokenizer tokenizer_of(const Settings& s, const std::string& text) {
  if (s.folder.empty()) return td::data::BpeTokenizer::train(text, {.vocabulary = s.vocabulary});
  const std::string merges = s.folder + "/merges.txt";
  if (!std::filesystem::exists(merges)) {
    std::filesystem::create_directories(s.folder);
    td::data::BpeTokenizer::train(text, {.vocabulary = s.vocabulary}).save(merges);
  }
  return td::data::BpeTokenizer::load(merges);
}

td::Tensor loss(const nn::Gpt& model, td::Tensor tokens, td::Tensor next) { return model.loss(tokens, next); }

void train(const Settings& s) {
  const std::string text = text_or(s.data, verse);
  const auto tokenizer = tokenizer_of(s, text);
  const td::data::Tokens tokens = tokenizer.encode(text);
  const auto count = static_cast<std::int64_t>(tokens.size());
  td::data::Loader loader(td::data::windows(td::tensor(tokens, {count}), s.context, 1), {.batch = s.batch});

  const td::optim::AdamW adamw{
      .lr = td::optim::warmup(1 + s.steps / 10,
                              td::optim::cosine({.from = s.lr, .to = s.lr / 10, .steps = s.steps}))};
  auto state = adamw.init(nn::Gpt::init(td::key(0), {.layers = s.layers,
                                                     .width = s.width,
                                                     .heads = s.heads,
                                                     .vocabulary = tokenizer.vocabulary(),
                                                     .context = s.context}));
  const auto step = td::compile(td::optim::step(adamw, loss),
                                {.memory = s.memory, .donate = {0}, .device = td::device_named(s.device)});

  std::int64_t done = 0;
  std::optional<td::TrainingCheckpoints> checkpoints;
  std::optional<td::LogFile> log;
  if (!s.folder.empty()) {
    checkpoints.emplace(s.folder);
    log.emplace(s.folder + "/log.csv");
    if (const auto found = checkpoints->resume(state)) {
      done = found->step;
      loader.seek(*found->position);
      fmt::print("goes on behind step {} of {}\n", done, found->path);
    }
  }
  fmt::print("{} tokens, {} different ones\n", count, tokenizer.vocabulary());

  td::ProgressBar bar({.name = "train", .total = s.steps, .done = done});
  while (done < s.steps) {
    const td::Tensor window = loader.next();
    const auto [next, value] =
        step(state, window.at(td::all, td::Range{0, s.context}), window.at(td::all, td::Range{1}));
    state = next;
    ++done;
    bar.show("loss", value.item()).show(step);
    bar.advance();
    if (!checkpoints) continue;
    log->write({{"step", done}, {"loss", value.item()}, {"rate", adamw.lr.at(done - 1)}});
    if (done % s.save_every == 0 || done == s.steps)
      checkpoints->save(state, {.step = done, .position = loader.position()});
  }
  bar.finish();

  // Positions are learned for `context` tokens: the prompt and what follows it are no more.
  const std::int64_t written = std::min(s.write, s.context - 1);
  const td::Tensor begin = td::tensor(std::vector<std::int32_t>{tokens.front()}, {1, 1});
  const td::Tensor sample =
      nn::generate(state.parameters, begin, written, td::key(1), {.temperature = 0.7, .top = 40});
  td::data::Tokens said = {tokens.front()};
  for (const double token : sample.to_vector()) said.push_back(static_cast<std::int32_t>(token));
  fmt::print("it writes:\n{}\n", tokenizer.decode(said));
}

int main(int argc, char** argv) {
  Settings s;
  Options options("Trains a GPT on a text file, inside a budget, and lets it write.");
  options.add("--data", s.data, "a text file; none: poems")
      .add("--folder", s.folder, "for checkpoints and log.csv; a run that is there goes on; none: no files")
      .add("--device", s.device, "where a step runs: cpu, cuda, or cuda:1")
      .add("--memory", s.memory, "all that a training step may hold")
      .add("--steps", s.steps, "updates in all")
      .add("--save_every", s.save_every, "updates between checkpoints")
      .add("--vocabulary", s.vocabulary, "tokens of the byte-pair encoding; 256: bytes alone")
      .add("--context", s.context, "tokens that it sees at once")
      .add("--batch", s.batch, "windows of text in an update")
      .add("--layers", s.layers, "blocks")
      .add("--width", s.width, "numbers that stand for a token")
      .add("--heads", s.heads, "of the attention; they divide the width")
      .add("--lr", s.lr, "the highest rate of AdamW, behind a warm-up and before a cosine")
      .add("--write", s.write, "tokens of the sample, less than the context");
  return options.run(argc, argv, [&] { train(s); });
}
