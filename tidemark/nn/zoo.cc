#include "tidemark/nn/zoo.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

namespace tidemark::nn {
namespace {

constexpr std::int64_t most_examples = 1 << 20;

[[noreturn]] void refuse(const ZooModel& model, const std::string& what, const std::string& expected) {
  fail(ErrorCode::bad_plan_option, {.what = fmt::format("{}: {}", model.name, what), .expected = expected});
}

std::int64_t chosen_context(const ZooModel& model, const ZooOptions& options) {
  const ZooContext& context = model.context;
  if (!options.context) return context.standard;
  const std::int64_t size = *options.context;
  if (context.unit.empty()) {
    refuse(model, fmt::format("a context of {}", size), "no context: this model has one size of example");
  }
  if (size < context.least || size > context.most || size % context.multiple_of != 0) {
    refuse(
        model, fmt::format("a context of {} {}", size, context.unit),
        fmt::format("{} to {} {}{}", context.least, context.most, context.unit,
                    context.multiple_of == 1 ? "" : fmt::format(", a multiple of {}", context.multiple_of)));
  }
  return size;
}

std::int64_t chosen_batch(const ZooModel& model, const ZooOptions& options) {
  const std::int64_t batch = options.batch.value_or(model.batch);
  if (batch < 1 || batch > most_examples) {
    refuse(model, fmt::format("a batch of {}", batch), fmt::format("1 to {} examples", most_examples));
  }
  return batch;
}

DType chosen_dtype(const ZooModel& model, const ZooOptions& options) {
  const DType dtype = options.dtype.value_or(model.dtype);
  if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16) {
    refuse(model, fmt::format("parameters of {}", name_of(dtype)), "f32, bf16 or f16");
  }
  return dtype;
}

}  // namespace

Graph ZooModel::training_step(const ZooOptions& options) const {
  const ZooSizes sizes{.batch = chosen_batch(*this, options),
                       .context = chosen_context(*this, options),
                       .dtype = chosen_dtype(*this, options)};
  Graph graph = nn::training_step(loss(sizes), options.optimizer.value_or(optimizer));
  graph.name = name;
  return graph;
}

const ZooModel* find_in_zoo(std::string_view name) {
  for (const ZooModel& model : zoo()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace tidemark::nn
