// A language model becomes a judge of which of two texts a line is from, of its language, say. Its weights
// come from a file, a new head is trained from nothing, the last block a little, and the rest is frozen.
//
//   17_fine_tuning --weights RUN/checkpoint-000000000200.safetensors --first FILE --second FILE
// where RUN is a folder of 12_gpt_on_text. Without --weights it first trains such a model and writes a file.
#include <fmt/core.h>

#include "examples/options.h"
#include "examples/run_folder.h"
#include "examples/verse.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;
namespace nn = tidemark::nn;

struct Settings {
  std::string weights, first, second, folder;
  std::string device = "cpu";
  std::int64_t steps = 100, length = 40;
};
// The size that 12_gpt_on_text has by default.
constexpr nn::GptConfig size{.layers = 2, .width = 64, .heads = 4, .vocabulary = 256, .context = 64};

std::string pretrained(
    const std::shared_ptr<td::Device>& device) {  // what 12_gpt_on_text does, without its comforts
  const td::data::Tokens text = td::data::ByteTokenizer::encode(verse);
  const td::Tensor tokens = td::tensor(text, {static_cast<std::int64_t>(text.size())});
  td::data::Loader loader(td::data::windows(tokens, size.context, 1), {.batch = 8});
  const td::optim::AdamW adamw{.lr = 5e-3};
  const auto loss = [](const nn::Gpt& model, td::Tensor window) {
    return model.loss(window.at(td::all, td::Range{0, size.context}), window.at(td::all, td::Range{1}));
  };
  const auto step = td::compile(td::optim::step(adamw, loss), {.donate = {0}, .device = device});
  auto state = adamw.init(nn::Gpt::init(td::key(0), size));
  td::ProgressBar bar({.name = "language", .total = 150});
  for (int i = 0; i < 150; ++i) {
    auto [next, value] = step(state, loader.next());
    state = next;
    bar.show("loss", value.item()).advance();
  }
  td::save("17_fine_tuning.safetensors", state);
  return "17_fine_tuning.safetensors";
}

struct Judge {
  nn::Gpt body;
  nn::Linear head;
  TM_FIELDS(Judge, body, head)
};
td::Tensor logits(const Judge& judge, const td::Tensor& tokens) {  // (B, T) → (B, 2)
  return judge.head(td::mean(judge.body.hidden(tokens), {1}));
}

// Lines (N, length) of two texts, and which of them each is from (N).
std::pair<td::Tensor, td::Tensor> lines_of(const std::string& first, const std::string& second,
                                           std::int64_t length) {
  std::vector<td::Tensor> lines, labels;
  for (const std::string& text : {first, second}) {
    const auto size = static_cast<std::int64_t>(text.size()), count = (size - length) / 5;
    if (count < 1) throw std::runtime_error("a text is too short for lines of this length");
    const td::Tensor at = td::reshape(td::arange(count) * 5, {count, 1}) + td::arange(length);
    lines.push_back(td::take(td::tensor(td::data::ByteTokenizer::encode(text), {size}), at, 0));
    labels.push_back(td::full({count}, labels.empty() ? 0 : 1, td::DType::i32));
  }
  return {td::concat(lines, 0), td::concat(labels, 0)};
}

void tune(const Settings& s) {
  const std::shared_ptr<td::Device> device = td::device_named(s.device);
  const std::string first = text_or(s.first, verse), second = text_or(s.second, dante);
  const std::size_t end1 = first.size() * 4 / 5, end2 = second.size() * 4 / 5;  // the rest is for the exam
  const auto known = lines_of(first.substr(0, end1), second.substr(0, end2), s.length);
  const auto [lines, authors] = lines_of(first.substr(end1), second.substr(end2), s.length);
  td::data::Loader loader(td::data::arrays(known), {.batch = 16});

  // The file is the state of an optimizer: `parameters.…` are the weights, and its moments are not wanted.
  Judge judge{nn::Gpt::init(td::key(0), size), nn::Linear::init(td::key(1), size.width, 2)};
  const std::string file = s.weights.empty() ? pretrained(device) : s.weights;
  const td::LoadOptions some{.strict = false, .skip = {"head.*"}, .names = {{"body.*", "parameters.*"}}};
  const td::LoadReport report = td::load(file, judge, some);
  if (!report.missing.empty()) throw std::runtime_error("the file lacks weights: " + to_string(report));
  fmt::print("{}\n", to_string(report));

  const td::optim::AdamW adamw{.lr = 1e-2,  // the head's
                               .groups = {{.pattern = "body.*", .lr = 1e-3},
                                          {.pattern = "body.*_table", .frozen = true},
                                          {.pattern = "body.blocks.0.*", .frozen = true}}};
  const auto loss = [](const Judge& model, td::Tensor tokens, td::Tensor labels) {
    return nn::classification_loss(logits(model, tokens), labels);
  };
  auto state = adamw.init(judge);
  const auto step = td::compile(td::optim::step(adamw, loss), {.device = device});
  const RunFolder folder(s.folder);
  std::int64_t done = folder.resume(state, loader);
  td::ProgressBar bar({.name = "judge", .total = s.steps, .done = done});
  while (done < s.steps) {
    const auto [tokens, labels] = loader.next();
    const auto [next, value] = step(state, tokens, labels);
    state = next;
    bar.show("loss", value.item()).show(step).advance();
    if (++done % 20 == 0 || done == s.steps) folder.save(state, loader, done);
  }
  bar.finish();

  const Judge& tuned = state.parameters;
  fmt::print("{:.0f}% of lines that it has not seen are told right; the frozen table is as it was: {}\n",
             100 * td::accuracy(logits(tuned, lines), authors).item(),
             tuned.body.token_table.to_vector() == judge.body.token_table.to_vector());
}

int main(int argc, char** argv) {
  Settings s;
  Options options("Turns a language model into a judge of which of two texts a line is from.");
  options.add("--weights", s.weights, "a checkpoint of 12_gpt_on_text of the default size; none: one is made")
      .add("--first", s.first, "a text file; none: English verse")
      .add("--second", s.second, "another; none: Italian verse")
      .add("--folder", s.folder, "for checkpoints; a run that is there goes on; none: no files")
      .add("--device", s.device, "where a step runs: cpu, cuda, or cuda:1")
      .add("--steps", s.steps, "updates in all")
      .add("--length", s.length, "bytes of a line, at most 64");
  return options.run(argc, argv, [&] { tune(s); });
}
