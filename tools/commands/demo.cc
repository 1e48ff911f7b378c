#include "tools/commands/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tidemark/base/stopwatch.h"
#include "tidemark/nn/generate.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"
#include "tools/demo_text.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/options/budget_option.h"
#include "tools/options/device_option.h"
#include "tools/options/number_option.h"
#include "tools/report/print_figures.h"

namespace tidemark::cli {
namespace {

constexpr std::int64_t context = 64;
constexpr std::string_view prompt = "The Walrus and the Carpenter\n";  // what it goes on from
constexpr int compared_steps = 50;                                     // that run without a budget too
constexpr int profiled_steps = 32;                                     // the last ones, where they are

struct DemoOptions {
  int steps = 500;
  std::int64_t batch = 32;
  std::int64_t width = 128;
  std::string memory = "40%";
  bool memory_given = false;  // else a little more than the least is taken where that does not fit
  int threads = 0;
  DeviceOption device;
  bool json = false;
  std::string profile, trace;  // files
};

// A short rise, so that the first gradients do no harm, and a long fall, so that the last ones are made the
// most of.
optim::AdamW optimizer_for(int steps) {
  const int rising = std::clamp(steps / 4, 1, 40);
  return {.lr = optim::warmup(
              rising, optim::cosine({.from = 3e-3, .to = 3e-5, .steps = std::max(1, steps - rising)})),
          .beta2 = 0.99};
}

// The words of the text, each with the space before it, and all other characters, as tokens: what is
// written is made of words, however little was learnt.
class Words {
 public:
  explicit Words(std::string_view text) {
    for (const std::string_view piece : split(text)) {
      if (numbers_.emplace(piece, static_cast<std::int32_t>(pieces_.size())).second)
        pieces_.emplace_back(piece);
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(pieces_.size()); }
  std::vector<std::int32_t> tokens(std::string_view text) const {
    std::vector<std::int32_t> list;
    for (const std::string_view piece : split(text)) list.push_back(numbers_.at(std::string(piece)));
    return list;
  }
  const std::string& text(std::int32_t token) const { return pieces_[static_cast<std::size_t>(token)]; }

 private:
  static std::vector<std::string_view> split(std::string_view text) {
    const auto in_word = [&](std::size_t i) {
      return i < text.size() && (std::isalpha(static_cast<unsigned char>(text[i])) != 0 || text[i] == '\'');
    };
    std::vector<std::string_view> pieces;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i + 1;
      if (in_word(i) || (text[i] == ' ' && in_word(end))) {
        while (in_word(end)) ++end;
      }
      pieces.push_back(text.substr(i, end - i));
      i = end;
    }
    return pieces;
  }

  std::vector<std::string> pieces_;
  std::map<std::string, std::int32_t> numbers_;
};

struct Batch {
  Tensor tokens, next;  // (batch, context)
};
// Windows of the text, at places that the number of the step decides.
Batch batch_of(const Tensor& text, std::int64_t size, std::int64_t step) {
  const std::int64_t places = text.count() - context;
  const Tensor start = cast(
      floor(random_uniform(fold_in(key(5), step), {size, 1}, 0, static_cast<double>(places))), DType::i64);
  const Tensor at = start + arange(context, DType::i64);
  return {take(text, at, 0), take(text, at + 1, 0)};
}

Tensor loss_of(const nn::Gpt& model, const Tensor& tokens, const Tensor& next) {
  return model.loss(tokens, next);
}
using State = optim::AdamState<nn::Gpt>;

// Every step's loss and seconds; `bar` shows each. From step `recorded` on times are recorded for a profile.
struct Training {
  std::vector<float> losses;
  std::vector<double> seconds;
};
template <class Step>
Training train(const Step& step, State& state, const Tensor& text, std::int64_t batch, int steps,
               ProgressBar* bar, int recorded = -1) {
  Training training;
  for (int i = 0; i < steps; ++i) {
    if (i == recorded) step.record_profile();
    const Batch data = batch_of(text, batch, i);
    const Stopwatch watch;
    auto [next, loss] = step(state, data.tokens, data.next);
    state = next;
    training.losses.push_back(loss.template item<float>());
    training.seconds.push_back(watch.seconds());
    if (!bar) continue;
    bar->show("loss", training.losses.back()).show(step);
    bar->advance();
  }
  return training;
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// What the network writes behind the prompt, as far as its context goes, up to the end of a line.
std::string sample_text(const nn::Gpt& model, const Words& words, const std::shared_ptr<Device>& device) {
  const std::vector<std::int32_t> begin = words.tokens(prompt);
  const auto length = static_cast<std::int64_t>(begin.size());
  const auto write = compile(
      [length](const nn::Gpt& m, const Tensor& tokens, const Tensor& chance) {
        return nn::generate(m, tokens, context - length, chance, {.temperature = 0.4});
      },
      {.device = device});
  const Tensor written = write(model, tensor(begin, {1, length}), key(6));
  std::string text(prompt);
  for (const std::int32_t token : written.data<std::int32_t>()) text += words.text(token);
  return text.substr(0, text.rfind('\n'));
}

// Planned from types alone: what does not fit is known before anything is allocated.
void require_room(const Plan& plan, const DeviceOption& device) {
  if (plan.peak() <= device.memory()) return;
  throw DeviceError(
      ErrorCode::out_of_memory,
      {.what = fmt::format("the demo would need {} ({} bytes)", to_string(Bytes(plan.peak())), plan.peak()),
       .expected = fmt::format("at most the {} of this {}", to_string(Bytes(device.memory())),
                               device.is_cpu() ? "machine" : "GPU"),
       .help = "give a smaller --batch or --width"});
}

struct Figures {
  std::int64_t budget = 0, planned = 0, used = 0, smallest = 0, unconstrained = 0, store_all = 0;
  double predicted = 0, measured = 0;  // extra time, as a share
  int compared = 0;
  bool same_bits = false;
  double loss = 0, seconds = 0;
  std::string sample = {};
};

void print_report(const Figures& f) {
  const auto bytes = [](std::int64_t count) { return to_string(Bytes(count)); };
  fmt::print("\nWhat it writes now:\n\n{}\n\n", f.sample);
  fmt::print("budget            {:>12}\n", bytes(f.budget));
  fmt::print("memory planned    {:>12}\n", bytes(f.planned));
  fmt::print("memory used       {:>12}  {}\n", bytes(f.used),
             f.used == f.planned ? "as planned, to the byte" : "NOT as planned");
  fmt::print("smallest possible {:>12}\n", bytes(f.smallest));
  fmt::print("without a budget  {:>12}  {:.1f} times as much\n", bytes(f.unconstrained),
             static_cast<double>(f.unconstrained) / static_cast<double>(f.planned));
  fmt::print("store everything  {:>12}  {:.1f} times as much\n", bytes(f.store_all),
             static_cast<double>(f.store_all) / static_cast<double>(f.planned));
  fmt::print("extra time        {:>11.1f}%  predicted, {:.1f}% measured\n", 100 * f.predicted,
             100 * f.measured);
  fmt::print(
      "loss at step {:<4} {:>12}\n", f.compared,
      f.same_bits ? "the same as without a budget, to the last bit" : "NOT the same as without a budget");
}

void print_json(const Figures& f, const DemoOptions& options) {
  const nlohmann::json report = {{"steps", options.steps},
                                 {"device", options.device.text()},
                                 {"loss", f.loss},
                                 {"seconds", f.seconds},
                                 {"budget_bytes", f.budget},
                                 {"planned_bytes", f.planned},
                                 {"used_bytes", f.used},
                                 {"smallest_bytes", f.smallest},
                                 {"unconstrained_bytes", f.unconstrained},
                                 {"store_everything_bytes", f.store_all},
                                 {"extra_time_predicted", f.predicted},
                                 {"extra_time_measured", f.measured},
                                 {"compared_steps", f.compared},
                                 {"same_bits", f.same_bits},
                                 {"sample", f.sample}};
  print_figures(report);
}

// Opened before the training: a mistake costs no time.
class ProfileFiles {
 public:
  explicit ProfileFiles(const DemoOptions& options) {
    if (!options.profile.empty()) profile_.emplace(options.profile);
    if (!options.trace.empty()) trace_.emplace(options.trace);
  }
  bool any() const { return profile_ || trace_; }
  void write(const Profile& profile) {
    write(profile_, [&] { return to_json(profile); });
    write(trace_, [&] { return profile.to_trace(); });
  }

 private:
  template <class Text>
  static void write(std::optional<OutputFile>& file, const Text& text) {
    if (!file) return;
    file->write(text() + '\n');
    file->commit();
  }
  std::optional<OutputFile> profile_, trace_;
};

void run_demo(const DemoOptions& options) {
  const Budget asked = Budget::parse(options.memory);
  ProfileFiles files(options);
  set_threads(options.threads);
  const std::shared_ptr<Device> device = options.device.open();
  const Words words(demo_text);
  const optim::AdamW adamw = optimizer_for(options.steps);
  const nn::GptConfig config{.layers = 4,
                             .width = options.width,
                             .heads = options.width % 4 == 0 ? 4 : 1,
                             .vocabulary = words.size(),
                             .context = context};
  const auto initial_state = [&] { return adamw.init(nn::Gpt::init(key(1), config)); };
  const auto types = result_types(initial_state);
  const Tensor token_type = Tensor::of_type({DType::i32, {options.batch, context}});

  const auto free_step = compile(optim::step(adamw, loss_of), {.donate = {0}, .device = device});
  const PlannedGraph free_plan = free_step.prepare(types, token_type, token_type);
  require_room(free_plan.plan, options.device);
  Figures f{.unconstrained = free_plan.plan.peak(), .store_all = free_plan.plan.store_all_bytes};
  f.smallest = free_step.smallest(types, token_type, token_type).memory.count;
  f.budget = asked.bytes(f.unconstrained);
  if (!options.memory_given) {  // products of a GPU want workspaces: there the least is a larger share
    constexpr double room = 1.1;
    f.budget = std::max(f.budget, static_cast<std::int64_t>(room * static_cast<double>(f.smallest)));
  }
  const auto step =
      compile(optim::step(adamw, loss_of), {.memory = Bytes(f.budget), .donate = {0}, .device = device});
  const PlannedGraph planned = step.prepare(types, token_type, token_type);
  f.planned = planned.plan.peak();
  f.predicted = planned.plan.extra_time();

  const std::vector<std::int32_t> tokens = words.tokens(demo_text);
  const Tensor text = tensor(tokens, {static_cast<std::int64_t>(tokens.size())});
  if (!options.json) {
    fmt::print(
        "A GPT of 4 blocks of width {} learns to write from {} characters of verse ({} words and marks), {} "
        "steps of "
        "{} x {} of them, {}.\n\n{}\n",
        options.width, demo_text.size(), tokens.size(), options.steps, options.batch, context,
        options.device.text(), planned.summary());
    std::fflush(stdout);
  }
  const auto bar_of = [&](const char* name, int steps) -> std::unique_ptr<ProgressBar> {
    if (options.json) return nullptr;
    return std::make_unique<ProgressBar>(ProgressOptions{.name = name, .total = steps});
  };
  f.compared = std::min(compared_steps, options.steps);
  Training without;
  {
    State state = initial_state();
    const auto bar = bar_of("without a budget", f.compared);
    without = train(free_step, state, text, options.batch, f.compared, bar.get());
  }
  free_step.forget();  // its memory too
  State state = initial_state();
  Training within;
  {
    const auto bar = bar_of("within the budget", options.steps);
    const int recorded = files.any() ? std::max(0, options.steps - profiled_steps) : -1;
    within = train(step, state, text, options.batch, options.steps, bar.get(), recorded);
  }
  f.used = planned.plan.input_bytes + step.arena_high_water().count;
  f.same_bits = std::equal(without.losses.begin(), without.losses.end(), within.losses.begin());
  const auto compared = within.seconds.begin() + f.compared;
  f.measured = median({within.seconds.begin(), compared}) / median(without.seconds) - 1;
  f.loss = static_cast<double>(within.losses.back());
  for (const double seconds : within.seconds) f.seconds += seconds;
  f.sample = sample_text(state.parameters, words, device);
  if (options.json) {
    print_json(f, options);
  } else {
    print_report(f);
  }
  if (!files.any()) return;
  const Profile profile = step.profile();
  files.write(profile);
  if (!options.json) fmt::print("\n{}", profile.summary());
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* demo = app.add_subcommand("demo", "train a small GPT on built-in verse inside a memory budget");
  add_count_option(*demo, "--steps", options->steps, {1, 1'000'000}, "training steps")->default_str("500");
  add_count_option(*demo, "--batch", options->batch, {1, 10'000'000}, "windows of text per step")
      ->default_str("32");
  add_count_option(*demo, "--width", options->width, {1, 65'536}, "numbers for each token inside the network")
      ->default_str("128");
  CLI::Option* const memory =
      demo->add_option("--memory", options->memory,
                       "the budget: bytes such as 40MiB, or a share of what it takes without a budget (40%)")
          ->type_name("BYTES|SHARE%")
          ->default_str("40%, or a tenth more than the least where that does not fit");
  add_count_option(*demo, "--threads", options->threads, {0, 1024}, "threads that compute; 0: all cores")
      ->default_str("0");
  add_device_option(*demo, options->device, "where it runs");
  add_text_option(*demo, "--profile", options->profile,
                  "write what the last 32 steps took, kernel by kernel, to this file")
      ->type_name("FILE")
      ->default_str("none");
  add_text_option(*demo, "--trace", options->trace, "the same for chrome://tracing and ui.perfetto.dev")
      ->type_name("FILE")
      ->default_str("none");
  demo->add_flag("--json", options->json, "a report as JSON, nothing else");
  describe(*demo, {.about = "Trains a small GPT for some steps inside a budget and shows the plan, a sample "
                            "of what it writes, the "
                            "memory used beside the memory planned, the extra time predicted and measured, "
                            "and that the losses "
                            "have the bits of a run without a budget.",
                   .examples = {{"tidemark demo", "about half a minute on two cores"},
                                {"tidemark demo --memory 30MiB --steps 100", "another budget, fewer steps"},
                                {"tidemark demo --device cuda", "on a GPU"}},
                   .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input}});
  demo->callback([options, memory, &exit_code] {
    options->memory_given = memory->count() > 0;
    run_demo(*options);
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
