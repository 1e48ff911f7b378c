#include "tools/commands/demo.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tidemark/base/aligned.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"
#include "tools/exit_code.h"
#include "tools/options/number_option.h"
#include "tools/report/progress.h"
#include "tools/spirals.h"

namespace tidemark::cli {
namespace {

struct DemoOptions {
  int steps = 300;
  std::int64_t batch = 3072;
  std::int64_t width = 256;
  int threads = 0;
  bool json = false;
};

// What training changes: the network and the running means of gradients (momentum).
struct State {
  nn::Mlp model, momentum;
  TM_FIELDS(State, model, momentum)
};
struct Stats {
  Tensor loss, accuracy;
  TM_FIELDS(Stats, loss, accuracy)
};

std::pair<State, Stats> train_step(const State& state, Tensor points, Tensor labels) {
  const auto loss = [](const nn::Mlp& model, Tensor x, Tensor y) {
    const Tensor logits = model(x);
    const Tensor right = mean(cast(argmax(logits, 1) == cast(y, DType::i64), DType::f32));
    return std::pair(nn::classification_loss(logits, y), right);
  };
  const auto [values, gradients] = value_and_grad(loss)(state.model, points, labels);
  State next;
  next.momentum =
      map_tree([](const Tensor& m, const Tensor& g) { return m * 0.9 + g; }, state.momentum, gradients);
  next.model =
      map_tree([](const Tensor& w, const Tensor& m) { return w - m * 0.05; }, state.model, next.momentum);
  return {next, {values.first, values.second}};
}

// What the network thinks of the square [-1, 1]²: one letter per cell.
std::string decision_map(const nn::Mlp& model) {
  constexpr std::int64_t columns = 56, rows = 26;
  const Tensor x = broadcast(linspace(-1, 1, columns), {rows, columns});
  const Tensor y = broadcast(reshape(linspace(1, -1, rows), {rows, 1}), {rows, columns});
  const Tensor points = stack({reshape(x, {-1}), reshape(y, {-1})}, 1);
  const std::vector<double> classes = argmax(model(points), 1).to_vector();
  std::string picture;
  for (std::int64_t r = 0; r < rows; ++r) {
    picture += "    ";
    for (std::int64_t c = 0; c < columns; ++c) {
      picture += ".o#"[static_cast<std::size_t>(classes[static_cast<std::size_t>(r * columns + c)])];
    }
    picture += '\n';
  }
  return picture;
}

// Planned from types alone: what does not fit is known before anything is allocated.
void require_room(const Plan& plan) {
  if (plan.peak() <= machine_memory()) return;
  throw DeviceError(
      ErrorCode::out_of_memory,
      {.what = fmt::format("the demo would need {} ({} bytes)", to_string(Bytes(plan.peak())), plan.peak()),
       .expected = fmt::format("at most the {} of this machine", to_string(Bytes(machine_memory()))),
       .help = "give a smaller --batch or --width"});
}

void run_demo(const DemoOptions& options) {
  set_threads(options.threads);
  const auto initial_state = [&] {
    State state;
    state.model = nn::Mlp::init(key(1), {2, options.width, options.width, options.width, spiral_classes});
    state.momentum = map_tree([](const Tensor& w) { return zeros_like(w); }, state.model);
    return state;
  };
  const auto step = compile(train_step, {.donate = {0}});
  const PlannedGraph planned =
      step.prepare(result_types(initial_state), Tensor::of_type({DType::f32, {options.batch, 2}}),
                   Tensor::of_type({DType::i32, {options.batch}}));
  const Plan& plan = planned.plan;
  require_room(plan);
  const Spirals data = make_spirals(options.batch, 7);
  State state = initial_state();
  if (!options.json) {
    fmt::print("A network 2-{0}-{0}-{0}-{1} learns three spirals: {2} points, {3} steps.\n\n", options.width,
               spiral_classes, options.batch, options.steps);
    fmt::print("{}\n", planned.summary());
    std::fflush(stdout);
  }

  Progress progress(options.steps);
  const Stopwatch watch;
  double loss = 0, accuracy = 0;
  for (int i = 1; i <= options.steps; ++i) {
    auto [next, stats] = step(state, data.points, data.labels);
    state = next;
    loss = stats.loss.item();
    accuracy = stats.accuracy.item();
    const double seconds = watch.seconds();
    if (!options.json) {
      progress.show(
          i, fmt::format("loss {:.4f}  right {:5.1f}%  {:.0f} steps/s  memory {}", loss, 100 * accuracy,
                         i / seconds, to_string(Bytes(plan.input_bytes) + step.arena_high_water())));
    }
  }
  const double seconds = watch.seconds();
  const std::int64_t used = plan.input_bytes + step.arena_high_water().count;
  if (options.json) {
    const nlohmann::json report = {{"steps", options.steps},
                                   {"loss", loss},
                                   {"accuracy", accuracy},
                                   {"seconds", seconds},
                                   {"planned_bytes", plan.peak()},
                                   {"used_bytes", used},
                                   {"lower_bound_bytes", plan.lower_bound},
                                   {"store_everything_bytes", plan.store_all_bytes}};
    fmt::print("{}\n", report.dump(2));
    return;
  }
  fmt::print("\nWhat it learned:\n\n{}\n", decision_map(state.model));
  fmt::print("memory planned    {:>12}\n", to_string(Bytes(plan.peak())));
  fmt::print("memory used       {:>12}  {}\n", to_string(Bytes(used)),
             used == plan.peak() ? "as planned, to the byte" : "");
  fmt::print("store everything  {:>12}  {:.1f} times as much\n", to_string(Bytes(plan.store_all_bytes)),
             static_cast<double>(plan.store_all_bytes) / static_cast<double>(plan.peak()));
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* demo = app.add_subcommand("demo", "train a small network and show its memory plan");
  add_count_option(*demo, "--steps", options->steps, {1, 1'000'000}, "training steps; 300 if not given");
  add_count_option(*demo, "--batch", options->batch, {3, 10'000'000}, "points per step; 3072 if not given");
  add_count_option(*demo, "--width", options->width, {1, 65'536}, "of the hidden layers; 256 if not given");
  add_count_option(*demo, "--threads", options->threads, {0, 1024}, "0, if not given: all cores");
  demo->add_flag("--json", options->json, "a report as JSON, nothing else");
  demo->callback([options, &exit_code] {
    run_demo(*options);
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
