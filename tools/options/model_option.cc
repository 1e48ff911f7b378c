#include "tools/options/model_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/spelling.h"
#include "tidemark/ir/parse.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/split_batch.h"
#include "tools/options/number_option.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

// A step for the whole batch, cut along what is smaller in that of a micro-batch.
Graph split_step(const Graph& full, const Graph& small, std::int64_t count) {
  std::vector<bool> batched;
  for (std::size_t i = 0; i < full.inputs().size() && i < small.inputs().size(); ++i)
    batched.push_back(full.type(full.inputs()[i].value) != small.type(small.inputs()[i].value));
  return split_batch({.full = full, .small = small, .batched = batched, .parts = count, .where = {}},
                     find_op);
}

}  // namespace

ModelKind ModelOption::kind() const {
  if (nn::find_in_zoo(model) != nullptr) return ModelKind::built_in;
  std::error_code status;
  if (std::filesystem::exists(model, status) && !std::filesystem::is_directory(model, status))
    return model.ends_with(".json") ? ModelKind::dag_file : ModelKind::graph_file;
  std::vector<std::string_view> names;
  for (const nn::ZooModel& known : nn::zoo()) names.push_back(known.name);
  const std::string meant = nearest_name(model, names);
  fail(ErrorCode::bad_file,
       {.what = fmt::format("'{}' is neither a file nor a built-in model", model),
        .expected = fmt::format("a .dag.json or .ir file, or one of {}", fmt::join(names, ", ")),
        .help = meant.empty() ? "" : fmt::format("did you mean '{}'?", meant)});
}

std::optional<std::int64_t>& ModelOption::size(nn::ZooAxis axis) {
  std::optional<std::int64_t>* const sizes[] = {&batch, &context, &width, &layers};
  return *sizes[static_cast<std::size_t>(axis)];
}

Graph ModelOption::load() const {
  if (const nn::ZooModel* known = nn::find_in_zoo(model)) {
    nn::ZooOptions options{.batch = batch.value_or(known->batch),
                           .context = context,
                           .layers = layers,
                           .width = width,
                           .dtype = dtype_named(dtype),
                           .optimizer = nn::optimizer_named(optimizer)};
    Graph full = known->training_step(options);
    if (split == 1) return full;
    if (*options.batch % split != 0) {
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("--split {}: it does not divide the batch of {}", split, *options.batch),
            .help = "give another --batch, or --split automatic"});
    }
    options.batch = *options.batch / split;
    return split_step(full, known->training_step(options), split);
  }
  return parse(read_text(model, "a graph"), {.find = find_op, .nearest = nearest_op}, model);
}

void add_model_options(CLI::App& command, ModelOption& option) {
  const std::string of_model = "the model's own";
  std::string names;
  for (const nn::ZooModel& model : nn::zoo()) names += fmt::format("\n  {:<12} {}", model.name, model.about);
  command.footer("Built-in models:" + names);
  command.add_option("model", option.model, "a .dag.json or .ir file, or the name of a built-in model")
      ->required()
      ->type_name("MODEL");
  add_count_option(command, "--batch", option.batch, {1, 1 << 20}, "examples in a batch of a built-in model")
      ->default_str(of_model);
  add_count_option(command, "--context", option.context, {1, 1 << 20},
                   "tokens of a built-in model's examples, pixels of a side, or steps")
      ->default_str(of_model);
  add_count_option(command, "--width", option.width, {1, 1 << 20},
                   "channels of a built-in model's layers; heads keep their width")
      ->default_str(of_model);
  add_count_option(command, "--layers", option.layers, {1, 1 << 20}, "layers of a built-in model, or blocks")
      ->default_str(of_model);
  command.add_option("--dtype", option.dtype, "dtype of a built-in model's parameters and activations")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->default_str(of_model);
  command
      .add_option("--optimizer", option.optimizer,
                  "of a built-in model's training step; none: gradients only")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(nn::optimizer_names), std::end(nn::optimizer_names))))
      ->default_str(of_model);
}

void refuse_options(const CLI::App& command, std::initializer_list<const char*> names,
                    std::string_view subject) {
  for (const char* name : names) {
    if (command.count(name) > 0)
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("{} has no effect on {}", name, subject),
            .help = fmt::format("leave it out, or see `tidemark {} --help`", command.get_name())});
  }
}

}  // namespace tidemark::cli
